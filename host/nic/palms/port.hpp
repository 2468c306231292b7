#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/nic/node/client.hpp"
#include "host/nic/palms/fragment.hpp"
#include "microcode/base/result.hpp"

/// PALMS, the user library of ATOLL, over a port of the network interface: messages of any length with a header, data
/// and a tag of 32 bits, through four rings of the process (README.md).
namespace stopbit::nic::palms {

enum class Code : std::uint8_t {
  Ok,
  Nothing,    ///< No message has come, or it has not come whole.
  Full,       ///< No room in a ring: later again.
  TooLong,    ///< More than the ring can hold ever; of a receive: than the buffers, which have the beginning.
  Cut,        ///< The message's connection ended before it did.
  NoPeer,     ///< No such connection, or it has ended.
  Broken,     ///< The connection has failed: why(), and what was not acknowledged is lost.
  TimedOut,   ///< The patience is over.
  PortEnded,  ///< The appliance has closed the port.
};
[[nodiscard]] const char* to_text(Code code) noexcept;

/// A virtual connection, which takes no resource of the interface.
struct Handle {
  std::uint32_t index = 0xFFFF'FFFF;
  std::uint32_t use = 0;  ///< Of the index: a later connection has another.

  [[nodiscard]] friend constexpr bool operator==(const Handle&, const Handle&) = default;
};

struct Options {
  std::size_t send_descriptors = 256;  ///< Powers of two.
  std::size_t send_bytes = 256U << 10;
  std::size_t receive_descriptors = 512;
  std::size_t receive_bytes = 256U << 10;
  std::size_t connections = 64;         ///< Of both directions.
  std::size_t mtu = 8 * kPayloadBytes;  ///< Longer messages are several, so that copying and sending overlap.
  std::size_t watermark = 32;  ///< Pieces that are freed before the read pointers of the receive rings are written.
};

/// A message, or a part of at most `mtu` bytes of one, in the send rings: filled in place.
class SendDescriptor {
 public:
  void set_tag(std::uint32_t tag) noexcept { tag_ = tag; }
  [[nodiscard]] std::uint32_t tag() const noexcept { return tag_; }
  [[nodiscard]] Handle destination() const noexcept { return to_; }
  [[nodiscard]] std::size_t header_bytes() const noexcept { return header_bytes_; }
  [[nodiscard]] std::size_t data_bytes() const noexcept { return data_bytes_; }

 private:
  friend class Port;
  Handle to_;
  std::uint32_t tag_ = 0;
  std::uint16_t header_bytes_ = 0;
  std::uint32_t data_bytes_ = 0;
  std::uint64_t total_ = 0;
  bool is_first_ = true;
  bool is_last_ = true;
  bool is_committed_ = false;
  bool is_done_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t block_ = 0;         ///< The first of its fragments.
  std::uint64_t skipped_ = 0;       ///< Blocks before it, at the end of the ring.
  std::uint32_t fragments_ = 0;     ///< At least one.
  std::uint64_t next_of_peer_ = 0;  ///< Number of its peer's next descriptor; ~0: none yet.
};

/// A piece of a message in the receive rings.
struct ReceiveDescriptor {
  Handle from;
  NodeId node = 0;
  Vpid vpid = 0;
  std::uint32_t tag = 0;
  std::uint16_t header_bytes = 0;
  std::uint16_t data_bytes = 0;
  std::uint64_t offset = 0;  ///< Of these data in the message.
  std::uint64_t total = 0;   ///< Data of the message.
  bool is_first = false;
  bool is_last = false;

 private:
  friend class Port;
  bool is_freed_ = false;
  std::uint32_t connection_ = 0;
  std::uint64_t block_ = 0;
};

/// What has come. Sizes are those of the source's interface: multiples of 8, the padding being zeros that are not
/// copied; `length` and `header_length` are exact.
struct Received {
  Code code = Code::Nothing;
  Handle from;
  NodeId node = 0;
  Vpid vpid = 0;
  std::uint32_t tag = 0;
  std::uint64_t size = 0;
  std::uint64_t header_size = 0;
  std::uint64_t length = 0;
  std::uint64_t header_length = 0;
};

/// A receive into several buffers, one after another, that goes on over calls of Port::try_receive. Several of
/// different peers can be under way.
class Reception {
 public:
  /// `from`: nothing for the next message of any peer. The buffers must outlive it.
  explicit Reception(std::optional<Handle> from, std::span<const std::span<std::byte>> data,
                     std::span<std::byte> header = {}) noexcept
      : from_(from), data_(data), header_(header) {}
  [[nodiscard]] bool has_begun() const noexcept { return has_begun_; }

