#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../system/frames_through_kernel.hpp"
#include "host/device/far_ring.hpp"
#include "remote_fixture.hpp"

/// The whole kernel as a card: Ethernet frames in, packets to subscribers out. The host's code drives it.
namespace stopbit::sim::remote {

class KernelCard {
 public:
  /// The ports stall if the seed is odd.
  explicit KernelCard(std::uint64_t seed)
      : random(seed), frames(ResetRule::Packet, false, seed % 2 == 0 ? 0 : kStallPercent) {
    frames.model().on_node_packet([this](NodePacket packet) {
      ++packets;
      if (on_sent) on_sent(rma::Packet{.words = std::move(packet.words), .is_bad = packet.bad});
    });
    set_clock();
  }
  void reset() {
    frames.model().reset();
    to_come.clear();
    ring_.reset();
    frames.begin();
    set_clock();
  }
  void start(unsigned slots_log2, std::uint32_t max_slots) {
    auto made = device::FarRing::start(frames.device(), {.node = kCardNode,
                                                         .slot_count = std::uint64_t{1} << slots_log2,
                                                         .max_record_slots = max_slots,
                                                         .image_generation = kGeneration});
    if (!made) throw std::runtime_error(made.message());
    ring_ = std::move(made).value();
  }
  /// Bits of `rings` are those of subscribers. The ring in memory gets everything.
  void set_filters(std::span<const device::Filter> filters) {
    std::vector<device::Filter> all(filters.begin(), filters.end());
    for (device::Filter& filter : all) filter.subscribers = std::exchange(filter.rings, std::uint8_t{1});
    const Status done = uses_router ? frames.kernel().set_filters(all, true) : frames.kernel().no_filters(all);
    if (!done) throw std::runtime_error(done.message());
  }
  stopbit::remote::RingPosition set(std::size_t index, const SubscriberEntry& entry) {
    const auto at = static_cast<std::uint32_t>(index);
    if (!entry.open) {
      if (const Status done = ring().close(at); !done) throw std::runtime_error(done.message());
      return {};
    }
    const auto begun = ring().open(at, {.node = entry.node,
                                        .vpid = entry.vpid,
                                        .event = entry.event,
                                        .window = entry.window.id,
                                        .capability = entry.window.capability,
                                        .slots = entry.layout.slots,
                                        .slot_bytes = entry.layout.slot_bytes,
                                        .port = entry.port,
                                        .domain = entry.domain,
                                        .life = entry.life});
    if (!begun) throw std::runtime_error(begun.message());
    return {begun.value().number, begun.value().records};
  }
  bool tell(std::size_t index, bool ends = false, std::uint8_t how = 0) {
    const auto at = static_cast<std::uint32_t>(index);
    return (ends ? ring().tell_end(at, how) : ring().tell_position(at)).value();
  }
  [[nodiscard]] Progress progress(std::size_t index) {
    const device::FarCounters counters = ring().counters().value();
    malformed = counters.malformed;
    overrun = counters.overrun;
    surplus = counters.surplus;
    stray = counters.stray;
    const device::FarAccounts all = ring().accounts(static_cast<std::uint32_t>(index)).value();
    return {all.begun, all.messages, all.records, all.slots, all.lost};
  }
  [[nodiscard]] stopbit::remote::RingPosition position() {
    const device::FarPosition at = ring().position().value();
    return {at.number, at.records};
  }
  [[nodiscard]] unsigned losing() { return ring().state().value().losing; }
  device::FarRing& ring() { return *ring_; }

  void cycle() {
    for (; !to_come.empty(); to_come.pop_front()) {
      frames.model().come({.words = to_come.front().words, .bad = to_come.front().is_bad});
    }
    frames.model().run(1);
  }
  /// All that came was sent, as far as it can be.
  [[nodiscard]] bool is_idle() {
    KernelModel& model = frames.model();
    return to_come.empty() && model.waiting() == 0 && model.coming() == 0 && model.quiet_cycles() > kQuiet;
  }
  [[nodiscard]] std::uint64_t now() { return frames.model().cycles(); }

  Random random;
  FramesThroughKernel frames;
  bool uses_router = false;  ///< Filters serve the ring in memory, too.
  std::deque<rma::Packet> to_come;
  std::function<void(const rma::Packet&)> on_sent;
  std::uint64_t malformed = 0;  ///< These four as progress() found them last.
  std::uint64_t overrun = 0;
  std::uint64_t surplus = 0;
  std::uint64_t stray = 0;
  std::uint64_t packets = 0;

 private:
  static constexpr std::uint32_t kStallPercent = 30;
  static constexpr std::uint64_t kQuiet = 400;  // a frame is decoded in less
  void set_clock() {
    const Status done = frames.kernel().set_clock({.side_band = true, .ns_per_cycle = 0, .offset_ns = kTime});
    if (!done) throw std::runtime_error(done.message());
  }

  std::optional<device::FarRing> ring_;
};

}  // namespace stopbit::sim::remote
