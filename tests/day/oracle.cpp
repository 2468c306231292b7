#include "tests/day/oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stopbit::day {
namespace {

using arbitrate::GapReason;

constexpr std::uint64_t kMs = 1'000'000;

std::string name(const Day& day, std::size_t index) {
  const ChannelPlan& plan = day.channels[index];
  constexpr const char* kModes[] = {"ordered", "fast", "carousel"};
  return fmt::format("channel {} ({}, {}, {} line{}, window {} of {} us, room {}, silence {} ms)", index,
                     plan.framing.name, kModes[static_cast<int>(plan.mode)], plan.lines, plan.lines == 1 ? "" : "s",
                     plan.options.window_packets, plan.options.window_ns / 1'000, plan.options.room_packets,
                     plan.options.switch_silence_ns / kMs);
}

bool is_good(const Number& number) {
  for (std::size_t chunk = 0; chunk < number.chunks; ++chunk) {
    if (number.low_ns[chunk] == kNever) return false;
  }
  return number.sent_ns != 0;
}

/// How far ahead a number may be on the word of one packet.
std::int64_t believed(const ChannelPlan& plan) {
  return std::max(64U, plan.options.window_packets);
}

/// Arrival of the last of its chunks, at the latest.
std::uint64_t whole_by(const Number& number) {
  return *std::max_element(number.high_ns.begin(), number.high_ns.begin() + number.chunks);
}
std::uint32_t whole_at(const Number& number) {
  return *std::max_element(number.order.begin(), number.order.begin() + number.chunks);
}

const char* to_text(GapReason reason) {
  constexpr const char* kReasons[] = {"window", "count", "room", "overtaken", "leap", "switch", "down", "end"};
  return kReasons[static_cast<std::size_t>(reason)];
}

const char* to_text(Fate fate) {
  constexpr const char* kFates[] = {"nothing", "network", "line down", "kernel",
                                    "card",    "down",    "refused",   "handed out"};
  return kFates[static_cast<std::size_t>(fate)];
}

}  // namespace

Oracle::Oracle(Day& day, Counts& counts) : day_(day), counts_(counts), channels_(day.channels.size()) {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const std::uint8_t bits = day.channels[i].options.sequence_bits;
    channels_[i].mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    channels_[i].aside.resize(day.runs[i].size());
    channels_[i].epochs.resize(day.runs[i].size());
    channels_[i].announced.resize(day.runs[i].size());
  }
}

Number* Oracle::find(std::size_t channel, std::uint32_t run, std::uint64_t number) {
  if (run >= day_.runs[channel].size()) return nullptr;
  Run& found = day_.runs[channel][run];
  if (number - found.first >= found.numbers.size()) return nullptr;
  return &found.numbers[number - found.first];
}

void Oracle::fail(std::size_t channel, const std::string& what) {
  if (fault_.empty()) fault_ = fmt::format("{}: {}", name(day_, channel), what);
}

// ------------------------------------------------------------------------------------------------- what the ports do

void Oracle::handed_out(const HandOut& hand_out) {
  const Copy& copy = *hand_out.copy;
  Channel& channel = channels_[copy.channel];
  const ChannelPlan& plan = day_.channels[copy.channel];
  const std::uint32_t order = ++order_;
  ++channel.handed;
  count(Count::HandedOut);
  if (copy.body == Body::Truncated) count(Count::Truncated);
  if (copy.body == Body::Headless) count(Count::Headless);
  if (copy.body == Body::Oversized) count(Count::Oversized);
  if (copy.chunks > 1) count(Count::Chunked);
  const bool is_stranger = copy.run == kStranger;
  if (is_stranger) channel.of_strangers.insert(copy.number & channel.mask);
  if (is_stranger && channel.true_run && day_.runs[copy.channel][*channel.true_run].sources.contains(copy.source)) {
    channel.spoofed.insert(copy.number & channel.mask);
    ++channel.spoofers;
  }
  tell(copy.channel, "  line {}: {} of run {}{} from {:x} arrived {} us{}", copy.line == 0 ? 'A' : 'B', copy.number,
       static_cast<int>(copy.run), copy.chunks > 1 ? fmt::format(", chunk {} of {}", copy.chunk, copy.chunks) : "",
       copy.source, static_cast<double>(hand_out.low_ns - kBegin) / 1e3,
       copy.body == Body::Whole       ? ""
       : copy.body == Body::Truncated ? ", truncated"
                                      : ", altered");
  Number* const found = find(copy.channel, is_stranger ? copy.salt : copy.run, copy.number);
  if (plan.options.sequence_bits == 0) {
    channel.numberless.push_back(&copy);
    return;
  }
  if (is_stranger && !copy.is_near) channel.foreign_ns = std::max(channel.foreign_ns, hand_out.high_ns);
  if (found == nullptr || (is_stranger && !copy.is_near)) return;
  if (copy.body == Body::Headless) {
    found->fate[copy.line] = Fate::Refused;
    return;
  }
  found->any_low_ns = std::min(found->any_low_ns, hand_out.low_ns);
  found->any_order = std::min(found->any_order, order);
  if (is_stranger) return;

  // Whose turn it is.
  if (channel.last_run[0] != copy.run) {
    channel.last_run[1] = channel.last_run[0];
    channel.last_run_ns[1] = channel.last_run_ns[0];
    channel.last_run[0] = copy.run;
    channel.last_run_ns[0] = 0;
  }
  channel.last_run_ns[0] = std::max(channel.last_run_ns[0], hand_out.high_ns);
  const bool is_new_address = !day_.runs[copy.channel][copy.run].sources.contains(copy.source);
  // The first packet of an address that leaves numbers out is a stranger's for all that can be known; so is what the
  // run brings below where a stranger's number has led it.
  const bool is_believed = !is_lone(channel, plan, copy) && !(is_new_address && copy.number > channel.number) &&
                           !(channel.run == copy.run && copy.number < channel.led_to);
  if (channel.true_run == copy.run && is_believed) channel.run_ns = std::max(channel.run_ns, hand_out.low_ns);
  if (copy.body == Body::Truncated) {
    found->has_broken_copy = true;
    return;
  }
  if (copy.body == Body::Oversized) found->has_oversized_copy = true;
  found->fate[copy.line] = Fate::HandedOut;
  if (hand_out.high_ns - hand_out.low_ns > plan.options.window_ns) {
    found->timeless = static_cast<std::uint8_t>(found->timeless | 1U << copy.line);
  }
  const std::size_t chunk = copy.chunk - 1U;
  if (found->order[chunk] == ~0U && channel.running && channel.run != copy.run) {
    found->is_aside = true;
    const std::uint64_t silence = plan.options.switch_silence_ns + 3 * plan.options.window_ns + 5 * kMs;
    const bool is_after_stranger = hand_out.low_ns < channel.foreign_ns + silence;
    const bool is_after_run = hand_out.low_ns < channel.last_run_ns[1] + silence;
    if (is_after_stranger) found->is_aside_of_wrong = true;
    if (is_after_run) found->has_waited = true;
    ++channel.aside[copy.run];
  }
  day_.runs[copy.channel][copy.run].sources.insert(copy.source);
  if (found->order[chunk] != ~0U && plan.lines == 1) found->again_ns = std::max(found->again_ns, hand_out.high_ns);
  if (found->order[chunk] == ~0U) {
    found->is_of_new_address = is_new_address;
    const auto ahead = static_cast<std::int64_t>(copy.number - channel.number);
    if (channel.run == copy.run && ahead > believed(plan)) found->is_far = true;
    found->handed = channel.handed;
    found->spoofed = channel.spoofers;
  }
  found->low_ns[chunk] = std::min(found->low_ns[chunk], hand_out.low_ns);
  found->high_ns[chunk] = std::min(found->high_ns[chunk], hand_out.high_ns);
  found->order[chunk] = std::min(found->order[chunk], order);
  if (plan.mode == Mode::Ordered) channel.waiting.push_back({hand_out.high_ns, copy.run, copy.number});
}

