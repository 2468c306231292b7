#include "host/analyse/guess/guess.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "decoder/engine/trace.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/reader.hpp"
#include "decoder/record/views.hpp"
#include "decoder/select/make_engine.hpp"
#include "host/feed/packet/flow_table.hpp"
#include "host/replay/replay.hpp"

namespace stopbit::guess {
namespace {

/// Share that a framing must reach to be accepted.
constexpr double kFittingShare = 0.9;
constexpr std::uint64_t kNear = 1'000;
constexpr std::uint32_t kMsgSeqNum = 34;
/// More repeated values than this share of those that were sent, and the sender does not remember them.
constexpr double kForgetfulShare = 0.02;
constexpr std::size_t kMaxNamedIds = 5;
constexpr double kFewIds = 0.05;      ///< Share of the datagrams: this many different identifiers are no noise.
constexpr std::size_t kClosely = 12;  ///< Candidates that are searched for sequence numbers.

/// The datagrams of a sample, with what their messages say about themselves.
struct Numbered {
  std::span<const std::byte> payload;
  std::size_t group = 0;
  std::uint64_t packet = 0;
};

std::vector<Numbered> datagrams_of(const Sample& sample) {
  std::vector<Numbered> out;
  net::FlowTable flows(sample.groups());
  for (const StoredPacket& packet : sample.packets) {
    net::Datagram datagram;
    if (net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) != net::Verdict::Accepted)
      continue;
    const auto group = flows.channel(datagram.destination);
    if (group) out.push_back({datagram.payload, *group, packet.number});
  }
  return out;
}

/// As much of the sample as a trial has come to.
Sample part_of(const Sample& sample, const Trial& trial) {
  Sample part;
  part.name = sample.name;
  const std::size_t packets = std::min<std::size_t>(sample.packets.size(), trial.datagrams);
  part.packets.assign(sample.packets.begin(), trial.is_whole
                                                  ? sample.packets.end()
                                                  : sample.packets.begin() + static_cast<std::ptrdiff_t>(packets));
  return part;
}

/// MsgSeqNum of the first message of each packet that has one.
std::map<std::uint64_t, std::uint64_t> message_numbers(const Program& program, const Sample& sample,
                                                       const Trial& trial) {
  struct Find : record::Visitor {
    void field(const SchemaNode& node, const record::Value& value) {
      if (node.id == kMsgSeqNum && !is_found && !record::is_text(node.type)) {
        is_found = true;
        number = value.bits;
      }
    }
    bool is_found = false;
    std::uint64_t number = 0;
  };
  std::map<std::uint64_t, std::uint64_t> numbers;
  const record::Schema schema = record::Schema::make(program).value();
  record::Reader reader(schema);
  // The arrival time is free: it carries the packet's number to the record.
  Sample numbered = part_of(sample, trial);
  for (StoredPacket& packet : numbered.packets) packet.arrival_ns = packet.number;
  record::BufferSink sink(program.max_record_slots, [&](std::span<const record::Slot> slots) {
    const record::HeaderView header(slots[0]);
    if (header.is_event()) return;
    Find find;
    if (reader.read(slots, find) == record::ReadError::None && find.is_found) {
      numbers.emplace(header.arrival_ns(), find.number);
    }
  });
  replay::Options options;
  options.framing = trial.framing;
  options.channels = sample.groups();
  const auto engine = make_engine(program, replay::engine_options(options), EngineKind::Quick).engine;
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  sources.push_back(std::make_unique<SampleSource>(numbered));
  (void)replay::Replay(program, *engine, sink, std::move(options)).run(sources);
  return numbers;
}

Sequence sequence_of(const net::Framing& framing, const std::vector<Numbered>& datagrams,
                     const std::map<std::uint64_t, std::uint64_t>& numbers) {
  Sequence out;
  std::map<std::size_t, std::uint64_t> last;
  for (const Numbered& datagram : datagrams) {
    const net::Preamble preamble = net::read_preamble(framing, datagram.payload);
    if (preamble.error != ErrorCode::None || preamble.chunk > 1) continue;
    const auto own = numbers.find(datagram.packet);
    if (own != numbers.end() && framing.kind != net::FramingKind::T7) {  // T7 numbers the messages of each product
      ++out.messages;
      out.agreeing += own->second == preamble.sequence ? 1 : 0;
    }
    const auto [before, is_first] = last.emplace(datagram.group, preamble.sequence);
    if (is_first) continue;
    ++out.pairs;
    const std::uint64_t forward = preamble.sequence - before->second;
    const std::uint64_t backward = before->second - preamble.sequence;
    out.next += forward == 1 ? 1 : 0;
    out.repeated += forward == 0 ? 1 : 0;
    out.gaps += forward > 1 && forward <= kNear ? 1 : 0;
    out.back += backward > 0 && backward <= kNear ? 1 : 0;
    before->second = preamble.sequence;
  }
  return out;
}

/// The position of the sequence number in a preamble of `skip` bytes; nothing if there is none.
net::PreambleField find_sequence(std::uint32_t skip, const std::vector<Numbered>& datagrams,
                                 const std::map<std::uint64_t, std::uint64_t>& numbers) {
  net::PreambleField best;
  std::tuple<std::uint64_t, std::uint64_t, int> best_key;
  // A number of eight bytes is as well read by its low four, and two bytes may be the low half of four.
  for (const auto& [bytes, preference] : {std::pair<std::uint8_t, int>{4, 3}, {8, 2}, {2, 1}}) {
    for (std::uint32_t offset = 0; offset + bytes <= skip; ++offset) {
      for (const bool big_endian : {true, false}) {
        net::Framing framing;
        framing.skip = skip;
        framing.sequence = {offset, bytes, big_endian};
        const Sequence sequence = sequence_of(framing, datagrams, numbers);
        if (!sequence.is_plausible()) continue;
        // A few numbers agree by chance.
        const bool agrees = 10 * sequence.agreeing >= 9 * sequence.messages;
        const auto key = std::make_tuple(agrees ? sequence.agreeing : 0, sequence.next, preference);
        if (best.bytes != 0 && key <= best_key) continue;
        best = framing.sequence;
        best_key = key;
      }
    }
  }
  return best;
}

/// Where one datagram is not enough: the place in the preset with this preamble. The first byte of a small number shows
/// the byte order.
net::PreambleField untold_sequence(const net::Framing& framing, const std::vector<Numbered>& datagrams) {
  if (datagrams.size() != 1 || framing.reset != ResetRule::Packet || framing.blocks) return {};
  for (const net::FramingPreset& row : net::framing_presets()) {
    const net::Framing preset = net::parse_framing(row.name).value();
    if (preset.sequence.bytes == 0 || preset.skip != framing.skip) continue;
    net::Framing reversed = preset;
    reversed.sequence.big_endian = !preset.sequence.big_endian;
    const std::uint64_t number = net::read_preamble(preset, datagrams[0].payload).sequence;
    if (number <= net::read_preamble(reversed, datagrams[0].payload).sequence) return preset.sequence;
  }
  return {};
}

/// Counts, where nothing is ever reset, the copied values that a sender who remembers them would not have sent.
class RepeatCounter final : public trace::Observer {
 public:
  explicit RepeatCounter(const Program& program) : program_(program) {}

