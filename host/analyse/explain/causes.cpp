#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "host/analyse/explain/explain.hpp"
#include "host/analyse/guess/guess.hpp"
#include "host/analyse/guess/trial.hpp"

namespace stopbit::explain {
namespace {

/// A packet is an exception if at least this share of its neighbours decodes.
constexpr double kMost = 0.9;
/// A framing is believed if at least this share decodes.
constexpr double kMany = 0.6;
constexpr std::size_t kNamedIds = 5;

std::string of_text(std::uint64_t part, std::uint64_t all, std::string_view what) {
  return std::to_string(part) + " of " + std::to_string(all) + " " + std::string(what);
}

class Search {
 public:
  Search(const record::Schema& schema, const replay::Options& options, const Explanation& explanation,
         const guess::Sample& sample)
      : program_(schema.program()), options_(options), explanation_(explanation), sample_(sample) {}

  std::vector<Cause> run() {
    if (net::verdict_class(explanation_.verdict) == net::VerdictClass::Cut) {
      add("the capture was taken with a snap length shorter than this packet; capture whole packets",
          std::string(net::verdict_text(explanation_.verdict)));
      return std::move(causes_);
    }
    if (net::verdict_class(explanation_.verdict) == net::VerdictClass::Damaged) {
      add("the frame was damaged or fragmented in transit, or cut when the capture was written",
          std::string(net::verdict_text(explanation_.verdict)));
      return std::move(causes_);
    }
    replay::Options lenient = options_;
    lenient.strict = false;
    here_ = guess::try_options(program_, sample_, lenient);
    if (!explanation_.outcome.dropped && settings(lenient)) return std::move(causes_);
    if (explanation_.outcome.dropped) {
      other_framing();
      dropped();
      return std::move(causes_);
    }
    chunk();
    other_framing();
    missing_reset();
    if (explanation_.outcome.error == ErrorCode::D9) unknown_template();
    if (causes_.empty() || only_this_packet()) exception();
    return std::move(causes_);
  }

 private:
  void add(std::string text, std::string evidence) { causes_.push_back({std::move(text), std::move(evidence)}); }

  [[nodiscard]] bool only_this_packet() const { return sample_.packets.size() > 1 && here_.clean_share() >= kMost; }

  /// Whether the packet is refused by a setting only: strictness, or a limit.
  bool settings(replay::Options lenient) {
    if (options_.strict && here_.decodes(explanation_.packet)) {
      add("the sender breaks a rule that only --strict enforces", "without --strict the packet decodes");
      return true;
    }
    lenient.limits = {};
    lenient.limits.elements = lenient.limits.empty_elements = std::numeric_limits<std::uint32_t>::max();
    if (!guess::try_options(program_, sample_, lenient).decodes(explanation_.packet)) return false;
    if (here_.decodes(explanation_.packet)) return false;
    add("the message exceeds a limit of the engine: see the --max options",
        "with the highest limits the packet decodes");
    return true;
  }

  void dropped() {
    if (explanation_.error_packet == 0) return;
    add("an earlier error: see packet " + std::to_string(explanation_.error_packet) + " (--packet " +
            std::to_string(explanation_.error_packet) + ")",
        "after an error the dictionary of a channel cannot be trusted until the sender resets it");
  }

  /// A datagram that is a part of a larger message, and was read as if it were whole.
  void chunk() {
    if (options_.framing.kind == net::FramingKind::B3) return;
    const net::Framing b3 = net::parse_framing("b3").value();
    const net::Preamble preamble = net::read_preamble(b3, explanation_.datagram);
    if (preamble.error != ErrorCode::None || preamble.chunks < 2) return;
    add("the datagram is chunk " + std::to_string(preamble.chunk) + " of " + std::to_string(preamble.chunks) +
            " of a message: use --framing b3",
        "its first ten bytes are a preamble of b3 with a matching length");
  }

