#include "host/cli/common/ring_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "host/cli/common/messages.hpp"
#include "host/cli/common/signals.hpp"
#include "host/os/clock.hpp"
#include "host/os/shm/name.hpp"
#include "host/replay/pacer.hpp"

namespace stopbit::tools {
namespace {

/// A replay at full speed outruns every reader: 32 MiB hold a capture of some ten thousand messages until they are
/// read.
constexpr std::uint64_t kReplayRingSlots = 524'288;
constexpr double kNsInSecond = 1e9;
constexpr double kLongestNs = 3600 * kNsInSecond;

/// The smallest ring that keeps `slots` slots, whatever the writer claims ahead and pads.
std::uint64_t slots_to_hold(std::uint64_t slots, const Program& program) {
  const std::uint64_t with_longest = slots + 2 * std::uint64_t{program.max_record_slots};
  const std::uint64_t least = std::max({with_longest + with_longest / (ring::kMarks - 1) + 1, ring::kMinSlotCount,
                                        ring::kMaxRecordShare * program.max_record_slots});
  if (least > ring::kMaxSlotCount) {
    throw ToolError(kExitUsage, fmt::format("--hold: up to {} slots arrive in that time; the largest ring has {}",
                                            slots, ring::kMaxSlotCount));
  }
  return std::bit_ceil(least);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMiB = 1U << 20;
  return bytes >= kMiB ? fmt::format("{:.1f} MiB", static_cast<double>(bytes) / static_cast<double>(kMiB))
                       : fmt::format("{} KiB", bytes / 1024);
}

void tell(const std::string& name, const ring::ReaderEvent& event, const ring::Patience& patience, bool quiet) {
  using Kind = ring::ReaderEvent::Kind;
  const std::string who = fmt::format("stopbit: ring {}: reader {} ", name, event.pid);
  switch (event.kind) {
    case Kind::Seated:
      if (!quiet) print_stderr("{}has joined\n", who);
      return;
    case Kind::Left:
      if (!quiet) print_stderr("{}ended after {} records\n", who, event.delivered);
      return;
    case Kind::Died: print_stderr("{}died after {} records, detached\n", who, event.delivered); return;
    case Kind::Stuck:
      print_stderr("{}did not move for {} s after {} records, detached: it may lose later records\n", who,
                   static_cast<double>(patience.stuck_ns) / kNsInSecond, event.delivered);
      return;
    case Kind::GivenUp:
      print_stderr("{}detached after {} records: the writer is stopping\n", who, event.delivered);
      return;
  }
}

}  // namespace

std::uint64_t parse_time_ns(const std::string& option, const std::string& text) {
  struct Unit {
    std::string_view name;
    double ns;
  };
  constexpr Unit kUnits[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}};
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& known : kUnits) {
    const double ns = value * known.ns;
    if (error == std::errc() && unit == known.name && ns >= 1e3 && ns <= kLongestNs) {
      return static_cast<std::uint64_t>(ns);
    }
  }
  throw ToolError(kExitUsage,
                  fmt::format("{}: '{}' is not a time from 1us to 60min, such as 100ms or 2.5s", option, text));
}

void RingArguments::check(bool has_events) const {
  if (name.empty()) {
    const char* const lonely = slots       ? "--ring-slots"
                               : hold      ? "--hold"
                               : slot_rate ? "--slot-rate"
                               : lossless  ? "--lossless"
                               : patience  ? "--patience"
                                           : nullptr;
    if (lonely != nullptr) throw ToolError(kExitUsage, std::string(lonely) + " needs --ring");
    return;
  }
  if (const auto path = os::path_of(name); !path) throw ToolError(kExitUsage, "--ring: " + path.message());
  if (hold && has_events) {
    throw ToolError(kExitUsage, "--hold measures records, not the events of --events; use --ring-slots");
  }
  if (slots && (!std::has_single_bit(*slots) || *slots < ring::kMinSlotCount || *slots > ring::kMaxSlotCount)) {
    throw ToolError(kExitUsage, fmt::format("--ring-slots: a power of two from {} to {}", ring::kMinSlotCount,
                                            ring::kMaxSlotCount));
  }
  if (slots && hold) throw ToolError(kExitUsage, "--ring-slots and --hold both set the size of the ring; give one");
  if (slot_rate && !hold) throw ToolError(kExitUsage, "--slot-rate needs --hold");
  if (patience && !lossless) throw ToolError(kExitUsage, "--patience needs --lossless");
  if (hold) (void)parse_time_ns("--hold", *hold);
  if (slot_rate && *slot_rate > ring::kMaxSlotCount) {
    throw ToolError(kExitUsage, fmt::format("--slot-rate: at most {}", ring::kMaxSlotCount));
  }
  if (patience) (void)parse_time_ns("--patience", *patience);
  if (lossless && *lossless > ring::kSeats) {
    throw ToolError(kExitUsage, fmt::format("--lossless: at most {} readers", ring::kSeats));
  }
}

std::uint64_t RingArguments::hold_ns() const {
  return parse_time_ns("--hold", hold.value());
}