 private:
  friend class Port;
  std::optional<Handle> from_;
  std::span<const std::span<std::byte>> data_;
  std::span<std::byte> header_;
  bool has_begun_ = false;
  bool is_over_ = false;
  bool is_cut_short_ = false;  ///< The buffers were too small.
  std::uint32_t connection_ = 0;
  Received received_;
};

struct Counts {
  std::uint64_t sent = 0;              ///< Messages and parts that were committed.
  std::uint64_t received = 0;          ///< Messages that were received whole.
  std::uint64_t pieces = 0;            ///< That came into the rings.
  std::uint64_t freed = 0;             ///< Of them.
  std::uint64_t pointer_writes = 0;    ///< Of the read pointers of the receive rings.
  std::uint64_t transmitted = 0;       ///< Fragments given to the interface.
  std::uint64_t sent_again = 0;        ///< Of them.
  std::uint64_t refused_full = 0;      ///< Fragments for which a peer's mailbox had no room.
  std::uint64_t unknown_outcomes = 0;  ///< Fragments whose acknowledgement found no room here.
  std::uint64_t repeated = 0;          ///< Pieces that had come before, or too early.
  std::uint64_t malformed = 0;         ///< Messages that are no fragments, or impossible.
  std::uint64_t strays = 0;            ///< Pieces of connections that are not known here.
  std::uint64_t refused = 0;           ///< Connections for which there was no room.
  std::uint64_t abandoned = 0;         ///< Pieces of messages whose receive has ended.
};

/// A port. Building blocks fill and read the rings in place; complete calls are made of them. Only progress() talks to
/// the interface; complete calls make it. It never waits and never allocates; calls with a patience wait, and look now
/// and then whether the appliance is still there. One thread.
class Port {
 public:
  // Opening and closing: slow, by the broker of an appliance.

  /// atoll_open. The rings take `send_bytes` of what the entitlement lets a port share, in whole pages.
  [[nodiscard]] static Result<std::unique_ptr<Port>> open(const std::string& broker, const Options& options = {});
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  /// atoll_connect: fails if the port does not exist, or does not take the greeting.
  [[nodiscard]] Result<Handle> connect(NodeId node, Vpid vpid, std::uint64_t patience_ns = kPatienceNs);
  /// atoll_disconnect: what is not sent is dropped. flush() before, to have it delivered.
  void disconnect(Handle handle) noexcept;

  // Sending, in steps.

  /// atoll_send_malloc: room for a message of at most `mtu` bytes with its header; null: why is in `code`.
  [[nodiscard]] SendDescriptor* send_malloc(Handle to, std::size_t header_bytes, std::size_t data_bytes,
                                            Code* code = nullptr) noexcept;
  /// atoll_copy_h, atoll_copy, atoll_cpyv: into header and data, from `at` on. What goes beyond is not copied: false.
  bool copy_h(SendDescriptor& to, std::span<const std::byte> from, std::size_t at = 0) noexcept;
  bool copy(SendDescriptor& to, std::span<const std::byte> from, std::size_t at = 0) noexcept;
  bool copyv(SendDescriptor& to, std::span<const std::span<const std::byte>> from) noexcept;
  /// atoll_send_commit. Descriptors leave in the order in which they were committed.
  void send_commit(SendDescriptor& descriptor) noexcept;

  // Complete sends. The message is in the rings when they return Ok.

  /// atoll_send: of any length, longer ones in parts of `mtu` bytes.
  [[nodiscard]] Code send(Handle to, std::span<const std::byte> data, std::uint32_t tag = 0,
                          std::span<const std::byte> header = {}, std::uint64_t patience_ns = kPatienceNs) noexcept;
  [[nodiscard]] Code send(Handle to, std::span<const std::span<const std::byte>> data, std::uint32_t tag = 0,
                          std::span<const std::byte> header = {}, std::uint64_t patience_ns = kPatienceNs) noexcept;
  /// atoll_fast_send: the operand alone, as a tag; one command of the interface.
  [[nodiscard]] Code fast_send(Handle to, std::uint32_t operand) noexcept;
  /// atoll_multicast: to each of them in turn. @returns to how many; the code of the first that failed, if any.
  struct Multicast {
    std::size_t sent = 0;
    Code code = Code::Ok;
  };
  [[nodiscard]] Multicast multicast(std::span<const Handle> to, std::span<const std::byte> data, std::uint32_t tag = 0,
                                    std::uint64_t patience_ns = kPatienceNs) noexcept;
  /// Until the peer's node has taken all that was sent to it.
  [[nodiscard]] Code flush(Handle to, std::uint64_t patience_ns = kPatienceNs) noexcept;

