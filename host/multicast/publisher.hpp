#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decoder/record/layout.hpp"
#include "host/market/instrument/table.hpp"
#include "host/multicast/history.hpp"
#include "host/multicast/line.hpp"
#include "host/multicast/options.hpp"
#include "host/multicast/packet.hpp"
#include "host/multicast/refill_message.hpp"
#include "host/relay/message.hpp"
#include "host/remote/admission.hpp"
#include "host/ring/reader.hpp"

namespace stopbit::multicast {

/// What went out on one line.
struct LineCounts {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;    ///< Without headers of IP and UDP.
  std::uint64_t full = 0;     ///< Packets that the line lacks: its socket buffer had no room for the whole patience.
  std::uint64_t refused = 0;  ///< Packets that the line lacks: the kernel refused them.
};

/// The books of a ring of market events as MarketEvent messages, of one moment between two packets.
struct State {
  StateHead head;
  std::string messages;  ///< kEventBytes each.
};

struct PublisherCounts {
  std::uint64_t records = 0;  ///< Records and market events that were sent whole.
  std::uint64_t lost = 0;     ///< Records that the ring no longer had.
  std::uint64_t packets = 0;  ///< Numbers that were used, heartbeats included.
  std::uint64_t heartbeats = 0;
  std::uint64_t waited = 0;   ///< Packets that waited for a line's socket buffer.
  std::uint64_t limited = 0;  ///< Times at which the rate limit held packets back.
  std::uint64_t missed = 0;   ///< Packets that went out on no line.
  std::uint64_t rings = 0;
  std::array<LineCounts, kLines> lines = {};
};

/// Sends a ring as packets on two lines. It reads the ring as any reader does, so its writer never waits: what the ring
/// no longer has is reported to the lines as lost. Follows rings of one name, one after another.
///
/// One thread, which never waits here. Allocates when a ring begins, and never while packets are sent; if it keeps the
/// state of books, with the ring's first instrument, too.
class Publisher {
 public:
  using Lines = std::array<std::unique_ptr<Line>, kLines>;  ///< The second may be null.
  /// `tell` receives a line for each change that people should know.
  Publisher(PublisherOptions options, Lines lines, std::function<void(const std::string&)> tell);

  /// Sends what there is, at most some packets. `now_ns` is monotonic. @returns packets sent.
  std::size_t step(std::uint64_t now_ns, std::uint64_t wall_ns);
  /// The end: sends what the ring still has, and says that there will be no more. Ends at `until_ns` at the latest.
  void finish(const std::function<std::uint64_t()>& monotonic, std::uint64_t wall_ns, std::uint64_t until_ns);

  [[nodiscard]] const PublisherCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] std::uint64_t next_sequence() const noexcept { return head_.sequence; }
  /// What can be sent again.
  [[nodiscard]] const History& history() const noexcept { return history_; }
  /// Of the present ring; empty before the first one.
  [[nodiscard]] std::span<const std::byte> image() const noexcept {
    return reader_ ? reader_->image() : std::span<const std::byte>();
  }
  [[nodiscard]] std::uint64_t layout() const noexcept { return layout_; }
  /// For late readers; null: the ring carries no market events, or options say that no state is kept. At most kStateNs
  /// old, so that many readers cost no more than one. Takes time for each entry of all books, and allocates.
  [[nodiscard]] std::shared_ptr<const State> state(std::uint64_t now_ns);

 private:
  /// Where a ring's reader is: the number of the next slot, and the records that began before it.
  struct Place {
    std::uint64_t number = 0;
    std::uint64_t records = 0;
  };
  static constexpr std::size_t kMostPackets = 32;  ///< In one step.
  static constexpr std::uint64_t kLookNs = 20'000'000;
  static constexpr std::uint64_t kStateNs = 1'000'000'000;

  [[nodiscard]] bool send_waiting(std::uint64_t now_ns);
  void send(std::span<const std::byte> packet, std::uint64_t now_ns);
  void leave_out(std::size_t line) noexcept;
  [[nodiscard]] bool open_ring(std::uint64_t now_ns);
  [[nodiscard]] bool collect(std::uint64_t now_ns);
  void look_for_end(std::uint64_t now_ns);
  void end_ring(relay::Ending ending);
  void mark(relay::Kind kind, const Place& from, const Place& to, relay::Ending ending = relay::Ending::None);
  void pack();
  void pack_events();
  void follow(const market::Event& event);
  void keep_no_state();
  [[nodiscard]] std::shared_ptr<const State> make_state(std::uint64_t now_ns);
  void take_front() noexcept;
  [[nodiscard]] bool begins_with_event() const noexcept;
  [[nodiscard]] std::string_view key_of(const market::Event& event);
  void tell_once(const std::string& line);
  [[nodiscard]] relay::Head head_at(relay::Kind kind, const Place& at) const noexcept;

  PublisherOptions options_;
  Lines lines_;
  std::function<void(const std::string&)> tell_;
  PublisherCounts counts_;
  History history_;
  PacketHead head_;  ///< Of the next packet.
  std::vector<std::byte> room_;
  PacketWriter writer_{room_};
  remote::ByteRate rate_;
  bool is_limited_ = false;
  std::uint64_t now_ns_ = 0;
  std::uint64_t last_sent_ns_ = 0;

  /// The last packet, while a line has no room for it. It is in `room_`, so that no other is made meanwhile.
  std::span<const std::byte> waiting_;
  std::array<bool, kLines> awaits_ = {};
  std::uint64_t waits_until_ns_ = 0;
  std::size_t misses_ = 0;  ///< Lines that lack it.

  std::optional<ring::Reader> reader_;
  std::uint64_t layout_ = 0;
  Place next_;
  std::span<const record::Slot> batch_;  ///< Records of the reader's last batch, from the one that is packed next.
  std::uint16_t part_ = 0;               ///< Slots of its first record that are packed.
  bool has_ended_ = false;
  relay::Ending ending_ = relay::Ending::None;  ///< The writer has ended; its last records may not have been read.
  std::optional<market::InstrumentView> instruments_;
  std::uint32_t key_row_ = 0;
  market::InstrumentRow key_;
  std::string messages_;  ///< Events of a packet.
  std::optional<market::FollowedBooks> books_;
  std::shared_ptr<const State> state_;  ///< The last one.
  std::uint64_t state_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;
  std::string told_;
  std::array<int, kLines> told_errors_ = {};
};

}  // namespace stopbit::multicast