  void datagram_begins(const state::Dictionary& dictionary) noexcept override { dictionary_ = &dictionary; }
  void step(std::uint16_t address, std::uint32_t /*offset*/) noexcept override {
    const isa::Instruction& in = program_.code[address];
    counts_ = isa::operator_of(in.op) == isa::Operator::Cop && !isa::is_mantissa(isa::type_of(in.op)) &&
              !isa::is_string(isa::type_of(in.op)) && dictionary_->state(in.slot) == state::Dictionary::State::Assigned;
    if (counts_) previous_ = dictionary_->value(in.slot);
  }
  void value(trace::Source source, std::uint64_t value) noexcept override {
    if (!counts_ || source != trace::Source::Stream) return;
    ++sent_;
    repeated_ += value == previous_ ? 1 : 0;
  }

  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
  [[nodiscard]] std::uint64_t repeated() const noexcept { return repeated_; }

 private:
  const Program& program_;
  const state::Dictionary* dictionary_ = nullptr;
  bool counts_ = false;
  std::uint64_t previous_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t repeated_ = 0;
};

/// How specific a framing is: of two that decode the same, the one that expects more of the bytes is right.
int specificity(const Trial& trial) {
  if (trial.framing.kind != net::FramingKind::Fixed) return 2;
  return trial.framing.blocks ? 1 : 0;
}

double score(const Trial& trial) {
  const auto all = static_cast<double>(trial.datagrams + trial.incomplete);
  return all == 0 ? 0 : static_cast<double>(trial.clean) / all;
}

bool is_better(const Trial& left, const Trial& right) {
  if (score(left) != score(right)) return score(left) > score(right);
  if (left.strictly != right.strictly) return left.strictly > right.strictly;
  if (specificity(left) != specificity(right)) return specificity(left) > specificity(right);
  if (left.known_share() != right.known_share()) return left.known_share() > right.known_share();
  return left.messages > right.messages;
}

struct Trials {
  std::vector<Trial> useful;     ///< Those that decode something.
  std::optional<Trial> lacking;  ///< One with plausible messages of templates that are not there.
};

/// Nearly all datagrams begin with one of a few template identifiers, none of them known.
bool lacks_templates(const Trial& trial) {
  const std::uint64_t unknown = trial.errors[static_cast<std::size_t>(ErrorCode::D9)];
  const auto all = static_cast<double>(trial.datagrams);
  return trial.datagrams != 0 && static_cast<double>(unknown) >= kFittingShare * all &&
         static_cast<double>(trial.unknown_ids.size()) <= std::max(1.0, kFewIds * all);
}

/// The smaller, the more plausible: few identifiers, and a preamble that some exchange has.
std::pair<std::size_t, bool> lack_key(const Trial& trial) {
  const std::uint32_t skip = trial.framing.skip;
  return {trial.unknown_ids.size(), skip != 5 && skip != 4 && skip != 0};
}

Trials all_trials(const Program& program, const Sample& sample) {
  Trials trials;
  const auto attempt = [&](const net::Framing& framing) {
    Trial trial = try_framing(program, sample, framing);
    const bool is_clearer = !trials.lacking || lack_key(trial) < lack_key(*trials.lacking);
    if (trial.clean == 0 && lacks_templates(trial) && is_clearer) trials.lacking = trial;
    if (trial.clean != 0) trials.useful.push_back(std::move(trial));
  };
  for (const char* const preset : {"t7", "b3"}) attempt(net::parse_framing(preset).value());
  for (std::uint32_t skip = 0; skip <= kMaxSkip; ++skip) {
    for (const bool blocks : {false, true}) {
      for (const ResetRule rule : {ResetRule::Packet, ResetRule::Template, ResetRule::Never}) {
        attempt(fixed_framing(skip, {}, rule, blocks));
      }
    }
  }
  return trials;
}

bool differs_in_reset_only(const net::Framing& left, const net::Framing& right) {
  return left.kind == right.kind && left.skip == right.skip && left.blocks == right.blocks;
}

/// A choice among the reset rules under which everything decodes equally well; with the reason.
struct Choice {
  ResetRule rule = ResetRule::Packet;
  std::string why;
};

Choice choose_reset(const Program& program, const Sample& sample, const Trial& best,
                    const std::vector<const Trial*>& rivals) {
  if (best.framing.kind != net::FramingKind::Fixed) return {ResetRule::Packet, "part of this framing"};
  const auto find = [&](ResetRule rule) -> const Trial* {
    for (const Trial* trial : rivals) {
      if (trial->framing.reset == rule) return trial;
    }
    return nullptr;
  };
  const Trial* const packet = find(ResetRule::Packet);
  const Trial* const by_template = find(ResetRule::Template);
  const Trial* const never = find(ResetRule::Never);
  const Trial* const kept = by_template != nullptr ? by_template : never;
  if (packet == nullptr) {
    if (by_template != nullptr && by_template->reset_seen) {
      return {ResetRule::Template,
              "templates with the reset attribute occur; with a reset per packet fields are missing"};
    }
    return {kept != nullptr ? kept->framing.reset : best.framing.reset,
            "with a reset per packet fields are missing: values are carried from packet to packet"};
  }
  if (kept == nullptr) return {ResetRule::Packet, "without a reset per packet there are errors"};
  if (kept->values_hash == packet->values_hash) {
    // Then the rule of the preset with this preamble is as good as any.
    const bool is_none = best.framing.skip == 0 && best.framing.kind == net::FramingKind::Fixed && !best.framing.blocks;
    return {is_none ? ResetRule::Template : ResetRule::Packet, "every reset rule gives the same values here"};
  }

  // Both decode, to other values. A sender that keeps its dictionary does not send a copied value again.
  RepeatCounter counter(program);
  record::BufferSink sink(program.max_record_slots, [](std::span<const record::Slot>) {});
  replay::Options options;
  options.framing = kept->framing;
  options.channels = sample.groups();
  const auto engine = make_tracing_interpreter(program, replay::engine_options(options), counter);
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  sources.push_back(std::make_unique<SampleSource>(part_of(sample, *kept)));
  (void)replay::Replay(program, *engine, sink, std::move(options)).run(sources);
  const bool forgets = static_cast<double>(counter.repeated()) >
                       kForgetfulShare * static_cast<double>(std::max<std::uint64_t>(1, counter.sent()));
  const std::string evidence = std::to_string(counter.repeated()) + " of " + std::to_string(counter.sent()) +
                               " copied values that were sent repeat the one before";
  if (forgets) return {ResetRule::Packet, evidence + ": the sender does not remember them"};
  return {kept->framing.reset, evidence + ": the sender remembers them"};
}

std::string ids_text(const std::map<std::uint32_t, std::uint64_t>& ids) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
  order.reserve(ids.size());
  for (const auto& [id, count] : ids) order.emplace_back(count, id);
  std::sort(order.rbegin(), order.rend());
  std::string text;
  for (std::size_t i = 0; i < std::min(order.size(), kMaxNamedIds); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(order[i].second);
  }
  return order.size() > kMaxNamedIds ? text + ", ..." : text;
}