  // Receiving, in steps.

  /// The oldest piece of a peer, or of any; null: none. Valid until it is freed.
  [[nodiscard]] const ReceiveDescriptor* match(std::optional<Handle> from = {}) noexcept;
  /// @returns bytes copied: the shorter of both.
  std::size_t copy_h(const ReceiveDescriptor& from, std::span<std::byte> to) const noexcept;
  std::size_t copy(const ReceiveDescriptor& from, std::span<std::byte> to) const noexcept;
  /// The data into buffers of which each is filled before the next; the first `skip` bytes of them are left as they
  /// are.
  std::size_t copyv(const ReceiveDescriptor& from, std::span<const std::span<std::byte>> to,
                    std::uint64_t skip = 0) const noexcept;
  void free(const ReceiveDescriptor& descriptor) noexcept;

  // Complete receives. One that waits ends with Full as soon as the rings are full of what others have sent: nothing more
  // comes before some of that is freed. The rest of a message that it had begun is dropped when it comes.

  [[nodiscard]] Received receive(std::optional<Handle> from, std::span<const std::span<std::byte>> data,
                                 std::span<std::byte> header = {}, std::uint64_t patience_ns = kPatienceNs) noexcept;
  [[nodiscard]] Received receive(std::optional<Handle> from, std::span<std::byte> data,
                                 std::span<std::byte> header = {}, std::uint64_t patience_ns = kPatienceNs) noexcept;
  /// Goes on with `reception`; Nothing: it is not whole.
  [[nodiscard]] Received try_receive(Reception& reception) noexcept;
  /// The rest of its message is dropped when it comes.
  void abandon(Reception& reception) noexcept;
  /// The counterpart of fast_send: the operand of the next message, which must have neither header nor data.
  [[nodiscard]] std::optional<std::uint32_t> fast_receive(std::optional<Handle> from = {}) noexcept;

  // Utilities.

  /// Sends and takes what can be sent and taken now. @returns whether anything happened.
  bool progress() noexcept;
  struct Resources {
    std::size_t send_descriptors = 0;
    std::size_t send_bytes = 0;
    std::size_t receive_descriptors = 0;
    std::size_t receive_bytes = 0;
  };
  /// What is free now.
  [[nodiscard]] Resources resources() const noexcept;
  void set_watermark(std::size_t pieces) noexcept { options_.watermark = pieces == 0 ? 1 : pieces; }
  [[nodiscard]] NodeId node() const noexcept { return client_->node(); }
  [[nodiscard]] Vpid vpid() const noexcept { return client_->vpid(); }
  [[nodiscard]] Code state(Handle handle) const noexcept;
  /// Of a broken connection: what the interface reported; None: the peer does not know it any more.
  [[nodiscard]] Error why(Handle handle) const noexcept;
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  /// The longest message that send_malloc may ever find room for.
  [[nodiscard]] std::size_t mtu() const noexcept { return options_.mtu; }

  static constexpr std::uint64_t kPatienceNs = 5'000'000'000;

 private:
  static constexpr std::size_t kMostOutstanding = 32;    ///< Half a ring of notifications.
  static constexpr std::size_t kMostOutstandingOf = 16;  ///< Of one peer.
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  /// A ring: numbers go on for ever. Its writer's and its reader's pointer; the reader's as the writer knows it.
  struct Pointers {
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    std::uint64_t told = 0;
    std::size_t size = 0;
    [[nodiscard]] std::size_t room() const noexcept { return size - static_cast<std::size_t>(written - told); }
  };
  struct Cursor {
    std::uint64_t descriptor = kNone;
    std::uint32_t fragment = 0;
  };
  struct Connection {
    std::uint32_t use = 0;
    bool is_used = false;
    NodeId node = 0;
    Vpid vpid = 0;
    // What this port sends.
    bool is_ours = false;    ///< connect() made it.
    bool is_ending = false;  ///< disconnect() was called; some of its fragments are under way.
    bool is_greeted = false;
    bool is_broken = false;
    Error why = Error::None;
    std::uint32_t out = 0;  ///< The connection's number; 0: none.
    std::uint32_t next_sequence = 0;
    std::uint32_t given = 0;       ///< Sequence of the fragment that is sent next,
    std::uint32_t most_given = 0;  ///< and of the one after the last that was ever sent.
    Cursor acknowledged;           ///< The first fragment that is not.
    std::uint32_t acknowledged_sequence = 0;
    Cursor next;  ///< To be sent.
    std::uint64_t last = kNone;
    std::size_t outstanding = 0;
    bool goes_back = false;
    std::uint64_t retry_ns = 0;
    std::uint64_t pause_ns = 0;
    // What it receives.
    std::uint32_t in = 0;
    Sequence sequence;
    bool is_receiving = false;  ///< A Reception of it is under way.
    std::size_t pieces = 0;     ///< In the rings.
    std::uint64_t heard = 0;    ///< When it was last heard of, in messages of this port.
  };
  struct Flight {
    bool is_used = false;
    bool is_greeting = false;
    std::uint64_t number = 0;
    std::uint32_t connection = 0;
    std::uint64_t sent_ns = 0;
    Cursor fragment;
  };

