#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "host/nic/atu/atu.hpp"
#include "host/nic/link/links.hpp"
#include "host/nic/notify/ports.hpp"
#include "host/nic/rma/rma.hpp"
#include "host/nic/rma/rma_engine.hpp"

namespace stopbit::nic {

/// Which commands and requests an engine carries out, and what software must know of them meanwhile.
///
/// The engine gets ImmediatePut, NotificationPut, FetchAdd, CompareSwap, FetchCompareAdd and Swap, and Puts and Gets of
/// whole words: address, length and place in the target's memory are multiples of 8. Software keeps
/// - all other operations,
/// - what lies in unpinned memory, whose pages are in no table of translations,
/// - a NotificationPut to a full ring, which must be refused: only software sees the ring,
/// - a Get of a port whose earlier gets software still answers.
/// A put of several packets stays where its first one went. Requests are carried out in the order in which they came:
/// one for software waits until the engine has none.
///
/// One thread. Allocates in the constructor only.
class RmaOffload final : private RmaEngine::Host {
 public:
  /// A command has been sent away, or refused, and its port notified unless `error` is RouteBroken. `life`: of the port
  /// when it began.
  using Ended = std::function<void(Vpid vpid, std::uint32_t life, NodeId to, Error error)>;

  /// Throws if the node has more ports than the engine, or packets too short for it.
  RmaOffload(Links& links, Atu& atu, Ports& ports, RmaEngine& engine, Ended ended);

  void set_port(Vpid vpid, const RmaEngine::Port& port);
  void set_window(std::uint16_t id, const RmaEngine::Window& window) { engine_.set_window(id, window); }
  /// The port's commands wait for nothing any more. set_port has closed it.
  void close(Vpid vpid);
  void lost(NodeId peer);

  [[nodiscard]] bool starts(Vpid vpid, const Command& command) const noexcept;
  [[nodiscard]] bool is_busy() const noexcept { return current_.has_value(); }
  /// It is busy with a command of this port, or of one that had this number before.
  [[nodiscard]] bool holds(Vpid vpid) const noexcept { return current_ && current_->vpid == vpid; }
  void start(Vpid vpid, std::uint32_t life, const Command& command, std::uint64_t now_ns);

  /// Of a request. `window`: the one that it names, if that is open and its target's. `software_waits`: software still
  /// answers gets of its port.
  [[nodiscard]] bool takes(NodeId from, const RmaHeader& header, std::size_t data, const RmaEngine::Window* window,
                           bool software_waits);
  /// Of an answer.
  [[nodiscard]] static bool takes_answer(const RmaHeader& header) noexcept;
  /// A request only if is_free().
  void take(NodeId from, VirtualChannel channel, const RmaHeader& header, std::span<const std::byte> packet,
            std::uint64_t now_ns);
  [[nodiscard]] bool is_free() const { return engine_.is_free(); }
  /// Goes on with what waited for room. Returns how many packets it sent.
  std::size_t step(std::uint64_t now_ns);

  /// The port's commands that wait for an answer, reads or others.
  [[nodiscard]] bool waits(Vpid vpid, bool for_reads) const noexcept;
  /// Gets of the port to this node are not answered.
  [[nodiscard]] bool is_late(Vpid vpid, NodeId to) const noexcept;
  [[nodiscard]] bool is_idle() const;

 private:
  struct Current {
    Vpid vpid = 0;
    std::uint32_t life = 0;
    Command command;
    std::optional<std::size_t> slot;
    bool is_lost = false;  ///< Its target is: what is left of it goes nowhere.
  };
  /// A command that waits for its answer, as the engine knows it.
  struct Slot {
    bool is_used = false;
    Vpid vpid = 0;
    NodeId node = 0;
    Vpid target = 0;
    Operation operation = {};
    std::uint32_t request = 0;
    std::uint32_t length = 0;
    std::uint32_t received = 0;
  };

  [[nodiscard]] bool has_room(VirtualChannel channel) override;
  void send(NodeId to, VirtualChannel channel, std::span<const std::byte> packet) override;
  [[nodiscard]] std::optional<PageNumber> translate(Vpid who, Nla nla, Access access) override;
  void tell(Vpid vpid, const Notification& notification) override;
  void signal(Vpid vpid, std::uint64_t event) override { (void)ports_.signal(vpid, event); }
  void ended(Error error) override { ended_error_ = error; }

  [[nodiscard]] bool is_unpinned(Vpid owner, Nla nla, Access access) const noexcept;
  void end_current();
  [[nodiscard]] Slot* find_slot(NodeId from, const RmaHeader& header) noexcept;
  void free_slot(Slot& slot) noexcept;

  Links& links_;
  Atu& atu_;
  Ports& ports_;
  RmaEngine& engine_;
  Ended on_ended_;
  std::optional<Current> current_;
  std::optional<Error> ended_error_;
  std::array<Slot, RmaEngine::kSlots> slots_{};
  std::vector<std::uint32_t> lives_;  ///< Of each port.
  std::vector<bool> puts_;            ///< Whether the engine has the put under way, of each port of each node.
  NodeId request_from_ = 0;           ///< The last request that the engine took.
  bool is_request_lost_ = false;      ///< Its origin is: nothing is answered.
  std::size_t sent_ = 0;
  std::uint64_t now_ns_ = 0;
};

}  // namespace stopbit::nic
