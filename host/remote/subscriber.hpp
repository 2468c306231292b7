#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoder/record/schema.hpp"
#include "host/market/state/table_copy.hpp"
#include "host/nic/channel/channel.hpp"
#include "host/remote/earlier_records.hpp"
#include "host/remote/far_tables.hpp"
#include "host/remote/fetch.hpp"
#include "host/remote/node_port.hpp"
#include "host/remote/protocol.hpp"
#include "host/remote/record_filter.hpp"
#include "host/remote/slot_writer.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/writer.hpp"
#include "microcode/base/result.hpp"
#include "microcode/program.hpp"

namespace stopbit::remote {

struct SubscriberOptions {
  nic::NodeId publisher = 0;                    ///< The node that publishes,
  nic::Vpid publisher_port = 0;                 ///< and its publisher's port (Publisher::vpid).
  nic::Pdid domain = 0;                         ///< As the publisher's.
  std::string ring;                             ///< Name at the publisher.
  std::string name;                             ///< Name of the local ring (host/os/shm/name.hpp).
  std::optional<std::uint32_t> publisher_user;  ///< User whose rings are accepted; nothing: those a reader accepts.
  std::string token;                            ///< Up to kMaxTokenBytes.
  Filter filter;
  bool is_lossless = false;  ///< The publisher's ring is lossless, and its writer waits for this subscriber.
  /// With is_lossless and without `follows`: number of records that the one local reader has read
  /// (ring::Reader::next_record). The publisher waits for that reader, too. Null: it waits for the subscriber only, and
  /// a reader of the local ring may lose records. Written by the reader's thread with release order.
  std::shared_ptr<const std::atomic<std::uint64_t>> records_read;
  bool wants_history = true;            ///< Begins with the oldest record in the ring; else with the next one.
  bool follows = true;                  ///< Waits for a successor when the ring ends.
  std::uint64_t layout_hash = 0;        ///< Required layout hash; 0: any.
  std::uint64_t max_slots = 1U << 20U;  ///< Maximum size of the ring; a local copy needs the same memory.
  /// Maximum size of the local copies of the tables beside a ring of market events. Without them the ring is copied
  /// alone, as it is if the publisher's tables cannot be used; tables_problem() says why.
  std::uint64_t max_table_bytes = 256U << 20U;
  std::uint32_t landing_messages = 64;       ///< Messages in flight, at least ChannelLayout::kMinSlots.
  std::uint64_t ask_ns = 200'000'000;        ///< Time after which a request without an answer is repeated.
  std::uint64_t silence_ns = 3'000'000'000;  ///< Silence of the publisher before a new request.
  /// How records are transferred.
  enum class Way : std::uint8_t {
    Best,  ///< Near if both are on one host and the publisher supports it, else far.
    Far,   ///< Sent by the publisher, written into the ring by the subscriber.
    Near,  ///< Written directly into the ring by the publisher. Requested until the publisher does it.
  };
  Way way = Way::Best;
  std::function<void(const std::string&)> log;  ///< Receives one line for each change of state.
};

enum class SubscriberState : std::uint8_t {
  Asking,   ///< No subscription: the publisher does not answer, or has no ring at the moment.
  Image,    ///< Fetching the firmware image.
  Tables,   ///< Fetching instruments and states of a ring of market events.
  History,  ///< Fetching records published earlier.
  Live,     ///< Receiving records as they are published.
  Refused,  ///< Refused permanently: problem() gives the reason.
  Ended,    ///< The ring has ended, without `follows`.
};
[[nodiscard]] const char* to_text(SubscriberState state) noexcept;

struct SubscriberCounters {
  std::uint64_t records = 0;   ///< Written into the local ring, including events made by the subscriber.
  std::uint64_t slots = 0;     ///< Of them.
  std::uint64_t fetched = 0;   ///< Of the records: by get.
  std::uint64_t filtered = 0;  ///< Fetched records rejected by the filter.
  std::uint64_t lost = 0;      ///< Records counted by Lost events; and records of a lossless ring that the publisher no
                               ///< longer provides and reports as missing here.
  std::uint64_t messages = 0;  ///< Of the channel; of a near ring 0.
  std::uint64_t sessions = 0;  ///< Sessions accepted by a publisher.
  std::uint64_t damaged = 0;   ///< Sessions ended because the publisher violated the protocol.
};

/// Copies a ring of another node into a local ring: same image, same slots, own numbers. Any reader opens it by its
/// name.
///
/// On the publisher's host the publisher writes the local ring directly (a near ring) while the subscriber lives; the
/// subscriber only requests it and sends signs of life. On other hosts, or if the publisher does not, records arrive in
/// landing memory, and an ordinary ring writer writes them into the ring. Readers see an ordinary ring. When the
/// publisher exits, the ring remains; it continues if the publisher comes back with the same ring: missed records are
/// fetched by get, or an event of the kind Lost counts them. Another ring under the same name at the publisher becomes
/// another local ring.
///
/// Used by the node's thread: step both in turn. No allocation, lock or system call per record.
class Subscriber final : private EarlierRecordsSink {
 public:
  /// The node must outlive it. Sends the first request in the first step.
  [[nodiscard]] static Result<std::unique_ptr<Subscriber>> open(nic::Node& node, const SubscriberOptions& options);
  /// Likewise in a client's process, near only: the publisher is at the client's node (Client::subscribe).
  [[nodiscard]] static Result<std::unique_ptr<Subscriber>> open(nic::Client& client, const SubscriberOptions& options);
  ~Subscriber() override;