bool is_likely(const Trial& trial) {
  return 2 * trial.clean > trial.datagrams;
}

std::string why_nothing_fits(const Guess& guess, const std::optional<Trial>& lacking) {
  if (guess.packets == 0) return "the capture has no packets";
  if (guess.datagrams == 0) return "the capture has no UDP datagrams over IPv4";
  if (lacking && (guess.ranked.empty() || !is_likely(guess.ranked.front().trial))) {
    return "with a preamble of " + std::to_string(lacking->framing.skip) +
           (lacking->framing.skip == 1 ? " byte" : " bytes") +
           " the datagrams begin with template identifiers that the templates lack: " + ids_text(lacking->unknown_ids) +
           " (templates of another version or feed)";
  }
  if (guess.ranked.empty()) {
    return "no candidate decodes a single datagram: the templates are of another feed, the data is not FAST, or the "
           "preamble is longer than " +
           std::to_string(kMaxSkip) + " bytes";
  }
  const Trial& best = guess.ranked.front().trial;
  std::string text = "the best candidate, " + best.framing.name + ", decodes " + std::to_string(best.clean) + " of " +
                     std::to_string(best.datagrams) + " datagrams";
  const ErrorCode error = best.most_frequent_error();
  if (error == ErrorCode::None) return text;
  text += "; most of the others: " + std::string(code_meaning(error));
  if (error == ErrorCode::D9) text += " " + ids_text(best.unknown_ids);
  return text + " [" + std::string(code_text(error)) + "]: templates of another version or feed, or a coincidence";
}

}  // namespace

