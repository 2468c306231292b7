#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host/nic/atu/atu.hpp"
#include "host/nic/error.hpp"
#include "host/nic/link/links.hpp"
#include "host/nic/link/services.hpp"
#include "host/nic/notify/ports.hpp"
#include "host/nic/queue/command.hpp"
#include "host/nic/rma/memory.hpp"
#include "host/nic/rma/rma_engine.hpp"

namespace stopbit::nic {

/// In front of every packet of remote memory access. Little-endian.
struct RmaHeader {
  Service service = Service::Rma;
  std::uint8_t kind = 0;  ///< An Operation, or one of the answers below.
  std::uint8_t modifiers = 0;
  Error error = Error::None;  ///< Of an answer.
  Vpid source_vpid = 0;
  Vpid target_vpid = 0;
  std::uint16_t window = 0;  ///< Of a result: 1 if the word was changed.
  Pdid domain = 0;           ///< Of the origin's port; its node vouches for it.
  std::uint32_t request = 0;
  std::uint64_t tag = 0;
  std::uint64_t capability = 0;
  std::uint64_t offset = 0;  ///< Where the whole begins in the window,
  std::uint32_t length = 0;  ///< how long it is,
  std::uint32_t at = 0;      ///< and the position in it of the data after this header. PutWords: the mask.
  std::uint64_t word = 0;
  std::uint64_t more = 0;  ///< Of a result, word, this and the tag are what GetWords asked for.
};
static_assert(sizeof(RmaHeader) == 64);
inline constexpr std::uint8_t kPutAbandoned =
    0x40;                                          ///< The put that was being sent will not go on: the header's error.
inline constexpr std::uint8_t kPortGone = 0x41;    ///< The port is closed: nothing is locked by it any more.
inline constexpr std::uint8_t kAnswerData = 0x80;  ///< A piece of what a get asked for.
inline constexpr std::uint8_t kAnswerResult = 0x81;  ///< Of everything else, and of a get that was refused.
inline constexpr std::uint8_t kAnswerRefusal =
    0x82;  ///< Of a command that waits for no answer (kNotifyRefusal); its word is the kind.

struct RmaOptions {
  std::size_t windows = 1024;    ///< Of the node, at most 65536.
  std::size_t outstanding = 64;  ///< Commands of a port that wait for an answer; a further one waits. At most 65536.
  /// Bytes of longer transfers sent in one step, of all ports: half for puts, half for answers to gets. A port with
  /// several packets to send takes turns with the others.
  std::size_t step_bytes = 16'384;
};

/// What ports have done at a window since it was opened.
struct WindowUse {
  std::uint64_t gets = 0;
  std::uint64_t bytes = 0;  ///< Of gets.
};

/// An engine counts for itself what it carries out: of that, only `started`, `packets` and `own_error` are here.
struct RmaCounters {
  std::uint64_t started = 0;                       ///< Commands.
  std::uint64_t served = 0;                        ///< Requests of others that were carried out,
  std::array<std::uint64_t, kErrors> refused{};    ///< or were not, by code.
  std::array<std::uint64_t, kErrors> own_error{};  ///< Commands of this node's ports that ended in an error, by code.
  std::uint64_t packets = 0;                       ///< That came, and were not malformed.
  std::uint64_t memory_reads = 0;                  ///< Pieces read from registered memory,
  std::uint64_t memory_writes = 0;                 ///< or written there.
  std::uint64_t moved_bytes = 0;                   ///< Of both.
  std::uint64_t bounced = 0;                       ///< Packets for a page that was not here,
  std::uint64_t held_up = 0;                       ///< and tries of anything that found none.
  std::uint64_t malformed = 0;                     ///< Packets that no honest node sends.
  std::uint64_t stale = 0;                         ///< Answers that no command waits for (any more).
};

class RmaOffload;

/// The unit of remote memory access of a node: requester, responder and completer.
///
/// A window is a piece of a port's registered memory that others may reach: ports of its owner's protection domain, or
/// of the one that it was opened to, with its capability, inside its bounds, with its rights, and unless another port
/// has locked it. A refused command changes nothing.
///
/// Order, for commands of one port to one target node: requests take effect in the order in which they were issued,
/// except that the bytes of a Put may be written earlier (each packet as it arrives). So a report about a put, or a
/// later command (a word, a notification, an event, a get), never overtakes its data; data that a later Put must not
/// overwrite need a Fence in between. Between nodes there is no order without a Fence.
///
/// Answers to gets take many steps, in which the target serves other ports. So a request leaves its port only when all
/// gets that the port sent there before are answered. Other gets do not wait, and Puts do not: those may be written,
/// and told, before an earlier get has been read.
///
/// Full notification rings drop and count. A port always gets the errors of its commands; an error that the target
/// finds in a put, word, notification or signal without kAcknowledge or kNotifyRefusal is only counted there. One
/// thread. Allocates in the constructor only.
class Rma final : public PacketSink {
 public:
  Rma(Links& links, Atu& atu, Ports& ports, const RmaOptions& options);
  ~Rma() override;

