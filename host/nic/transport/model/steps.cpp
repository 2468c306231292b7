#include "host/nic/transport/model/steps.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace stopbit::nic {
namespace {

constexpr std::array<std::string_view, kSteps> kNames = {
    "software", "issue", "message requester", "message completer", "unit", "translate", "miss", "read",
    "write",    "trip"};

}  // namespace

// Software, issue, message requester and completer, unit, translate, miss, read, write, trip.
const StepCosts kExtoll = {
    "EXTOLL, 156 MHz", "Nuessle 9.1", 6.4, {300, 150, 0, 0, 50, 70, 11 * 6.4 + 280, 350, 200, 650}};
const StepCosts kUltra = {"ULTRA, PCI-66", "Froening 4.4.3", 10, {0, 471, 130, 210, 0, 0, 0, 0, 260, 127}};

std::string_view to_text(Step step) noexcept {
  return kNames[static_cast<std::size_t>(step)];
}

StepCounts steps_of(const Node& node) noexcept {
  const MessageCounters& messages = node.messages().counters();
  const RmaCounters& rma = node.rma().counters();
  const AtuCounters& atu = node.atu().counters();
  StepCounts counts{};
  const auto set = [&](Step step, std::uint64_t count) { counts[static_cast<std::size_t>(step)] = count; };
  set(Step::Software, node.counters().commands);
  set(Step::Issue, node.counters().commands);
  set(Step::MessageRequester, messages.sent);
  set(Step::MessageCompleter, messages.delivered);
  set(Step::Unit, rma.started + rma.packets);
  set(Step::Translate, atu.hits + atu.misses);
  set(Step::Miss, atu.misses);
  set(Step::Read, rma.memory_reads);
  set(Step::Write, rma.memory_writes + messages.delivered + node.ports().told());
  set(Step::Trip, node.links().counters().sent);
  return counts;
}

StepCounts operator+(const StepCounts& a, const StepCounts& b) noexcept {
  StepCounts sum;
  std::transform(a.begin(), a.end(), b.begin(), sum.begin(), std::plus<>());
  return sum;
}

StepCounts operator-(const StepCounts& after, const StepCounts& before) noexcept {
  StepCounts difference;
  std::transform(after.begin(), after.end(), before.begin(), difference.begin(), std::minus<>());
  return difference;
}

double StepCosts::total_ns(const StepCounts& counts) const noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < kSteps; ++i) sum += static_cast<double>(counts[i]) * ns[i];
  return sum;
}

double pipeline_us(std::span<const double> pieces, std::span<const double> stages) {
  // When each stage is through with the last piece; a piece enters it when both are ready.
  std::vector<double> done(stages.size());
  for (const double bytes : pieces) {
    double ready = 0;
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      ready = std::max(ready, done[stage]) + bytes / stages[stage];
      done[stage] = ready;
    }
  }
  return done.empty() ? 0 : done.back();
}

}  // namespace stopbit::nic