/// Whether the packet is so far ahead that nobody believes it, and no other has come there yet: for all that can be
/// known it is wild, and the run is silent.
bool Oracle::is_lone(Channel& channel, const ChannelPlan& plan, const Copy& copy) const {
  const auto ahead = static_cast<std::int64_t>(copy.number - channel.number);
  if (channel.run != copy.run || ahead <= believed(plan)) return false;
  const Copy* const last = std::exchange(channel.lone, &copy);
  if (last == nullptr || last->run != copy.run) return true;
  const std::uint64_t apart = std::max(last->number, copy.number) - std::min(last->number, copy.number);
  return apart > static_cast<std::uint64_t>(believed(plan)) || (apart == 0 && last->line == copy.line);
}

void Oracle::dropped(const Copy& copy, Fate fate) {
  if (fate == Fate::Kernel) count(Count::KernelDrops);
  if (fate == Fate::Kernel) kernel_drop_ns_ = std::max(kernel_drop_ns_, copy.t_ns);
  if (fate == Fate::Card) count(Count::CardDrops);
  if (fate == Fate::Refused) count(Count::Fragments);
  if (copy.run == kStranger) return;
  Number* const number = find(copy.channel, copy.run, copy.number);
  if (number != nullptr && number->fate[copy.line] != Fate::HandedOut) number->fate[copy.line] = fate;
}

void Oracle::killed() {
  kernel_drop_ns_ = 0;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    Channel& channel = channels_[i];
    tell(i, "killed");
    channel.running = false;
    channel.has_met = false;
    channel.has_leapt = false;
    channel.was_stranger = false;
    std::fill(channel.epochs.begin(), channel.epochs.end(), 0);
    channel.cursor.reset();
    channel.run.reset();
    channel.pending.clear();
    channel.waiting.clear();
    channel.waiting_at = 0;
    channel.chunk = 0;
    channel.may_retry = false;
    channel.numberless_at = channel.numberless.size();
    channel.told_gaps.clear();
    for (Run& run : day_.runs[i]) {
      for (Number& number : run.numbers) {
        // What a leap or another run had left out may have come since, and waited to be believed.
        const bool has_come_since = number.told == Number::Told::Lost && number.any_order > number.lost_order;
        if (number.told != Number::Told::Nothing && !has_come_since) continue;
        number.has_died = number.has_died || number.any_low_ns != kNever;
        number.low_ns.fill(kNever);
        number.high_ns.fill(kNever);
        number.order.fill(~0U);
        number.any_low_ns = kNever;
        number.any_order = ~0U;
        number.is_aside = false;
        number.chunks_told = 0;
      }
    }
  }
}

// ------------------------------------------------------------------------------------------- what the appliance says

void Oracle::horizon(std::uint64_t until_ns) {
  until_ns_ = until_ns;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    Channel& channel = channels_[i];
    const std::uint64_t silence = until_ns - std::min(until_ns, channel.run_ns);
    const std::uint64_t recent = until_ns - std::min(until_ns, 2 * day_.channels[i].options.window_ns + kMs);
    std::erase_if(channel.silences, [&](const auto& seen) { return seen.first < recent || seen.second <= silence; });
    channel.silences.emplace_back(until_ns, silence);
  }
}