  /// What it can, `engine` carries out (rma_offload.hpp); it outlives the node. Before any port is opened. Throws if
  /// the node has more ports or windows than the engine, or shorter packets.
  void set_engine(RmaEngine& engine);

  /// After the port has been opened.
  void open_port(Vpid vpid);
  /// Makes a window. Nothing if all are in use, the port is not open, or a page of it is not the port's with this
  /// access. The capability is random. Ports of the domain `open_to` may use it besides those of the owner's.
  [[nodiscard]] std::optional<WindowName> open_window(Vpid owner, Nla first, std::uint64_t bytes, Access access,
                                                      std::optional<Pdid> open_to = std::nullopt);
  /// False if it is not the owner's.
  bool close_window(Vpid owner, std::uint16_t id);
  /// How many the port has open.
  [[nodiscard]] std::size_t windows(Vpid owner) const noexcept;
  /// Of an open window of the owner; else nothing has been done.
  [[nodiscard]] WindowUse use(Vpid owner, std::uint16_t id) const noexcept;
  /// The owner takes the lock from its holder; false if it is not held, or the window is not the owner's.
  bool break_lock(Vpid owner, std::uint16_t id);
  /// Closes the windows on these pages and revokes them at the translation unit. The owner's commands that use them do
  /// not go on: OriginWindow.
  bool revoke(Vpid owner, Nla first, std::size_t pages);
  /// Tells the translation unit that nothing of what was revoked so far is held here: between two calls, nothing is.
  void flush() noexcept;
  /// Before the port is closed: its windows, its locks, here and at other nodes, and its waiting commands vanish.
  void close_port(Vpid vpid);

  /// The port's last command has not been sent away yet; it cannot start another.
  [[nodiscard]] bool is_busy(Vpid vpid) const noexcept {
    return ports_state_[vpid].is_busy || ports_state_[vpid].has_abandoned;
  }
  /// Starts a command of an open port that is not busy. Whatever the port wrote into it.
  void start(Vpid vpid, const Command& command, std::uint64_t now_ns);
  /// Goes on with what could not be done at once. Returns how much it did.
  std::size_t step(std::uint64_t now_ns);
  /// Nothing waits to be sent or answered.
  [[nodiscard]] bool is_idle() const noexcept;

  [[nodiscard]] std::uint8_t early(NodeId from, VirtualChannel channel, std::span<const std::byte> packet) override;
  [[nodiscard]] bool ordered(NodeId from, VirtualChannel channel, std::span<const std::byte> packet,
                             std::uint8_t early_status) override;
  void lost(NodeId peer) override;

  [[nodiscard]] const RmaCounters& counters() const noexcept { return counters_; }