  /// Continues at another node of this process in the same network, after the loss of the present one. A ring written
  /// here remains, and its missed records are fetched or counted as lost, as after an absence of the publisher; a near
  /// ring ends. The other node must outlive the subscriber, the present one only this call. Not for a client. A
  /// failure leaves everything as it is.
  [[nodiscard]] Status move_to(nic::Node& node);
  /// Returns the amount of work done. `now_ns` must not decrease.
  std::size_t step(std::uint64_t now_ns);

  [[nodiscard]] SubscriberState state() const noexcept { return state_; }
  /// Why the last session ended, or why none began.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] Refusal refusal() const noexcept { return refusal_; }
  /// Why the ring has no tables, or why these get nothing new; empty: it has, or there are none.
  [[nodiscard]] const std::string& tables_problem() const noexcept { return tables_problem_; }
  /// Whether the ring exists under its name.
  [[nodiscard]] bool has_ring() const noexcept { return ring_ != nullptr || near_; }
  /// Whether the publisher writes it.
  [[nodiscard]] bool is_near() const noexcept { return near_.has_value(); }
  /// Of a near ring, the publisher's word as of its last beat, but for the records.
  [[nodiscard]] SubscriberCounters counters() const noexcept;

 private:
  /// A near ring, as readers see it, and what the publisher last said of it.
  struct NearRing {
    ring::Reader look;
    std::uint64_t session = 0;
    Beat beat;
    std::uint64_t echoed = 0;  ///< The number of the last beat that was answered by its own.
  };

  Subscriber(std::unique_ptr<Messenger> post, NodePort* port, const nic::ChannelLayout& layout,
             const SubscriberOptions& options);

  /// A port that hears the publisher's only.
  [[nodiscard]] static Result<std::unique_ptr<NodePort>> open_port(nic::Node& node, const SubscriberOptions& options);
  void ask(std::uint64_t now_ns);
  [[nodiscard]] bool begin_session();
  [[nodiscard]] bool begin_far();
  [[nodiscard]] bool send(std::span<const std::byte> message);
  void leave(std::uint64_t session);
  void go_far(const std::string& why);
  void hear_near(std::span<const std::byte> bytes);
  void hear_beat(std::span<const std::byte> bytes);
  void echo(bool is_asked);
  [[nodiscard]] std::optional<Earlier> earlier() const noexcept;
  void tell_reached(std::uint64_t now_ns);
  [[nodiscard]] bool is_cut_off(std::uint64_t records);
  void refuse_the_rest(const std::string& why);
  void watch_near(std::uint64_t now_ns);
  void forget_near();
  void end_session(const std::string& why, std::uint64_t pause_ns);
  void hear();
  void hear_accept(std::span<const std::byte> bytes);
  void hear_refusal(std::span<const std::byte> bytes);
  void watch(std::uint64_t now_ns);

