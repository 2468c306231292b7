#include "tests/nic/hardware_velo.hpp"

#include <Vrtl_velo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "host/nic/rma/memory.hpp"
#include "tests/nic/velo_engine.hpp"

namespace stopbit::nic {
namespace {

using namespace sim::velo;

constexpr std::uint64_t kQuiet = 80;         // cycles without a word: nothing is under way
constexpr std::uint64_t kPatience = 10'000;  // cycles for a result
constexpr Vpid kNoPort = 1023;               // the last that a command can name; no node has it

class HardwareMessages final : public VeloEngine {
 public:
  HardwareMessages(NodeId node, std::size_t nodes, Transactions& transactions)
      : VeloEngine(node, Driver<Vrtl_velo>::kPorts), transactions_(transactions), unit_(1) {
    unit_->node_i = node;
    unit_->last_node_i = static_cast<std::uint16_t>(nodes - 1);
    unit_.wrote = [this](std::uint64_t address, std::uint64_t word) {
      std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(address)).store(word, std::memory_order_release);
      ++transactions_.writes;
    };
    unit_.read = [this](std::uint64_t address) -> std::optional<std::array<std::uint64_t, 2>> {
      ++transactions_.reads;
      auto* const words = reinterpret_cast<std::uint64_t*>(address);
      return std::array{std::atomic_ref(words[0]).load(), std::atomic_ref(words[1]).load()};
    };
    unit_.translate = [this](std::uint64_t vpid, std::uint64_t page,
                             std::uint64_t access) -> std::optional<std::uint64_t> {
      if (atu_ == nullptr) return std::nullopt;
      const Translation result =
          atu_->translate(static_cast<Vpid>(vpid), page * kPageBytes, static_cast<Access>(access));
      if (!result.ok || result.paged != nullptr) return std::nullopt;
      return result.page;
    };
  }

  void start_ring(Vpid vpid, Priority priority, const SegmentRing& ring, Atu& atu) override {
    atu_ = &atu;
    VeloEngine::start_ring(vpid, priority, ring, atu);
  }

  [[nodiscard]] Error request(Vpid origin, const MessageUnit::Message& message, std::span<const std::byte> payload,
                              MessagePacket& packet, std::vector<std::byte>& bytes) override {
    const std::uint64_t command =
        protocol::kVeloCommandTarget.put(message.is_group ? message.target : message.node) |
        protocol::kVeloCommandMulticast.put(message.is_group ? 1 : 0) |
        protocol::kVeloCommandVpid.put(message.is_group ? Vpid{0} : std::min(message.target, kNoPort)) |
        protocol::kVeloCommandKind.put(message.type) | protocol::kVeloCommandTag.put(message.tag) |
        protocol::kVeloCommandAnnounce.put(message.announces ? 1 : 0) |
        protocol::kVeloCommandErroneous.put(message.is_erroneous ? 1 : 0) |
        protocol::kVeloCommandLength.put(payload.size());
    unit_.packets.clear();
    unit_.refusals.clear();
    const std::uint64_t sent = unit_.events.sent;
    Message out{origin, message.priority == Priority::High ? 1U : 0U, {command}};
    const std::vector<std::uint64_t> words = to_words(payload);
    out.words.insert(out.words.end(), words.begin(), words.end());
    unit_.to_send.push_back(std::move(out));
    run([&] { return unit_.events.sent != sent || !unit_.refusals.empty(); });
    if (!unit_.refusals.empty()) return unit_.refusals.front().error;
    transactions_.messages += unit_.packets.size();
    read(unit_.packets, packet, bytes);  // what is sent is what the unit said
    return Error::None;
  }

  [[nodiscard]] std::optional<Delivered> deliver(NodeId from, Priority priority, const MessagePacket& packet,
                                                 std::span<const std::byte> payload, std::uint64_t now_ns) override {
    std::optional<Held>& held = held_[static_cast<std::size_t>(priority)];
    const Held asked{from, packet, {payload.begin(), payload.end()}};
    pass(now_ns);
    for (const auto& [vpid, port] : ports_) set_limits(vpid, port.page);
    const auto is_held = [&] { return (unit_.holds >> static_cast<unsigned>(priority) & 1U) != 0; };
    if (held) {
      const bool is_same = *held == asked;
      settle();
      if (is_held()) return std::nullopt;
      held.reset();
      if (is_same) return take(1, unit_.reports, unit_.ends);
      unit_.reports.clear();  // its sender is not there any more
      unit_.ends.clear();
    }
    const std::vector<Packet> packets = packets_of(from, priority, packet, payload);
    transactions_.messages += packets.size();
    unit_.come(packets);
    const std::size_t count = copies_of(from, packet);
    // The slots of a long message come before its report.
    run([&] { return unit_.reports.size() >= count || is_held(); });
    settle();
    if (is_held()) {
      held = asked;
      return std::nullopt;
    }
    return take(count, unit_.reports, unit_.ends);
  }

 private:
  void set(std::span<const Row> rows) override {
    for (const Row& row : rows) unit_.write(row);
  }
  /// What a port has read and posted: stores to its registers.
  void set_limits(Vpid vpid, const Page& page) {
    for (const Priority priority : {Priority::Low, Priority::High}) {
      const bool is_high = priority == Priority::High;
      unit_.set_limit(ring_of(vpid, priority), false,
                      page.word(is_high ? PageWord::HighRead : PageWord::LowRead).load());
      unit_.set_limit(ring_of(vpid, priority), true, page.word(posted_word(priority)).load());
    }
  }
  void pass(std::uint64_t now_ns) {
    if (!has_held()) ticked_ns_ = now_ns;
    for (; ticked_ns_ + kTickNs <= now_ns; ticked_ns_ += kTickNs) {
      unit_.tick();
      settle();
    }
  }
  template <class Done>
  void run(Done done) {
    for (const std::uint64_t end = unit_.now() + kPatience; !done();) {
      if (unit_.now() > end) throw std::runtime_error("the message unit does not answer");
      unit_.cycle();
    }
  }
  void settle() {
    unit_.cycles(4);
    run([&] { return unit_.to_come.empty() && unit_.is_quiet(kQuiet); });
  }

  Transactions& transactions_;
  Driver<Vrtl_velo> unit_;
  Atu* atu_ = nullptr;
  std::uint64_t ticked_ns_ = 0;
};

}  // namespace

std::unique_ptr<MessageEngine> hardware_messages(NodeId node, std::size_t nodes, Transactions& transactions) {
  return std::make_unique<HardwareMessages>(node, nodes, transactions);
}

}  // namespace stopbit::nic