 private:
  struct MemoryWindow : RmaEngine::Window {
    WindowUse use;
  };
  /// A command that waits for its answer. Its number on the wire is index | generation << 16.
  struct Outstanding {
    bool is_used = false;
    bool is_late = false;  ///< Counts in `late`.
    std::uint16_t generation = 0;
    Error error = Error::None;
    std::uint32_t received = 0;
    Command command;
  };
  struct PortState {
    bool is_busy = false;
    bool is_listed = false;     ///< It is in `busy_`.
    bool is_offloaded = false;  ///< The command is the engine's, or will be.
    bool has_slot = false;
    std::uint32_t request = 0;  ///< Of the current command, if it has a slot.
    std::uint32_t sent = 0;     ///< Bytes of it.
    std::uint32_t waiting = 0;  ///< Slots in use,
    std::uint32_t reading = 0;  ///< and of these, those that wait for what is read.
    std::uint32_t life = 0;     ///< How often it was closed: what a refusal must know.
    Command command;
    bool has_abandoned = false;  ///< A put has ended in the middle, and its target does not know yet:
    NodeId abandoned_at = 0;     ///< where it went,
    RmaHeader abandoned;         ///< and what to say.
    std::vector<Outstanding> slots;
    std::vector<std::uint32_t> late;   ///< Of each node: slots of gets, which it need not serve when they arrive.
    std::vector<std::uint64_t> marks;  ///< Of each node: how many packets there were up to this port's last one.
    std::vector<bool> is_broken;       ///< Of each node: it was lost before it had taken them all.
    std::vector<bool> may_lock;        ///< Of each node: it may have locked a window there,
    std::vector<bool> must_leave;      ///< or must still say that it is closed.
  };
  /// What an answer gives besides its error.
  struct Given {
    std::uint64_t value = 0;
    std::array<std::uint64_t, 2> more{};
    bool success = false;
  };
  /// A get of another node that is being answered.
  struct Job {
    RmaHeader request;
    std::uint32_t done = 0;
  };
  /// Those of one node: in order for each of its ports, ports in turn.
  struct Jobs {
    std::vector<Job> all;  ///< As they came, at most kJobs.
    std::size_t turn = 0;
  };
  static constexpr std::size_t kJobs = 64;

  [[nodiscard]] std::size_t data_bytes() const noexcept;
  [[nodiscard]] Error check_command(Vpid vpid, const Command& command) const noexcept;
  bool advance(Vpid vpid, std::uint64_t now_ns);
  bool advance_fence(Vpid vpid);
  bool advance_offloaded(Vpid vpid, std::uint64_t now_ns);
  [[nodiscard]] bool is_late(Vpid vpid, NodeId to) const noexcept;
  [[nodiscard]] std::size_t slot_index(std::uint32_t request) const noexcept {
    return (request & 0xFFFFU) - first_slot_;
  }
  void report(const MemoryWindow& window);
  /// Nothing: it is for software. Else as `ordered`.
  [[nodiscard]] std::optional<bool> offload(NodeId from, VirtualChannel channel, const RmaHeader& header,
                                            std::span<const std::byte> packet);
  [[nodiscard]] bool has_jobs(NodeId from, Vpid vpid) const noexcept;
  bool send_piece(Vpid vpid, std::uint64_t now_ns);
  void end_command(Vpid vpid, Error error);
  void free_slot(PortState& port, Outstanding& slot) noexcept;
  void finish(Vpid vpid, Outstanding& slot, Error error, const Given& given);
  void abandon_put(Vpid vpid, Error error);
  bool say_abandoned(PortState& port);
  std::size_t say_farewells();
  [[nodiscard]] Outstanding* find_slot(NodeId from, const RmaHeader& header) noexcept;