std::vector<Option> ring_options(RingArguments& arguments) {
  return {
      {.names = "--ring",
       .value = "NAME",
       .help =
           "Writes the records, or with --events the market events, to a ring in shared memory, for `stopbit tail "
           "NAME` and other readers. Events have tables of their instruments and states beside the ring, for "
           "`stopbit instruments NAME` and `stopbit states NAME`. With --records and --events the ring of events is "
           "NAME-events, as `stopbit run` names it.",
       .target = &arguments.name},
      {.names = "--ring-slots",
       .value = "N",
       .help = "Size of the ring in slots of 64 bytes, a power of two from 16 to 268435456; default 524288, 32 MiB.",
       .target = &arguments.slots},
      {.names = "--hold",
       .value = "TIME",
       .help = "Size of the ring as a time, such as 100ms: a reader may pause for this time without loss. The "
               "captures are first decoded once, to find the largest number of slots written in that time at the pace "
               "of this replay.",
       .target = &arguments.hold},
      {.names = "--slot-rate",
       .value = "N",
       .help = "With --hold: slots written per second. The captures are then not decoded first.",
       .target = &arguments.slot_rate},
      {.names = "--lossless",
       .value = "N",
       .help = "Waits for readers instead of overwriting records they have not read. Starts when N readers have "
               "joined; more may join later. For `stopbit tail` of the same user.",
       .target = &arguments.lossless},
      {.names = "--patience",
       .value = "TIME",
       .help = "With --lossless: detaches a reader that delays the writer and reads nothing for this time. Default "
               "10s.",
       .target = &arguments.patience},
  };
}

PeakSink::PeakSink(record::RecordSink& inner, std::uint64_t window_ns, double speed)
    : inner_(inner), part_ns_(std::max<std::uint64_t>(window_ns / kParts, 1)), speed_(speed) {}

/// When a record of that arrival comes, from the first one on.
std::uint64_t PeakSink::paced(std::uint64_t arrival_ns) noexcept {
  constexpr double kLongest = 1e18;  // 30 years: longer ones have no place in an integer
  if (!has_begun_) begin_ns_ = arrival_ns;
  if (arrival_ns <= begin_ns_) return 0;
  return static_cast<std::uint64_t>(std::min(static_cast<double>(arrival_ns - begin_ns_) / speed_, kLongest));
}

void PeakSink::commit(const record::Slot& first, std::uint32_t slots) noexcept {
  inner_.commit(first, slots);
  const std::uint64_t time = speed_ > 0 ? paced(first.words[1]) : os::monotonic_clock_ns();
  const std::uint64_t part = time / part_ns_;
  if (!has_begun_ || part > part_ + kParts) {
    has_begun_ = true;
    std::fill(std::begin(parts_), std::end(parts_), 0);
    sum_ = 0;
    part_ = part;
  }
  for (; part_ < part; ++part_) {  // what lies back further is forgotten
    std::uint64_t& oldest = parts_[(part_ + 1) % (kParts + 1)];
    sum_ -= oldest;
    oldest = 0;
  }
  parts_[part_ % (kParts + 1)] += slots;
  sum_ += slots;
  peak_ = std::max(peak_, sum_);
}

namespace {

/// What the arguments make of a ring.
struct RingPlan {
  ring::WriterOptions options;
  std::string reason;  ///< Of its size, for people; empty: it was given, or is the default.
};

RingPlan plan_ring(const RingArguments& arguments, const Program& program, std::uint64_t peak_slots, bool quiet) {
  RingPlan plan;
  ring::WriterOptions& options = plan.options;
  options.slot_count = arguments.slots.value_or(kReplayRingSlots);
  if (arguments.hold) {
    const double seconds = static_cast<double>(arguments.hold_ns()) / kNsInSecond;
    if (arguments.slot_rate) {
      peak_slots = static_cast<std::uint64_t>(std::ceil(static_cast<double>(*arguments.slot_rate) * seconds));
    }
    options.slot_count = slots_to_hold(peak_slots, program);
    plan.reason = fmt::format(", for {} in {} at most", peak_slots, *arguments.hold);
  }
  const std::uint64_t least = ring::kMaxRecordShare * program.max_record_slots;
  if (arguments.slots && *arguments.slots < least) {
    throw ToolError(kExitUsage, fmt::format("--ring-slots: at least {} for this program: its records may have {} "
                                            "slots, and a record takes at most an eighth of the ring",
                                            std::bit_ceil(least), program.max_record_slots));
  }
  if (arguments.lossless) {
    ring::Patience patience;
    if (arguments.patience) patience.stuck_ns = parse_time_ns("--patience", *arguments.patience);
    patience.keep_waiting = [] { return !stop_requested(); };
    patience.on_event = [name = arguments.name, patience, quiet](const ring::ReaderEvent& event) {
      tell(name, event, patience, quiet);
    };
    options.lossless = std::move(patience);
  }
  return plan;
}

void print_ring(const RingArguments& arguments, const RingPlan& plan, const ring::Writer& ring) {
  const std::size_t huge = ring.huge_bytes();
  const std::string pages = huge == 0 ? "in small pages: the file system has no huge pages"
                                      : fmt::format("{} of it in huge pages", bytes_text(huge));
  print_stderr("ring {}: {} slots{}; {}, {}\n", arguments.name, plan.options.slot_count, plan.reason,
               bytes_text(ring.segment_bytes()), pages);
}

}  // namespace

ring::Writer prepare_ring(const RingArguments& arguments, const Program& program, std::uint64_t peak_slots,
                          bool quiet) {
  const RingPlan plan = plan_ring(arguments, program, peak_slots, quiet);
  Result<ring::Writer> writer = ring::Writer::prepare(arguments.name, program, plan.options);
  if (!writer) throw ToolError(kExitEnvironment, writer.message());
  if (!quiet) print_ring(arguments, plan, writer.value());
  return std::move(writer).value();
}

bool wait_for_readers(const RingArguments& arguments, ring::Writer& ring, bool quiet,
                      const std::function<void()>& each) {
  const std::uint64_t readers = arguments.lossless.value_or(0);
  if (readers != 0 && !quiet) {
    print_stderr("ring {}: waiting for {} reader{}\n", arguments.name, readers, readers == 1 ? "" : "s");
  }
  return ring.wait_for_readers(readers, each);
}

}  // namespace stopbit::tools