  void other_framing() {
    const guess::Guess found = guess::guess(program_, sample_);
    for (const guess::Candidate& candidate : found.ranked) {
      const guess::Trial& trial = candidate.trial;
      // A hit among neighbours that do not decode is chance, and any packet that stands for itself decodes after a
      // reset.
      if (!trial.decodes(explanation_.packet) || trial.clean <= here_.clean || trial.clean_share() < kMany) continue;
      const net::Framing& framing = trial.framing;
      const bool is_reset = framing.kind == options_.framing.kind && framing.skip == options_.framing.skip &&
                            framing.blocks == options_.framing.blocks;
      std::string text;
      if (is_reset) {
        text = "the reset rule is " + std::string(reset_rule_name(framing.reset)) + ", not " +
               std::string(reset_rule_name(options_.framing.reset));
        if (framing.name != options_.framing.name) text += ": use --framing " + framing.name;
      } else {
        text = "the framing is " + framing.name + ", not " + options_.framing.name;
      }
      std::string evidence = "with it this packet decodes";
      if (trial.datagrams > 1) {
        evidence += ", and so do " + of_text(trial.clean, trial.datagrams, "datagrams around it; without it ") +
                    of_text(here_.clean, here_.datagrams, "do");
      }
      add(std::move(text), std::move(evidence));
      return;
    }
  }

  /// Whether the packet decodes when nothing is remembered.
  void missing_reset() {
    if (options_.framing.reset == ResetRule::Packet) return;
    guess::Sample alone;
    alone.name = sample_.name;
    for (const guess::StoredPacket& packet : sample_.packets) {
      if (packet.number == explanation_.packet) alone.packets.push_back(packet);
    }
    net::Framing framing = options_.framing;
    framing.reset = ResetRule::Packet;
    if (alone.packets.empty() || explanation_.earlier_packets == 0) return;
    const guess::Trial trial = guess::try_framing(program_, alone, framing);
    if (!trial.decodes(explanation_.packet)) return;
    add("a reset of the dictionary is missing before this packet: packets were lost, or the sender resets by other "
        "means",
        "with an empty dictionary the packet decodes");
  }

  void unknown_template() {
    const std::uint32_t wanted = explanation_.outcome.template_id;
    std::vector<const Template*> known;
    for (const DispatchEntry& entry : program_.dispatch) {
      if (entry.table == 0) known.push_back(&program_.templates[entry.template_index]);
    }
    std::stable_sort(known.begin(), known.end(), [&](const Template* left, const Template* right) {
      return distance(left->id, wanted) < distance(right->id, wanted);
    });
    std::string nearest;
    for (std::size_t i = 0; i < std::min(known.size(), kNamedIds); ++i) {
      nearest +=
          (i == 0 ? "" : ", ") + std::to_string(known[i]->id) + " '" + std::string(program_.name(known[i]->name)) + "'";
    }
    std::string evidence = "of " + std::to_string(known.size()) + " known identifiers nearest to " +
                           std::to_string(wanted) + " are " + nearest;
    if (here_.unknown_ids.size() > 1) {
      evidence += "; " + std::to_string(here_.unknown_ids.size()) + " different unknown ones occur nearby";
    }
    const bool others_decode = here_.clean_share() >= kMost;
    add(others_decode ? "the template file lacks this template: the file is older than the feed"
                      : "the template file is of another feed or version, or the framing is wrong",
        std::move(evidence));
  }

  static std::uint64_t distance(std::uint32_t left, std::uint32_t right) {
    return left < right ? std::uint64_t{right} - left : std::uint64_t{left} - right;
  }

  /// Nothing else decodes it: say what is known.
  void exception() {
    if (!only_this_packet()) return;
    add("this packet is damaged, or its sender broke the rules or uses another version of this template",
        "with the same settings " + of_text(here_.clean, here_.datagrams, "datagrams around it decode") +
            "; no other framing or reset rule decodes this one");
  }

  const Program& program_;
  const replay::Options& options_;
  const Explanation& explanation_;
  const guess::Sample& sample_;
  guess::Trial here_;
  std::vector<Cause> causes_;
};

}  // namespace

std::vector<Cause> find_causes(const record::Schema& schema, const replay::Options& options,
                               const Explanation& explanation, const guess::Sample& sample) {
  return Search(schema, options, explanation, sample).run();
}

}  // namespace stopbit::explain