  [[nodiscard]] Error check_window(NodeId from, const RmaHeader& header, Access access,
                                   std::uint64_t length) const noexcept;
  [[nodiscard]] std::optional<Error> execute(NodeId from, const RmaHeader& header, Given& given);
  [[nodiscard]] std::optional<Error> execute_word(NodeId from, const RmaHeader& header, Given& given);
  [[nodiscard]] std::optional<Error> execute_words(NodeId from, const RmaHeader& header, Given& given);
  [[nodiscard]] Moved move_words(Vpid who, Nla nla, const RmaHeader& header, std::span<std::byte> bytes) noexcept;
  void tell_of_words(NodeId from, const RmaHeader& header, Vpid owner, std::uint64_t event);
  [[nodiscard]] static Error change_word(const RmaHeader& header, std::byte* memory, Given& given) noexcept;
  [[nodiscard]] Error execute_lock(NodeId from, const RmaHeader& header);
  [[nodiscard]] bool serve(NodeId from, const RmaHeader& header, std::uint8_t early_status);
  [[nodiscard]] bool serve_put(NodeId from, const RmaHeader& header, std::size_t length, std::uint8_t early_status);
  std::size_t send_pieces(std::uint64_t now_ns);
  std::size_t pump_all();
  bool pump(NodeId to);
  [[nodiscard]] bool pump(NodeId to, Job& job, bool& is_done);
  void answer(NodeId to, const RmaHeader& request, Error error, const Given& given);
  void refuse(NodeId to, const RmaHeader& request, Error error);
  void put_was_abandoned(NodeId from, const RmaHeader& header);
  void free_locks(NodeId node, Vpid holder);
  void take_data(NodeId from, const RmaHeader& header, std::size_t length, std::uint8_t early_status);
  void take_result(NodeId from, const RmaHeader& header);
  void take_refusal(NodeId from, const RmaHeader& header);
  bool note(Vpid vpid, Teller teller, NodeId node, const RmaHeader& header, std::uint64_t value,
            Error error = Error::None);

  [[nodiscard]] std::uint8_t write_packet(NodeId from, const RmaHeader& header, std::span<const std::byte> data);
  /// Copies between registered memory and a buffer. Refused, and nothing is copied, if a page is not the port's.
  /// Absent: some bytes may have been copied, and all will be next time.
  [[nodiscard]] Moved read_memory(Vpid who, Nla from, std::span<std::byte> into) noexcept;
  [[nodiscard]] Moved write_memory(Vpid who, Nla to, std::span<const std::byte> bytes) noexcept;
  void fetch_ahead(Vpid who, Nla first, std::uint64_t bytes, Access access) noexcept;
  [[nodiscard]] bool is_one_or_registered(Vpid who, Nla first, std::uint64_t bytes, Access access) noexcept;
  [[nodiscard]] bool is_registered(Vpid who, Nla first, std::uint64_t bytes, Access access) noexcept;

  Links& links_;
  Atu& atu_;
  Ports& ports_;
  std::vector<MemoryWindow> windows_;
  std::vector<PortState> ports_state_;
  std::vector<Jobs> jobs_;         ///< Of each node.
  std::size_t jobs_count_ = 0;     ///< Of all nodes.
  std::size_t first_node_ = 0;     ///< Whose jobs are first in the next step.
  std::size_t first_busy_ = 0;     ///< Index in `busy_` of the first one in the next step.
  std::size_t step_bytes_;         ///< RmaOptions, half of it.
  std::size_t left_ = 0;           ///< Bytes of those that may still be sent in this step.
  std::vector<Error> put_errors_;  ///< Of the put under way, of each port of each node.
  std::vector<Vpid> busy_;         ///< Ports with a command that has not been sent away; some may be done already.
  std::uint64_t now_ns_ = 0;
  std::uint64_t flushed_ = 0;            ///< The last flush that was acknowledged.
  std::size_t farewells_ = 0;            ///< That must still be said.
  std::unique_ptr<RmaOffload> offload_;  ///< Null: no engine.
  std::size_t first_slot_ = 0;           ///< Smaller numbers on the wire are the engine's.
  RmaCounters counters_;
};

}  // namespace stopbit::nic