bool Sequence::is_plausible() const noexcept {
  if (messages != 0 && agreeing == messages) return true;
  const std::uint64_t near = next + repeated + gaps + back;
  return pairs != 0 && next + gaps > 0 && 10 * near >= 9 * pairs && 2 * (next + gaps) >= pairs - repeated;
}

Guess guess(const Program& program, const Sample& sample) {
  Guess out;
  const std::vector<Numbered> datagrams = datagrams_of(sample);
  out.packets = sample.packets.size();
  out.datagrams = datagrams.size();
  Trials found = all_trials(program, sample);
  std::vector<Trial>& trials = found.useful;
  std::stable_sort(trials.begin(), trials.end(), is_better);
  // Bytes of a preamble may pass for the begin of an overlong presence map. A strict decoder sees the difference.
  for (Trial& trial : trials) {
    if (score(trial) != score(trials.front())) continue;
    replay::Options strict;
    strict.framing = trial.framing;
    strict.strict = true;
    trial.strictly = try_options(program, sample, std::move(strict)).clean;
  }
  std::stable_sort(trials.begin(), trials.end(), is_better);
  for (Trial& trial : trials) out.ranked.push_back({.trial = std::move(trial), .sequence = {}, .remark = {}});
  if (out.ranked.empty()) {
    out.verdict = why_nothing_fits(out, found.lacking);
    return out;
  }

  // Among those that decode as much as the best with the same preamble, the reset rule is chosen.
  std::vector<const Trial*> rivals;
  for (const Candidate& candidate : out.ranked) {
    const bool is_equal = score(candidate.trial) == score(out.ranked.front().trial);
    if (is_equal && differs_in_reset_only(candidate.trial.framing, out.ranked.front().trial.framing)) {
      rivals.push_back(&candidate.trial);
    }
  }
  const Choice choice = choose_reset(program, sample, out.ranked.front().trial, rivals);
  const auto chosen = std::find_if(out.ranked.begin(), out.ranked.end(), [&](const Candidate& candidate) {
    return differs_in_reset_only(candidate.trial.framing, out.ranked.front().trial.framing) &&
           candidate.trial.framing.reset == choice.rule;
  });
  if (chosen != out.ranked.end()) std::rotate(out.ranked.begin(), chosen, chosen + 1);
  out.ranked.front().remark = choice.why;

  // The sequence numbers, for each preamble once.
  std::map<std::tuple<net::FramingKind, std::uint32_t, bool>, std::pair<net::PreambleField, Sequence>> known;
  for (std::size_t i = 0; i < std::min(out.ranked.size(), kClosely); ++i) {
    Candidate& candidate = out.ranked[i];
    net::Framing& framing = candidate.trial.framing;
    const auto [place, is_new] = known.try_emplace(std::make_tuple(framing.kind, framing.skip, framing.blocks));
    if (is_new) {
      const auto numbers = message_numbers(program, sample, candidate.trial);
      net::Framing with_sequence = framing;
      if (framing.kind == net::FramingKind::Fixed) {
        with_sequence.sequence = find_sequence(framing.skip, datagrams, numbers);
        if (with_sequence.sequence.bytes == 0) with_sequence.sequence = untold_sequence(framing, datagrams);
      }
      place->second.first = with_sequence.sequence;
      const bool has_sequence = framing.kind != net::FramingKind::Fixed || with_sequence.sequence.bytes != 0;
      if (has_sequence) place->second.second = sequence_of(with_sequence, datagrams, numbers);
    }
    candidate.sequence = place->second.second;
    if (framing.kind == net::FramingKind::Fixed) {
      framing = fixed_framing(framing.skip, place->second.first, framing.reset, framing.blocks);
    }
  }

  const Trial& best = out.ranked.front().trial;
  out.fits = score(best) >= kFittingShare;
  out.verdict = out.fits ? "framing " + best.framing.name +
                               ", dictionary reset: " + std::string(reset_rule_name(best.framing.reset))
                         : why_nothing_fits(out, found.lacking);
  return out;
}

}  // namespace stopbit::guess
