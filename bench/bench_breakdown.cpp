// What a message costs native code, by what its instructions are for: breakdown/<workload>/<part>. Some datagrams of a
// workload are run one instruction at a time, so the counts are exact on any machine, however busy.

#if defined(__x86_64__)

#include <signal.h>
#include <ucontext.h>
#include <x86gprintrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "bench/lib/arguments.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/subject.hpp"
#include "decoder/jit/native.hpp"
#include "decoder/jit/parts.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/wire/index.hpp"
#include "microcode/base/splitmix64.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {
namespace {

using jit::Part;
using jit::Parts;

constexpr std::size_t kParts = jit::kPartNames.size();
constexpr const char* kWorkloads[] = {"complex30000", "cme-mdp-2012", "moex-asts-trades-2019", "eurex-rdi-2016",
                                      "sample"};
using Counts = std::array<std::uint64_t, kParts + 1>;  ///< By part; the last one: outside of generated code.
constexpr std::size_t kOutside = kParts;

/// Where the trap of the processor counts. Signal handlers see only what is global.
struct Stepping {
  const Parts* parts = nullptr;
  Counts counts = {};
  std::size_t outside = kOutside;  ///< What code outside of the generated one is counted as.
};
Stepping stepping;

/// Code that was called from generated code counts as the part that called it; after its exit it is on its own.
void count_one(int /*signal*/, siginfo_t* /*info*/, void* context) {
  const auto address = static_cast<std::uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  const auto* const at = reinterpret_cast<const std::uint8_t*>(address);  // NOLINT(performance-no-int-to-ptr)
  if (!stepping.parts->has(at)) {
    ++stepping.counts[stepping.outside];
    return;
  }
  const Part part = stepping.parts->at(at);
  ++stepping.counts[static_cast<std::size_t>(part)];
  const bool calls = part == Part::Interpreter || part == Part::Texts;
  stepping.outside = calls ? static_cast<std::size_t>(part) : kOutside;
}

/// Runs `work` instruction by instruction.
template <class Work>
void count(Work work) {
  constexpr std::uint64_t kTrapFlag = 0x100;
  stepping.outside = kOutside;
  __writeeflags(__readeflags() | kTrapFlag);
  work();
  __writeeflags(__readeflags() & ~kTrapFlag);
}

void measure(const Workload& work, bool quick, Report& report) {
  Parts parts;
  const auto engine = make_native(work.program, work.options, nullptr, &parts);
  if (!engine) return report.note("native code is not measured: " + engine.message());
  if (make_subjects(work, report).empty()) return;  // checks the answers
  stepping = {&parts, {}, kOutside};
  record::BufferSink sink(
      work.program.max_record_slots, [](std::span<const record::Slot>) {}, ring_slots(work));
  wire::Index index;
  const std::size_t wanted = quick ? 20 : 200;
  const std::size_t stride = std::max<std::size_t>(1, work.datagrams.size() / wanted);
  std::uint64_t chance = 1;  // feeds have periods: a fixed stride would meet the same messages again and again
  Counts of_index = {};
  Counts of_nothing = {};
  std::uint64_t messages = 0;
  std::uint64_t datagrams = 0;
  for (std::size_t i = 0; i < work.datagrams.size(); ++i) {
    const PacketInfo& info = work.datagrams[i].info;
    if (splitmix64(chance) % stride != 0) {
      (void)engine.value()->decode(work.datagram(i), info, sink);
      continue;
    }
    Outcome outcome;
    count([&] { outcome = engine.value()->decode(work.datagram(i), info, sink); });
    messages += outcome.messages;
    ++datagrams;
    std::swap(stepping.counts, of_index);
    count([&] { index.build(work.datagram(i)); });
    std::swap(stepping.counts, of_index);
    std::swap(stepping.counts, of_nothing);
    count([] {});
    std::swap(stepping.counts, of_nothing);
  }
  const std::string name = "breakdown/" + work.name + '/';
  const auto add = [&](std::string_view part, std::uint64_t instructions) {
    if (instructions == 0) return;
    report.add(name + std::string(part), "instructions/msg",
               {static_cast<double>(instructions) / static_cast<double>(messages)});
  };
  const std::uint64_t index_only = of_index[kOutside] - of_nothing[kOutside];
  const std::uint64_t outside = stepping.counts[kOutside] - of_nothing[kOutside] - index_only;
  std::uint64_t all = index_only + outside;
  for (std::size_t part = 0; part < kParts; ++part) {
    add(jit::kPartNames[part], stepping.counts[part]);
    all += stepping.counts[part];
  }
  add("index of stop bits", index_only);
  add("datagram, header, end of record", outside);
  add("all", all);
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments = read_arguments(argc, argv, "What a message costs native code, by part, in instructions.");
  Report report;
  struct sigaction action = {};
  action.sa_sigaction = count_one;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGTRAP, &action, nullptr) != 0) report.problem("instructions cannot be counted one by one here");
  if (!report.has_problems()) {
    for_workloads(arguments, report, kWorkloads, [&](const Workload& work) { measure(work, arguments.quick, report); });
  }
  return report.finish(arguments.json);
}

#else

#include <cstdio>

int main() {
  std::fputs("bench: breakdown: native code needs an x86-64 processor\n", stderr);
  return 3;
}

#endif