  Port(std::unique_ptr<Client> client, SharedRegion memory, const Options& options);

  [[nodiscard]] Connection* find(Handle handle) noexcept;
  [[nodiscard]] const Connection* find(Handle handle) const noexcept;
  [[nodiscard]] std::uint32_t index_of(const Connection& connection) const noexcept;
  [[nodiscard]] Connection* place_for(NodeId node, Vpid vpid) noexcept;
  void settle(Connection& connection) noexcept;
  [[nodiscard]] Result<Handle> greet(Connection& connection, std::uint64_t until_ns);
  void break_off(Connection& connection, Error why) noexcept;
  void drop_unsent(Connection& connection) noexcept;

  [[nodiscard]] SendDescriptor& sending(std::uint64_t number) noexcept {
    return send_descriptors_[number & (send_descriptors_.size() - 1)];
  }
  [[nodiscard]] ReceiveDescriptor& receiving(std::uint64_t number) noexcept {
    return receive_descriptors_[number & (receive_descriptors_.size() - 1)];
  }
  [[nodiscard]] std::byte* send_block(std::uint64_t number) const noexcept;
  [[nodiscard]] const std::byte* receive_block(std::uint64_t number) const noexcept;
  bool copy_into(SendDescriptor& to, std::size_t at, std::span<const std::byte> from) noexcept;
  void free_sent() noexcept;

  bool reap() noexcept;
  void land(Flight& flight, Error error, bool is_known) noexcept;
  void acknowledge(Connection& connection, const Cursor& fragment) noexcept;
  bool transmit() noexcept;
  [[nodiscard]] bool transmit_next(Connection& connection, std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool give(Connection& connection, Command command, const Cursor& fragment, bool is_greeting,
                          std::uint64_t now_ns) noexcept;
  void tell(NodeId node, Vpid vpid, Fragment::Kind kind, std::uint32_t connection) noexcept;
  [[nodiscard]] static Command command_for(NodeId node, Vpid vpid, const Fragment& fragment) noexcept;
  bool take_messages() noexcept;
  void take(const MessageHead& head, std::span<const std::byte> message) noexcept;
  void take_hello(const MessageHead& head, const Fragment& fragment) noexcept;
  void take_piece(const MessageHead& head, const Fragment& fragment, std::span<const std::byte> payload) noexcept;
  void write_pointers() noexcept;
  [[nodiscard]] std::uint64_t oldest() noexcept;
  [[nodiscard]] bool has_room() noexcept;
  [[nodiscard]] Received take_next(Reception& reception) noexcept;
  [[nodiscard]] Received end(Reception& reception, Code code) noexcept;

  /// Makes progress, and sleeps a little after some turns without any. False: the time is over, or the port.
  struct Wait {
    std::uint64_t until_ns = 0;
    std::uint32_t quiet = 0;
    Code code = Code::Ok;
  };
  [[nodiscard]] bool wait(Wait& wait) noexcept;

  std::unique_ptr<Client> client_;
  SharedRegion memory_;  ///< The send data ring.
  Options options_;
  std::vector<SendDescriptor> send_descriptors_;
  std::vector<ReceiveDescriptor> receive_descriptors_;
  std::vector<std::byte> receive_data_;
  Pointers send_table_;
  Pointers send_data_;  ///< In blocks of kFragmentBytes.
  Pointers receive_table_;
  Pointers receive_data_pointers_;  ///< In blocks of kPayloadBytes.
  std::size_t freed_ = 0;           ///< Pieces since the read pointers were written.
  std::uint64_t match_from_ = 0;    ///< Pieces before it are freed.
  std::vector<Connection> connections_;
  std::size_t next_turn_ = 0;
  std::uint64_t heard_ = 0;
  std::array<Flight, 2 * kMostOutstanding> flights_;
  std::size_t outstanding_ = 0;
  std::uint64_t next_flight_ = 1;
  std::uint64_t dropped_notifications_ = 0;
  std::array<std::byte, kMaxMessageBytes> message_;
  Counts counts_;
};

}  // namespace stopbit::nic::palms
