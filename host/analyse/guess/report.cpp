#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/analyse/guess/guess.hpp"

namespace stopbit::guess {
namespace {

std::string percent(std::uint64_t part, std::uint64_t all) {
  if (all == 0) return "-";
  // Never 100 % unless it is all of them.
  const std::uint64_t tenths = part * 1'000 / all;
  return fmt::format("{}.{} %", tenths / 10, tenths % 10);
}

std::string sequence_text(const Sequence& sequence) {
  if (sequence.pairs == 0 && sequence.messages == 0) return "-";
  std::string text;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(sequence.next, "next");
  add(sequence.gaps, "gaps");
  add(sequence.repeated, "repeated");
  add(sequence.back, "back");
  add(sequence.pairs - sequence.next - sequence.gaps - sequence.repeated - sequence.back, "wild");
  return text.empty() ? "-" : text;
}

}  // namespace

std::string to_text(const Guess& guess, const std::string& capture, const std::string& program_options,
                    std::size_t rows) {
  std::string out = fmt::format("{}: {} read, {} UDP datagram{}\n", capture,
                                guess.packets == 1 ? "1 packet" : fmt::format("{} packets", guess.packets),
                                guess.datagrams, guess.datagrams == 1 ? "" : "s");
  if (!guess.ranked.empty()) {
    std::size_t width = 7;
    const std::size_t shown = std::min(rows, guess.ranked.size());
    for (std::size_t i = 0; i < shown; ++i) width = std::max(width, guess.ranked[i].trial.framing.name.size());
    width = std::min<std::size_t>(width, 44);
    out += fmt::format("\n{:<{}}  {:<8}  {:>9}  {:>9}  {:>9}  {}\n", "framing", width, "reset", "decoded", "fields",
                       "known ids", "sequence");
    for (std::size_t i = 0; i < shown; ++i) {
      const Candidate& candidate = guess.ranked[i];
      const Trial& trial = candidate.trial;
      const std::uint64_t unknown = trial.errors[static_cast<std::size_t>(ErrorCode::D9)];
      out += fmt::format("{:<{}}  {:<8}  {:>9}  {:>9}  {:>9}  {}\n", trial.framing.name, width,
                         reset_rule_name(trial.framing.reset), percent(trial.clean, trial.datagrams + trial.incomplete),
                         trial.fields, percent(trial.messages, trial.messages + unknown),
                         sequence_text(candidate.sequence));
    }
    if (shown < guess.ranked.size())
      out += fmt::format("... and {} more that decode something\n", guess.ranked.size() - shown);
  }
  if (!guess.fits) return out + fmt::format("\nNothing fits: {}.\n", guess.verdict);
  const Candidate& best = guess.ranked.front();
  const Trial& trial = best.trial;
  out += fmt::format("\nIt is {}.\n", guess.verdict);
  out += fmt::format("  {} of {} datagrams decode, to {} messages with {} fields\n", trial.clean, trial.datagrams,
                     trial.messages, trial.fields);
  if (!best.remark.empty()) out += fmt::format("  reset: {}\n", best.remark);
  if (best.sequence.pairs != 0) {
    out += fmt::format("  sequence, from one datagram of a group to the next: {}\n", sequence_text(best.sequence));
  }
  if (best.sequence.messages != 0) {
    out += fmt::format("  sequence equals MsgSeqNum (tag 34) of the message in {} of {} datagrams\n",
                       best.sequence.agreeing, best.sequence.messages);
  }
  const ErrorCode error = trial.most_frequent_error();
  if (error != ErrorCode::None) {
    out += fmt::format("  most frequent error: {} [{}]\n", code_meaning(error), code_text(error));
  }
  return out + fmt::format("\n  stopbit replay {} {} --framing {}\n", capture, program_options, trial.framing.name);
}

std::string to_json(const Guess& guess, const std::string& capture) {
  using Json = nlohmann::ordered_json;
  Json out = {{"capture", capture}, {"packets", guess.packets}, {"datagrams", guess.datagrams}};
  out["fits"] = guess.fits;
  out["verdict"] = guess.verdict;
  if (guess.fits) {
    out["framing"] = guess.ranked.front().trial.framing.name;
    out["reset"] = reset_rule_name(guess.ranked.front().trial.framing.reset);
  }
  Json candidates = Json::array();
  for (const Candidate& candidate : guess.ranked) {
    const Trial& trial = candidate.trial;
    Json item = {{"framing", trial.framing.name}, {"reset", reset_rule_name(trial.framing.reset)}};
    item["datagrams"] = trial.datagrams;
    item["decoded"] = trial.clean;
    item["dropped"] = trial.dropped;
    item["incomplete"] = trial.incomplete;
    item["messages"] = trial.messages;
    item["fields"] = trial.fields;
    Json errors = Json::object();
    for (std::size_t i = 0; i < trial.errors.size(); ++i) {
      if (trial.errors[i] != 0) errors[std::string(code_text(static_cast<ErrorCode>(i)))] = trial.errors[i];
    }
    item["errors"] = std::move(errors);
    const Sequence& sequence = candidate.sequence;
    item["sequence"] = {{"pairs", sequence.pairs},       {"next", sequence.next}, {"gaps", sequence.gaps},
                        {"repeated", sequence.repeated}, {"back", sequence.back}, {"messages", sequence.messages},
                        {"agreeing", sequence.agreeing}};
    if (!candidate.remark.empty()) item["remark"] = candidate.remark;
    candidates.push_back(std::move(item));
  }
  out["candidates"] = std::move(candidates);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stopbit::guess