/// Counts what passes, and where the numbers wrap.
void Oracle::move_cursor(Channel& channel, std::uint64_t to, std::uint64_t by) {
  to &= channel.mask;
  const bool wraps = by != 0 && to < by;
  if (wraps && channel.run != kStranger) {
    count(channel.mask == 0xFFFF ? Count::Wraps16 : channel.mask == 0xFFFF'FFFF ? Count::Wraps32 : Count::Wraps64);
  }
  channel.cursor = to;
}

/// The first packet of a run tells which one it is, and where the gaps before it were.
void Oracle::meet(std::size_t index, std::uint32_t run, std::uint64_t number) {
  Channel& channel = channels_[index];
  if (run == kStranger) {
    const bool had_true = channel.true_run.has_value();
    const arbitrate::Options& options = day_.channels[index].options;
    std::uint64_t needed = options.switch_silence_ns;
    if (channel.leapt != 0) {
      // A leap needs less, by its length.
      const std::uint64_t most = std::max(64U, options.window_packets);
      needed = std::min(needed, (channel.leapt - std::min(channel.leapt, most)) * 10'000);
      // Of random numbers of 16 bits some are near, or near one of the others.
      if (options.sequence_bits == 16 && channel.leapt < 8'000) needed = 0;
    }
    // As near as what is believed on the word of one packet: it cannot be told from the run's own.
    const bool is_near = channel.run && channel.left_out <= std::max(64U, options.window_packets);
    if (is_near) needed = 0;
    std::uint64_t silence = 0;
    for (const auto& [at_ns, seen] : channel.silences) silence = std::max(silence, seen);
    needed -= needed / 20;  // a port without stamps knows it less exactly
    if (had_true && !channel.was_stranger && channel.run != kStranger && channel.led_to == 0 && silence < needed &&
        channel.has_met && !options.carousel) {
      fail(index, fmt::format("a stranger's packet {} is delivered when run {} was silent for {} us, not {}", number,
                              *channel.true_run, silence / 1'000, needed / 1'000));
    }
    count(Count::WrongSwitches);
    ++channel.foreign;
    settle_passed(index);
    channel.run = kStranger;
    channel.pending.clear();
    return;
  }
  // A run that had the channel before the last switch has not begun anew.
  using Reason = arbitrate::NewRun::Reason;
  const bool is_new = channel.reason == Reason::Sender || channel.reason == Reason::SequenceReset;
  if (is_new && channel.epochs[run] != 0 && channel.epochs[run] + 2 == channel.switches && !channel.has_leapt &&
      day_.channels[index].mode != Mode::Carousel) {
    fail(index, fmt::format("run {} goes on with {}, and is told as a new one", run, number));
  }
  channel.epochs[run] = channel.switches;
  channel.has_met = true;
  channel.run = channel.true_run = run;
  reopen(index, run, number);
  channel.run_ns = std::max(channel.run_ns, std::min(until_ns_, channel.last_run_ns[0]));
  std::uint64_t before = 0;
  for (const Gap& gap : channel.pending) before += gap.gap.count;
  for (const Gap& gap : channel.pending) {
    settle(index, gap, number - before);
    before -= gap.gap.count;
  }
  channel.pending.clear();
}

bool Oracle::delivered(std::size_t index, const arbitrate::Packet& packet, std::uint16_t epoch) {
  Channel& channel = channels_[index];
  const ChannelPlan& plan = day_.channels[index];
  const Identity identity = read_message(day_.channels[index], packet);
  if (!channel.running || epoch != channel.epoch) fail(index, "a packet of a run that was not told");
  if (plan.options.sequence_bits == 0) {
    if (channel.numberless_at >= channel.numberless.size()) {
      fail(index, "a packet that was not handed out");
      return true;
    }
    const Copy& copy = *channel.numberless[channel.numberless_at++];
    if (identity.is_whole && (identity.run != copy.run || identity.number != copy.number)) {
      fail(index, fmt::format("{} instead of {}", identity.number, copy.number));
    }
    count(Count::Delivered);
    return identity.is_whole;
  }

  const std::uint64_t sequence = packet.preamble.sequence;
  tell(index, "deliver {} (run {}){}", sequence, static_cast<int>(identity.run), identity.is_whole ? "" : " broken");
  const std::uint8_t chunk = static_cast<std::uint8_t>(packet.preamble.chunk);
  const bool is_retry = channel.may_retry && channel.cursor && sequence == ((*channel.cursor - 1) & channel.mask);
  channel.may_retry = !identity.is_whole;
  if (is_retry && !channel.run) {
    channel.pending.pop_back();  // the copy that did not decode
  } else if (is_retry) {
    --channel.number;
  } else if (chunk == 1) {
    if (channel.chunk != 0) fail(index, fmt::format("{} begins before the one before it is whole", sequence));
    if (channel.cursor && *channel.cursor != sequence) {
      fail(index, fmt::format("{} is delivered where {} was to come", sequence, *channel.cursor));
    }
    move_cursor(channel, sequence + 1, 1);
  } else if (chunk != channel.chunk + 1) {
    fail(index, fmt::format("chunk {} of {} after chunk {}", chunk, sequence, channel.chunk));
  }
  const std::uint64_t left_out = std::exchange(channel.left_out, 0);
  channel.chunk = chunk == packet.preamble.chunks ? 0 : chunk;
  const bool is_last_chunk = channel.chunk == 0;

  if (!identity.is_whole) {
    if (channel.run) {
      Number* const number = find(index, *channel.run, channel.number++);
      if (number != nullptr) {
        number->told = Number::Told::Broken;
        number->lost_order = order_;
      }
      (void)take_of_joined(index, sequence);
    }
    if (!channel.run)
      channel.pending.push_back(
          {{.first = sequence, .count = 1, .reason = GapReason::End, .lines = {}}, {.cause = Cause::End}});
    return false;
  }
  if (identity.channel != index) {
    fail(index, "a packet of another channel");
    return true;
  }
  std::uint32_t run = identity.run;
  if (run == kStranger && find(index, identity.salt, identity.number) != nullptr &&
      find(index, identity.salt, identity.number)->is_tainted &&
      (channel.run ? *channel.run == identity.salt && channel.number == identity.number
                   : find(index, identity.salt, identity.number)->told == Number::Told::Nothing)) {
    run = identity.salt;  // in the place of the true one
  }
  const Number* const own = find(index, run, identity.number);
  if (own != nullptr && channel.run && *channel.run != kStranger && *channel.run != run &&
      is_stale(channel, plan, *own)) {
    take(index, *channel.run, channel.number++);
    channel.last_gap.reset();
    return true;
  }
  // It leads the run past what waits to be believed.
  if (identity.run == kStranger && plan.options.sequence_bits == 16 && channel.last_gap &&
      channel.spoofed.contains(sequence & channel.mask)) {
    for (std::uint64_t i = 1; channel.run && i <= left_out; ++i) {
      Number* const below = find(index, *channel.run, channel.number - i);
      if (below != nullptr) ++below->lost_spoofed;
    }
  }
  channel.left_out = left_out;
  if (!channel.run || (*channel.run != run && run == kStranger)) meet(index, run, identity.number);
  channel.left_out = 0;
  // The true run may be ahead of a stranger's, and leap to itself. A cycle that begins without its first packet may
  // look like the one before.
  const Number* const first = find(index, run, 1);
  const bool may_join =
      (*channel.run == kStranger && channel.has_leapt) ||
      (plan.mode == Mode::Carousel && (plan.lines == 2 || (first != nullptr && first->fate[0] != Fate::HandedOut)));
  // A run that begins just where the one before stopped cannot be told from it.
  // Nor is it another one when the one before goes on after all.
  const bool continues = left_out <= static_cast<std::uint64_t>(believed(plan)) || channel.joined_from == run;
  if (*channel.run != run && continues) {
    const auto near =
        static_cast<std::uint64_t>(believed(plan));  // copies of the run before, for all that can be known
    for (std::uint64_t i = 1; i <= near; ++i) take(index, run, identity.number - i);
  }
  if (*channel.run != run && (may_join || continues)) {
    // The leap from a stranger's numbers to the run's own leaves out those just below.
    for (std::uint64_t i = 1; *channel.run == kStranger && i <= left_out && channel.last_gap; ++i) {
      const Number* const below = find(index, run, identity.number - i);
      if (below == nullptr) break;
      if (below->told == Number::Told::Nothing) lose(index, run, identity.number - i, *channel.last_gap);
    }
    const bool is_of_true = *channel.run != kStranger && run != kStranger && plan.mode != Mode::Carousel;
    if (continues && is_of_true) channel.joined_from = *channel.run;
    channel.is_fused = plan.mode == Mode::Carousel;
    channel.run = channel.true_run = run;
    reopen(index, run, identity.number);
  }
  if (*channel.run != run) {
    fail(index, fmt::format("packet {} of run {} among those of run {}", identity.number, static_cast<int>(run),
                            static_cast<int>(*channel.run)));
    return true;
  }
  channel.number = identity.number + 1;
  // Of random numbers of 16 bits some are near, and lead the run on; those of another address than the run's own when
  // it has been silent for two windows.
  const bool is_led = run != kStranger && identity.run == kStranger && left_out != 0;
  const bool was_silent = std::ranges::any_of(
      channel.silences, [&](const auto& seen) { return seen.second >= 2 * plan.options.window_ns; });
  const bool is_believed = was_silent || channel.spoofed.contains(sequence & channel.mask);
  if (is_led && is_believed && plan.options.sequence_bits == 16) channel.led_to = identity.number;
  if (identity.run != kStranger && identity.number > channel.led_to) channel.led_to = 0;
  if (run != kStranger) channel.true_next = channel.number;
  if (run != kStranger) channel.passed = 0;
  if (identity.announces != 0 && run != kStranger) channel.announced[run] = true;
  channel.last_gap.reset();
  if (run == kStranger) {
    take_by_wire(index, sequence);
    return true;
  }
  (void)take_of_joined(index, sequence);
  count(Count::Delivered);
  Number* const number = find(index, run, identity.number);
  if (number == nullptr || (sequence & channel.mask) != (identity.number & channel.mask)) {
    fail(index, fmt::format("{} was not sent", identity.number));
    return true;
  }
  forget_fused(channel, *number);
  // The line did not show that its cycle began: its packets look like the next ones of the cycle before.
  const bool is_hidden = first != nullptr && first->fate[static_cast<std::size_t>(packet.line)] != Fate::HandedOut;
  if (channel.is_fused && is_hidden) number->fused_in = channel.switches;
  const bool is_behind = is_of_cycle_before(index, run, *number, 1U << static_cast<unsigned>(packet.line));
  // A gap in the cycle before, of which its first packets seemed to be.
  const bool was_hidden = is_hidden && plan.mode == Mode::Carousel && plan.lines == 2;
  const bool was_corrected =
      number->told == Number::Told::Lost &&
      ((was_hidden && number->lost_in != channel.switches) || number->reason == GapReason::Leap ||
       number->reason == GapReason::Switch || (number->reason == GapReason::Room && number->is_leapt) ||
       number->lost_foreign != channel.foreign ||
       (channel.reason == arbitrate::NewRun::Reason::Back && number->lost_in != channel.switches));
  if (number->told == Number::Told::Delivered && !is_retry && !number->is_tainted && !number->is_round && !is_behind) {
    fail(index, fmt::format("{} of run {} is delivered twice", identity.number, run));
  }
  if (number->told == Number::Told::Lost && !was_corrected) {
    fail(index, fmt::format("{} of run {} is delivered after it was lost ({})", identity.number, run,
                            to_text(number->reason)));
  }
  number->delivered_in = channel.switches;
  number->is_by_stranger = identity.run == kStranger;
  if (++number->chunks_told == number->chunks || is_last_chunk) number->told = Number::Told::Delivered;
  return true;
}

void Oracle::run(std::size_t index, const arbitrate::NewRun& run) {
  Channel& channel = channels_[index];
  using Reason = arbitrate::NewRun::Reason;
  switch (run.reason) {
    case Reason::Start: count(Count::Starts); break;
    case Reason::Sender: count(Count::Senders); break;
    case Reason::Cycle: count(Count::Cycles); break;
    case Reason::SequenceReset: count(Count::Resets); break;
    case Reason::Back: count(Count::Backs); break;
  }
  tell(index, "run of sender {} at {}, reason {}", run.sender, run.sequence, static_cast<int>(run.reason));
  if (channel.running && run.epoch != static_cast<std::uint16_t>(channel.epoch + 1))
    fail(index, "runs are not counted");
  if (!run.before.balanced()) fail(index, "the account of a run that has ended is not balanced");
  if (channel.chunk != 0) fail(index, "a run ends within a number");
  channel.running = true;
  channel.leapt = 0;
  channel.left_out = 0;
  channel.passed = 0;
  channel.is_fused = false;
  channel.led_to = 0;
  channel.joined_from.reset();
  channel.last_gap.reset();
  channel.was_stranger = channel.run == kStranger;
  ++channel.switches;
  channel.epoch = run.epoch;
  channel.reason = run.reason;
  channel.cursor.reset();
  channel.run.reset();
  channel.pending.clear();
  channel.may_retry = false;
}

void Oracle::gap(std::size_t index, const arbitrate::Gap& gap, const Blame& blame) {
  Channel& channel = channels_[index];
  tell(index, "gap {}+{} {} ({})", gap.first, gap.count, to_text(gap.reason), to_text(blame.cause));
  if (!channel.running || gap.epoch != channel.epoch) fail(index, "a gap of a run that was not told");
  if (channel.cursor && *channel.cursor != gap.first) {
    fail(index, fmt::format("a gap at {} where {} was to come", gap.first, *channel.cursor));
  }
  if (gap.count == 0) fail(index, "a gap of nothing");
  if (gap.reason == GapReason::Window && gap.after_t_ns + day_.channels[index].options.window_ns > until_ns_) {
    fail(index, fmt::format("a gap at {} is put down to a window that is still open", gap.first));
  }
  if (gap.reason == GapReason::Window && !day_.channels[index].options.ordered &&
      !day_.channels[index].options.chunks && channel.run != kStranger) {
    fail(index, fmt::format("a gap at {} is put down to a window in fast mode", gap.first));
  }
  if (gap.count > channel.mask / 2 + 1) fail(index, fmt::format("a gap of {}", gap.count));
  if (gap.reason != GapReason::Room) channel.leapt = gap.reason == GapReason::Leap ? gap.count : 0;
  if (channel.leapt != 0) channel.has_leapt = true;
  channel.left_out += gap.count;
  channel.passed += gap.count;
  channel.may_retry = false;
  move_cursor(channel, gap.first + gap.count, gap.count);
  if (!channel.run) {
    channel.pending.push_back({gap, blame});
    return;
  }
  channel.last_gap = Gap{gap, blame};
  settle(index, {gap, blame}, channel.number);
  for (std::uint64_t i = 0; i < gap.count && take_of_joined(index, gap.first + i); ++i) {
  }
  channel.number += gap.count;
  if (channel.run != kStranger) channel.true_next = channel.number;
}

/// A stranger's packet, or a gap in a run of strangers, has the place of this number.
void Oracle::take(std::size_t index, std::uint32_t run, std::uint64_t number) {
  Number* const found = find(index, run, number);
  if (found == nullptr || found->told != Number::Told::Nothing) return;
  found->told = Number::Told::Broken;
  found->is_tainted = true;
}
void Oracle::take_by_wire(std::size_t index, std::uint64_t sequence) {
  const Channel& channel = channels_[index];
  if (!channel.true_run) return;
  const std::uint64_t first = day_.runs[index][*channel.true_run].first;
  take(index, *channel.true_run, first + ((sequence - first) & channel.mask));
}

/// Of the run that the present one was taken for, the number with the same place has been passed. @returns whether
/// there is such a number.
bool Oracle::take_of_joined(std::size_t index, std::uint64_t sequence) {
  const Channel& channel = channels_[index];
  if (!channel.joined_from || channel.joined_from == channel.run) return false;
  const std::uint64_t first = day_.runs[index][*channel.joined_from].first;
  const std::uint64_t number = first + ((sequence - first) & channel.mask);
  take(index, *channel.joined_from, number);
  return find(index, *channel.joined_from, number) != nullptr;
}

void Oracle::settle(std::size_t index, const Gap& gap, std::uint64_t first) {
  const Channel& channel = channels_[index];
  if (*channel.run == kStranger) {
    const std::uint64_t near = std::min(gap.gap.count, static_cast<std::uint64_t>(believed(day_.channels[index])));
    for (std::uint64_t i = 0; i < near; ++i) take_by_wire(index, gap.gap.first + i);
    return settle_leapt(index, gap);
  }
  const Run& run = day_.runs[index][*channel.run];
  if (gap.blame.is_told) check_cause(index, gap, first);
  for (std::uint64_t i = 0; i < gap.gap.count; ++i) {
    const std::uint64_t at = first + i - run.first;
    if (at < run.numbers.size()) {
      lose(index, *channel.run, first + i, gap);
    } else if (static_cast<std::int64_t>(at) > 0) {
      break;
    }
  }
}

/// Whether a reset has the number in the place of its own. The bytes of one line are not compared: a second copy of one
/// of the numbers of the run before that comes just before the reset is of the reset, for all that can be known. So is
/// one that comes then, but after it was given up.
bool Oracle::is_stale(const Channel& channel, const ChannelPlan& plan, const Number& number) const {
  if (plan.lines != 1 || channel.reason != arbitrate::NewRun::Reason::SequenceReset) return false;
  const bool came_again =
      number.again_ns != 0 && number.told == Number::Told::Delivered && number.delivered_in != channel.switches;
  const bool came_late = number.told == Number::Told::Lost && is_good(number) && whole_at(number) > number.lost_order;
  const std::uint64_t came_ns = came_again ? number.again_ns : whole_by(number);
  return (came_again || came_late) && until_ns_ < came_ns + plan.options.switch_silence_ns + 4 * plan.options.window_ns;
}

/// Numbers that a cycle has lent to the one before, for nobody saw where it began, are told again if the cycle is told
/// after all.
void Oracle::forget_fused(const Channel& channel, Number& number) const {
  if (number.fused_in == 0 || number.fused_in == channel.switches) return;
  number.told = Number::Told::Nothing;
  number.fused_in = 0;
}

/// Whether the number was told in a cycle before, and came on one of the lines at a time that is not known. A line that
/// is read late may be one cycle behind the other, and nothing but the time shows it. With lines 3,
/// it is enough that another number of the cycle came so.
bool Oracle::is_of_cycle_before(std::size_t index, std::uint32_t run, const Number& number, unsigned lines) const {
  const ChannelPlan& plan = day_.channels[index];
  if (plan.mode != Mode::Carousel || plan.lines != 2 || number.delivered_in == channels_[index].switches) return false;
  if ((number.timeless & lines) != 0 || begins_again(index, run, number)) return true;
  const std::vector<Number>& cycle = day_.runs[index][run].numbers;
  return lines == 3 && std::ranges::any_of(cycle, [](const Number& other) { return other.timeless != 0; });
}

/// Whether the first packet of the cycle came after this one, or at a time that is not known, so that the cycle has
/// begun with it once more. It is a second copy, and goes as far back as a cycle does.
bool Oracle::begins_again(std::size_t index, std::uint32_t run, const Number& number) const {
  const Number& first = day_.runs[index][run].numbers.front();
  const bool is_later = first.timeless != 0 || first.order[0] > number.any_order;
  return first.order[0] != ~0U && is_later && first.delivered_in == channels_[index].switches;
}

/// A stranger is taken for the true run, which has passed some numbers: from where it stopped on they are told as lost.
void Oracle::settle_passed(std::size_t index) {
  Channel& channel = channels_[index];
  // Or the stranger's packet is the first after a restart, and far ahead of the number that was kept.
  const bool is_back = channel.reason == arbitrate::NewRun::Reason::Back;
  if (channel.pending.empty() || !channel.true_run) return;
  const arbitrate::Gap& told = channel.pending.front().gap;
  if (!is_back && told.reason != GapReason::Down) return;
  if (((channel.true_next - told.first) & channel.mask) >= told.count) return;
  channel.epochs[*channel.true_run] = channel.switches;
  for (const Gap& gap : channel.pending) settle_leapt(index, gap);
}

/// A stranger led the true run on to numbers far ahead. As the numbers are the same, those between are told as lost.
void Oracle::settle_leapt(std::size_t index, const Gap& gap) {
  const Channel& channel = channels_[index];
  if (!channel.true_run || channel.epochs[*channel.true_run] != channel.switches) return;
  const std::uint64_t first = day_.runs[index][*channel.true_run].first;
  const std::uint64_t begin = first + ((gap.gap.first - first) & channel.mask);
  for (std::uint64_t i = 0; i < gap.gap.count; ++i) {
    Number* const number = find(index, *channel.true_run, begin + i);
    if (number == nullptr) break;
    if (number->sent_ns == 0 || number->told != Number::Told::Nothing) continue;
    lose(index, *channel.true_run, begin + i, gap);
    number->is_leapt_by_stranger = true;
  }
}

/// The true run goes on here: from here on each number is told once more. So is what was delivered, if strangers have
/// led the channel round all numbers meanwhile: these are the same, and other ones for all that can be known.
void Oracle::reopen(std::size_t index, std::uint32_t run, std::uint64_t number) {
  const Channel& channel = channels_[index];
  const bool is_round = channel.passed > channel.mask / 2;
  for (Number* one = find(index, run, number); one != nullptr; one = find(index, run, ++number)) {
    const bool was_leapt = one->is_leapt_by_stranger || (one->is_leapt && one->reason == GapReason::Leap);
    const bool is_leapt = was_leapt && one->told == Number::Told::Lost;
    if (is_round) one->is_round = one->told == Number::Told::Delivered;
    if (is_leapt) one->told = Number::Told::Nothing;
    one->is_leapt_by_stranger = false;
  }
}

/// Whether so many strangers with the true address and random numbers of 16 bits have come since the number that they
/// have led the run on, and the place that it goes back to is about where they found it.
bool Oracle::was_led_on(std::size_t index, const Number& number) const {
  return day_.channels[index].options.sequence_bits == 16 && channels_[index].spoofers > number.spoofed &&
         channels_[index].spoofed.size() >= arbitrate::Strangers::kMost;
}

void Oracle::lose(std::size_t index, std::uint32_t run, std::uint64_t at, const Gap& gap) {
  Number& number = *find(index, run, at);
  if (number.sent_ns == 0) return;
  forget_fused(channels_[index], number);
  if (number.is_round && number.told == Number::Told::Delivered) return;
  if (gap.blame.cause == Cause::End && gap.gap.reason == GapReason::End) {  // delivered, but it did not decode
    number.told = Number::Told::Broken;
    return;
  }
  // A stranger's packet was delivered in its place, before the channel went back or began anew: the number is still to
  // come then.
  const bool is_replaced = number.is_by_stranger && number.delivered_in != channels_[index].switches;
  const bool is_of_return = gap.gap.reason == GapReason::Switch || gap.gap.reason == GapReason::Room;
  if (number.told == Number::Told::Delivered && is_of_return && was_led_on(index, number)) return;
  if (number.told == Number::Told::Delivered && !is_replaced && !is_of_cycle_before(index, run, number, 3)) {
    fail(index, fmt::format("{} of run {} is told lost ({}) after it was delivered", at, run, to_text(gap.gap.reason)));
  }
  number.told = Number::Told::Lost;
  number.reason = gap.gap.reason;
  number.lost_order = order_;
  number.lost_handed = channels_[index].handed;
  number.lost_spoofed = channels_[index].spoofers;
  number.lost_foreign = channels_[index].foreign;
  number.lost_in = channels_[index].switches;
  number.is_leapt = static_cast<std::int64_t>(gap.gap.count) > believed(day_.channels[index]);
  const auto has = [&](Fate fate) { return number.fate[0] == fate || number.fate[1] == fate; };
  switch (gap.gap.reason) {
    case GapReason::Room: return count(Count::LostRoom);
    case GapReason::Overtaken: return count(Count::Overtaken);
    case GapReason::Leap: return count(Count::LostLeap);
    case GapReason::Switch: return count(Count::LostSwitch);
    case GapReason::Down: return count(Count::LostDown);
    case GapReason::End: return;
    case GapReason::Window:
    case GapReason::Count: break;
  }
  count(has(Fate::Kernel)      ? Count::LostKernel
        : has(Fate::Card)      ? Count::LostStall
        : has(Fate::LineDown)  ? Count::LostLineDown
        : has(Fate::HandedOut) ? Count::LostLate
                               : Count::LostOnLines);
}

void Oracle::conflict(std::size_t index, const arbitrate::Conflict& conflict) {
  count(Count::Conflicts);
  Channel& channel = channels_[index];
  ++channel.conflicts;
  const std::uint32_t candidates[] = {channel.run.value_or(kStranger), channel.last_run[0], channel.last_run[1]};
  for (const std::uint32_t run : candidates) {
    if (run >= day_.runs[index].size()) continue;
    const Run& truth = day_.runs[index][run];
    const std::uint64_t at = (conflict.sequence - truth.first) & channel.mask;
    if (at >= truth.numbers.size()) continue;
    Number& number = *find(index, run, truth.first + at);
    number.is_told_conflict = true;
    if (number.is_altered || number.has_broken_copy || number.has_oversized_copy || number.is_tainted) return;
  }
}

void Oracle::late(std::size_t index, const arbitrate::Packet& packet, std::uint64_t /*late_ns*/) {
  count(Count::Late);
  const Identity identity = read_message(day_.channels[index], packet);
  tell(index, "late {}", packet.preamble.sequence);
  if (!identity.is_whole) return;
  Number* const number = find(index, identity.run, identity.number);
  if (number != nullptr) number->is_told_late = true;
}

void Oracle::turn(const Receiver& receiver) {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    Channel& channel = channels_[i];
    const arbitrate::Arbiter& arbiter = receiver.arbiter(i);
    if (!arbiter.account().balanced() || !arbiter.total().balanced()) fail(i, "the account is not balanced");
    const arbitrate::Options& options = day_.channels[i].options;
    while (channel.waiting_at < channel.waiting.size()) {
      const Waiting& oldest = channel.waiting[channel.waiting_at];
      const Number& number = *find(i, oldest.run, oldest.number);
      const std::size_t at = oldest.number - day_.runs[i][oldest.run].first;
      // One packet that is far ahead may be wild: it waits for the silence, or until the run has come to it.
      // So may the first one from another address.
      const bool is_lone = number.is_far || number.is_of_new_address;
      const std::uint64_t patience = 3 * options.window_ns + (is_lone ? options.switch_silence_ns : 0);
      if (oldest.high_ns + patience >= until_ns_) break;
      const bool is_refused = number.has_oversized_copy && number.chunks > 1;  // chunks must have room
      if (number.told == Number::Told::Nothing && channel.run == oldest.run && is_good(number) && !number.is_aside &&
          !is_refused && oldest.number - channel.number <= std::max(64U, options.window_packets) &&
          !(number.is_far && is_outlived(day_.channels[i], day_.runs[i][oldest.run], at))) {
        fail(i, fmt::format("{} of run {} is held longer than the window", oldest.number, oldest.run));
      }
      ++channel.waiting_at;
    }
  }
}

// -------------------------------------------------------------------------------------------------------- at the end

/// Whether a number that is whole was there before any rule allows to give it up.
bool Oracle::was_in_time(const ChannelPlan& plan, const Run& run, std::size_t at, bool by_room) const {
  const Number& number = run.numbers[at];
  const std::uint64_t by_ns = whole_by(number);
  const std::uint32_t order = whole_at(number);
  // By a later number, or the first of its own chunks.
  std::uint64_t shown_ns = number.chunks > 1 ? number.any_low_ns : kNever;
  std::uint64_t waiting = number.chunks - 1U;  // packets that had arrived by then, by their arrival
  std::uint64_t held = number.chunks - 1U;     // packets that had been handed out by then
  for (std::size_t i = at + 1; i < run.numbers.size(); ++i) {
    const Number& later = run.numbers[i];
    if (later.any_low_ns == kNever) continue;
    shown_ns = std::min(shown_ns, later.any_low_ns);
    if (later.any_order < order && (!plan.options.ordered || later.has_oversized_copy)) return false;
    if (later.any_low_ns <= by_ns) waiting += later.chunks;
    if (later.any_order < order) held += later.chunks;
    // What is far ahead is set aside until it may be believed; what it leaves out then is in time if it came before.
    if (number.reason == GapReason::Leap && later.any_order < order) return false;
  }
  if (!plan.options.ordered) return number.chunks == 1 || by_ns < shown_ns + plan.options.window_ns;
  // Chunks of the numbers just before it, which were not whole either, waited too.
  for (std::size_t i = at; i > 0 && run.numbers[i - 1].told == Number::Told::Lost; --i) {
    const Number& below = run.numbers[i - 1];
    if (below.lost_order != number.lost_order) break;
    for (std::size_t chunk = 0; chunk < below.chunks; ++chunk) {
      waiting += below.low_ns[chunk] <= by_ns ? 1 : 0;
      held += below.order[chunk] < order ? 1 : 0;
    }
  }
  // A number before it that waits for its other copy holds all back, and is given up by the same rules.
  return by_ns < shown_ns + plan.options.window_ns && waiting < plan.options.window_packets &&
         (!by_room || held < plan.options.room_packets);
}

/// Whether the run seems to have gone on without the number, which was far ahead: a port without stamps read a lower
/// number of before a stall so late that it may have come after this one, by more than what refutes a leap.
bool Oracle::is_outlived(const ChannelPlan& plan, const Run& run, std::size_t at) const {
  const Number& number = run.numbers[at];
  const std::uint64_t while_ns = std::max(plan.options.switch_silence_ns / 4, 2 * plan.options.window_ns);
  return std::any_of(
      run.numbers.begin(), run.numbers.begin() + static_cast<std::ptrdiff_t>(at), [&](const Number& below) {
        return below.timeless != 0 && is_good(below) && whole_by(below) > whole_by(number) + while_ns &&
               *std::min_element(below.low_ns.begin(), below.low_ns.begin() + below.chunks) <= whole_by(number);
      });
}

/// Whether strangers with the true address and random numbers of 16 bits have taken its place among those that wait to
/// be believed, or were believed in its stead.
bool Oracle::is_pushed_out(std::size_t index, const Number& number) const {
  const bool is_passed = number.reason == GapReason::Leap || number.reason == GapReason::Switch ||
                         number.reason == GapReason::Room || number.reason == GapReason::Overtaken;
  return is_passed && number.is_far && number.lost_spoofed > number.spoofed && was_led_on(index, number);
}

/// Whether nothing near it was handed out before it was lost.
bool Oracle::is_alone(const ChannelPlan& plan, const Run& run, std::size_t at) const {
  const Number& number = run.numbers[at];
  if (number.fate[0] == Fate::HandedOut && number.fate[1] == Fate::HandedOut) return false;
  const auto near = static_cast<std::size_t>(believed(plan));
  for (std::size_t i = at - std::min(at, near); i <= at + near && i < run.numbers.size(); ++i) {
    const Number& other = run.numbers[i];
    if (i != at && other.any_order < number.lost_order && (other.is_far || other.is_of_new_address)) return false;
  }
  return true;
}

void Oracle::check_run(std::size_t index, std::uint32_t which) {
  const ChannelPlan& plan = day_.channels[index];
  const Run& run = day_.runs[index][which];
  // What strangers and near numbers have made of single ones cannot be told apart here: all of them do not vanish.
  std::size_t untold_late = 0;
  std::size_t untold_conflicts = 0;
  std::size_t told_late = 0;
  std::size_t told_conflicts = 0;
  std::size_t first = run.numbers.size();
  std::size_t last = 0;
  // What another appliance had of a cycle is nothing to the next one.
  const bool has_died =
      plan.mode == Mode::Carousel && std::any_of(run.numbers.begin(), run.numbers.end(), [](const Number& number) {
        return number.has_died || number.fate[0] == Fate::Down || number.fate[1] == Fate::Down;
      });
  for (std::size_t i = 0; i < run.numbers.size(); ++i) {
    if (run.numbers[i].told == Number::Told::Nothing) continue;
    first = std::min(first, i);
    last = i;
  }
  for (std::size_t i = 0; i < run.numbers.size(); ++i) {
    const Number& number = run.numbers[i];
    told_late += number.is_told_late ? 1 : 0;
    told_conflicts += number.is_told_conflict ? 1 : 0;
    if (number.sent_ns == 0 || (number.told == Number::Told::Delivered && !number.is_altered)) continue;
    const bool is_within = i > first && i < last;
    const auto describe = [&](const char* what) {
      fail(index, fmt::format("{} of run {} (told {} to {}){}: {}; on A {}, on B {}, arrived at {} us, {}",
                              run.first + i, which, run.first + first, run.first + last,
                              number.told == Number::Told::Lost     ? std::string(", lost: ") + to_text(number.reason)
                              : number.told == Number::Told::Broken ? ", did not decode"
                                                                    : "",
                              what, to_text(number.fate[0]), to_text(number.fate[1]),
                              is_good(number) ? (whole_by(number) - kBegin) / 1'000 : 0,
                              number.is_aside ? "set aside" : "in its run"));
    };
    if (number.told == Number::Told::Nothing && is_within && !has_died && !number.is_told_late)
      describe("neither delivered nor told as lost");
    if (!is_good(number) || number.is_tainted) continue;
    // Too long for what set aside packets and chunks have. The first three numbers of a new address are set aside, too.
    const std::size_t before = i - std::min<std::size_t>(i, 2);
    const bool is_of_newcomer = std::any_of(run.numbers.begin() + static_cast<std::ptrdiff_t>(before),
                                            run.numbers.begin() + static_cast<std::ptrdiff_t>(i + 1),
                                            [](const Number& near) { return near.is_of_new_address; });
    if (number.has_oversized_copy &&
        (number.chunks > 1 || number.is_aside || number.is_far || is_of_newcomer || number.reason == GapReason::Room)) {
      continue;
    }
    // What comes after its leap was undone stays lost.
    if (number.told == Number::Told::Lost && number.reason == GapReason::Leap && number.is_aside) continue;
    // Which cycle a packet of the second line belongs to is known by how its cycle began.
    if (plan.mode == Mode::Carousel && plan.lines == 2) continue;
    // A second copy is of use while nothing after it is delivered. What is set aside keeps the first copy only.
    if (number.has_broken_copy && (!plan.options.ordered || plan.options.chunks || number.is_aside || number.is_far ||
                                   whole_by(number) >= number.any_low_ns + plan.options.window_ns)) {
      continue;
    }
    if (number.told == Number::Told::Lost && !number.is_aside && !number.has_died && !number.is_told_late &&
        number.chunks == 1 && whole_at(number) > number.lost_order &&
        (number.reason == GapReason::Window || number.reason == GapReason::Overtaken)) {
      ++untold_late;
    }
    // What is set aside, because it was far ahead, is not compared; nor what may be of the run that is announced.
    const auto after_announced = static_cast<std::int64_t>((run.first + i - 1) & channels_[index].mask);
    const bool is_announced = channels_[index].announced[which] && after_announced <= believed(plan);
    if (number.is_altered && !is_announced && !plan.options.chunks && !number.is_aside && !number.is_far &&
        !number.has_died && !number.is_told_conflict && number.fate[0] == Fate::HandedOut &&
        number.fate[1] == Fate::HandedOut) {
      ++untold_conflicts;
      tell(index, "conflict not reported: {} of run {}", run.first + i, which);
    }
    if (number.is_aside && (number.is_aside_of_wrong ||
                            (number.has_waited && channels_[index].aside[which] > plan.options.room_packets))) {
      continue;
    }
    if (number.told == Number::Told::Delivered) continue;
    // Fast mode: once, or told as late.
    if (number.told == Number::Told::Lost && number.reason == GapReason::Overtaken && number.is_far &&
        number.is_told_late) {
      continue;
    }
    // One packet far from all others, or from a new address, is believed by nobody.
    const bool is_passed = number.reason == GapReason::Leap || number.reason == GapReason::Switch;
    if (number.told == Number::Told::Lost && is_passed && (number.is_far || number.is_of_new_address) &&
        is_alone(plan, run, i)) {
      continue;
    }
    if (number.told == Number::Told::Lost && number.is_far && is_outlived(plan, run, i) &&
        (number.reason == GapReason::Leap || number.reason == GapReason::Overtaken)) {
      continue;
    }
    if (number.told == Number::Told::Lost && is_pushed_out(index, number)) continue;
    // What is set aside has a room of its own, which strangers share: the largest of them yields. A number may lose
    // some of its chunks.
    const bool was_full =
        (number.is_far || number.is_aside) && number.lost_handed - number.handed >= plan.options.room_packets / 4;
    if (number.told == Number::Told::Lost && was_full &&
        (number.reason == GapReason::Room ||
         (number.chunks > 1 && (number.reason == GapReason::Window || number.reason == GapReason::Overtaken)))) {
      continue;
    }
    if (was_in_time(plan, run, i, true)) describe("in time, and not delivered");
    if (number.told == Number::Told::Lost && number.reason == GapReason::Window && was_in_time(plan, run, i, false)) {
      describe("in time, and told as if it was not");
    }
  }
  if (untold_late >= 8 && told_late == 0) fail(index, fmt::format("run {}: nothing that came late was told", which));
  const bool was_told = told_conflicts != 0 || (hears_notices && channels_[index].conflicts != 0);
  if (untold_conflicts >= 3 && !was_told) fail(index, fmt::format("run {}: no conflict was told", which));
}

void Oracle::finish(const Receiver& receiver) {
  turn(receiver);
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const arbitrate::Account account = receiver.arbiter(i).total();
    if (account.packets.held != 0 || account.numbers.held != 0) fail(i, "something is held at the end");
    if (day_.channels[i].options.sequence_bits == 0) {
      if (channels_[i].numberless_at != channels_[i].numberless.size()) fail(i, "not everything was delivered");
      continue;
    }
    for (std::uint32_t run = 0; run < day_.runs[i].size(); ++run) check_run(i, run);
  }
}

}  // namespace stopbit::day
