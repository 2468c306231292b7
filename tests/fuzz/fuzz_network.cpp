// Any text as the settings of a simulated network: errors with places, or a plan within the room. Small networks are
// built and run for a while: no packet appears or disappears, and a second run is the same.

#include <string>

#include "host/lab/network/result/report.hpp"
#include "tests/fuzz/checks.hpp"

namespace {

using namespace stopbit;

constexpr std::uint64_t kMostBytes = 16U << 20;  ///< Of a network that is worth its time here.
constexpr std::uint64_t kMostPackets = 500;

std::string run(const network::Plan& plan, const network::Network& network) {
  const auto datagrams = network::datagrams_of(plan);
  fuzz::require(datagrams.ok(), "datagrams of one length need no file");
  const auto result = network::run_once(plan, network, datagrams.value(), plan.traffic.pattern.load,
                                        [](network::Cycle, std::uint64_t) { return true; });
  const network::Counts& counts = result->counts;
  if (plan.traffic.kind == network::TrafficKind::Pattern && plan.run.warmup == 0) {
    fuzz::require(counts.created == counts.delivered + counts.lost + result->under_way, "no packet gets lost");
  }
  fuzz::require(!network.is_checked() || !network.cycle().empty() || counts.deadlocks == 0 ||
                    plan.traffic.kind == network::TrafficKind::FanOut,
                "routes without a cycle do not deadlock");
  return network::report_json(plan, network, *result) + network::report_text(plan, network, {*result}) +
         network::run_svg(plan, network, *result) + network::saturation_svg(plan, network, {*result});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4'096) return 0;
  Diagnostics diagnostics;
  const auto document = config::Document::parse("fuzz.toml", {reinterpret_cast<const char*>(data), size}, diagnostics);
  std::optional<network::Plan> plan = network::read_plan(document, diagnostics);
  fuzz::require(plan.has_value() != diagnostics.has_errors(), "a plan, or errors");
  for (const Diagnostic& item : diagnostics.all()) {
    fuzz::require(item.range.source != nullptr && item.range.offset <= size, "an error has a place", item.message);
  }
  if (!plan) return 0;
  const auto sizes = network::size_of(plan->topology);
  fuzz::require(sizes.ok(), "a plan has a topology");
  fuzz::require(network::memory_of(*plan, sizes.value()) <= network::kMaxMemoryBytes, "a plan fits the room");
  // A capture would be read from the disk.
  if (network::memory_of(*plan, sizes.value()) > kMostBytes || !plan->traffic.capture.empty()) return 0;
  plan->run.packets = std::min(plan->run.packets, kMostPackets);
  plan->run.cycles = std::min<network::Cycle>(plan->run.cycles, 100'000);
  plan->run.warmup = std::min<network::Cycle>(plan->run.warmup, 10'000);
  plan->traffic.datagrams = std::min(plan->traffic.datagrams, kMostPackets);
  const auto network = network::Network::make(*plan);
  if (!network) return 0;
  fuzz::require(run(*plan, *network.value()) == run(*plan, *network.value()), "the same twice");
  return 0;
}