  std::size_t fetch_image();
  [[nodiscard]] Status use_image();
  [[nodiscard]] Result<std::unique_ptr<ring::Writer>> prepare_ring() const;
  [[nodiscard]] Status make_ring();
  void begin_tables();
  std::size_t fetch_tables();
  [[nodiscard]] Status begin_copy();
  void go_without_tables(std::string why);
  void end_session_calmly(const std::string& why);
  void begin_history();
  std::size_t fetch_history();
  void go_live();
  [[nodiscard]] std::uint64_t records_read() const noexcept;
  [[nodiscard]] bool has_room() noexcept;
  std::size_t receive();
  [[nodiscard]] bool apply(std::span<const std::byte> message);
  [[nodiscard]] bool go_on();
  std::size_t look_at_tables();
  std::size_t end_when_current();
  void end_ring(std::uint8_t how);
  void end_as(std::uint8_t how);

  [[nodiscard]] bool earlier_record(std::span<const record::Slot> record) override;
  void earlier_lost(std::uint64_t records) override;
  [[nodiscard]] bool write(const record::Slot& slot);

  void set_state(SubscriberState state, const std::string& why);

  /// A message of the channel, read up to a record that waits for its instrument. The message stays in landing memory.
  struct Held {
    BatchHead head;
    std::span<const std::byte> slots;
    std::size_t next = 0;
    std::optional<record::Slot> slot;  ///< Which was read.
  };

  static constexpr std::size_t kMessagesPerStep = 16;
  static constexpr std::uint8_t kMessageEvent = 1;

  std::unique_ptr<Messenger> post_;
  NodePort* port_;  ///< The same, if it is of a node of this process: else there is no far way.
  SubscriberOptions options_;
  nic::ChannelLayout layout_;
  PortMemory landing_;
  std::optional<nic::WindowName> window_;  ///< Of this session, to the landing memory.
  SubscriberState state_ = SubscriberState::Asking;
  Refusal refusal_ = Refusal::None;
  std::string problem_;
  std::string failure_;  ///< Why the last session ended, until records come again.
  std::uint64_t session_ = 0;
  std::uint64_t accepted_ = 0;  ///< The last session that was accepted for the ring here; 0: none.
  std::uint64_t lacking_ = 0;   ///< Lossless: records of the ring here that the publisher says we have not had.
  RingPosition told_;           ///< Reached, as last sent,
  std::uint64_t told_ns_ = 0;   ///< and when.
  bool asks_near_ = false;      ///< This session is, or is to be, a near one.
  bool is_far_once_ = false;    ///< The next session is to be a far one: the publisher does not do it otherwise.
  nic::Links::Session link_;    ///< With the publisher's node, when it accepted.
  std::uint64_t now_ns_ = 0;
  std::uint64_t next_ask_ns_ = 0;
  std::uint64_t beat_ = 0;     ///< The publisher's, as last seen,
  std::uint64_t beat_ns_ = 0;  ///< and when.

  Accept accept_;
  PortMemory piece_;  ///< Of the image.
  std::vector<std::byte> image_;
  std::optional<Fetch> fetch_;
  std::unique_ptr<EarlierRecords> earlier_;
  std::optional<nic::ChannelReceiver> receiver_;
  std::optional<Held> held_;
  std::unique_ptr<FarTables> far_tables_;           ///< Of this session; null: the ring has none, or none more.
  std::unique_ptr<ring::Writer> next_ring_;         ///< Without a name, until its tables
  std::unique_ptr<market::TableCopy> next_tables_;  ///< are filled.
  std::optional<std::uint8_t> how_it_ended_;        ///< The ring; its last states are being fetched.
  std::uint64_t last_look_ns_ = 0;                  ///< Since when.

  Program program_;
  std::optional<record::Schema> schema_;
  std::unique_ptr<RecordFilter> filter_;  ///< For what is fetched.
  std::unique_ptr<ring::Writer> ring_;
  std::unique_ptr<market::TableCopy> tables_;  ///< Beside the ring.
  std::string tables_problem_;
  std::optional<SlotWriter> applier_;
  std::uint64_t mark_records_ = 0;  ///< Once our reader has read this many records of the ring,
  std::uint64_t mark_head_ = 0;     ///< it has read all below this slot.
  std::uint64_t read_head_ = 0;     ///< It has read all below this slot.
  std::optional<NearRing> near_;
  std::uint64_t next_look_ns_ = 0;  ///< At the near ring's writer.
  std::uint64_t epoch_ = 0;         ///< Of the publisher's ring that ours is made of; 0: it has ended.
  std::uint64_t layout_hash_ = 0;
  std::optional<RingPosition> reached_;  ///< In that ring; nothing: no record was taken.
  SubscriberCounters counters_;
  std::array<std::byte, nic::kMaxMessageBytes> message_;
};

}  // namespace stopbit::remote
