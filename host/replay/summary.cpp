#include "host/replay/summary.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "host/os/readable.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::replay {
namespace {

constexpr std::size_t kGroupsShown = 20;

using os::print;

/// Lines of a number and what it counts: numbers end below each other.
class Table {
 public:
  void add(std::uint64_t number, std::string what) { rows_.emplace_back(os::thousands(number), std::move(what)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  [[nodiscard]] std::string text(std::string_view title) const {
    std::size_t width = 12;
    for (const auto& [number, what] : rows_) width = std::max(width, number.size());
    std::string result = title.empty() ? "" : "\n" + std::string(title) + "\n";
    for (const auto& [number, what] : rows_)
      result += "  " + std::string(width - number.size(), ' ') + number + "  " + what + "\n";
    return result;
  }

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

std::string rate_text(std::uint64_t count, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(count) / seconds : 0;
  return rate < 1e18 ? os::thousands(static_cast<std::uint64_t>(rate)) + " per second" : "";
}

std::string with_rate(const std::string& text, std::uint64_t count, const Summary& summary, SummaryStyle style) {
  return style.timing && summary.seconds > 0 ? text + ", " + rate_text(count, summary.seconds) : text;
}

std::string plural(std::uint64_t count, std::string_view one) {
  return os::thousands(count) + " " + std::string(one) + (count == 1 ? "" : "s");
}

std::string head_line(const Summary& summary, SummaryStyle style) {
  std::string line = "Replayed " + plural(summary.captures, "capture");
  if (style.timing) line += print(" in %.3f s", summary.seconds);
  const std::uint64_t span_ns = summary.last_arrival_ns - summary.first_arrival_ns;
  if (summary.packets != 0 && summary.last_arrival_ns >= summary.first_arrival_ns) {
    line += print(", %.3f s of market time", static_cast<double>(span_ns) / 1e9);
  }
  if (summary.stopped) line += "; stopped before the end";
  if (summary.limited) line += "; stopped at the limit of " + plural(summary.datagrams, "datagram");
  return line + "\n\n";
}

Table totals(const Summary& summary, SummaryStyle style) {
  Table table;
  table.add(summary.packets, "packets in the capture" + std::string(summary.captures == 1 ? "" : "s") + " (" +
                                 byte_text(summary.packet_bytes) + ")");
  const std::uint64_t decoded = summary.decoded();
  const std::string of_which = decoded == summary.datagrams
                                   ? "datagrams decoded (" + byte_text(summary.datagram_bytes) + ")"
                               : decoded == 0 ? "datagrams (" + byte_text(summary.datagram_bytes) + "), none decoded"
                                              : "datagrams (" + byte_text(summary.datagram_bytes) + "), of which " +
                                                    os::thousands(decoded) + " were decoded completely";
  table.add(summary.datagrams, with_rate(of_which, summary.datagrams, summary, style));
  table.add(summary.messages, with_rate("messages", summary.messages, summary, style));
  table.add(summary.fields, with_rate("field values", summary.fields, summary, style));
  return table;
}

Table templates(const Summary& summary, const Program& program) {
  std::vector<std::size_t> order(std::min(summary.templates.size(), program.templates.size()));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return summary.templates[left] > summary.templates[right];
  });
  Table table;
  for (const std::size_t index : order) {
    if (summary.templates[index] == 0) break;
    const Template& found = program.templates[index];
    table.add(summary.templates[index], printable(program.name(found.name)) + " (id " + std::to_string(found.id) + ")");
  }
  return table;
}

std::string missing_text(const NumberCount& numbers) {
  if (numbers.missing == 0) return {};
  return ", " + plural(numbers.missing, "number") + " missing in " + plural(numbers.gaps, "gap");
}

Table groups(const Summary& summary) {
  Table table;
  for (std::size_t i = 0; i < std::min(summary.groups.size(), kGroupsShown); ++i) {
    table.add(summary.groups[i].datagrams, net::to_text(summary.groups[i].group) + " (channel " + std::to_string(i) +
                                               ")" + missing_text(summary.groups[i].numbers));
  }
  std::uint64_t rest = 0;
  for (std::size_t i = kGroupsShown; i < summary.groups.size(); ++i) rest += summary.groups[i].datagrams;
  if (rest != 0) table.add(rest, plural(summary.groups.size() - kGroupsShown, "more group"));
  return table;
}

/// Empty if all numbers came.
Table numbers(const Summary& summary) {
  const NumberCount all = summary.numbers();
  Table table;
  if (all.missing == 0) return table;
  table.add(all.missing, "missing, in " + plural(all.gaps, "gap"));
  if (all.late != 0) table.add(all.late, "arrived late, after higher ones");
  if (all.again != 0) table.add(all.again, "repeated");
  return table;
}

/// Account of a channel: its packets, then its numbers, then the contribution of each line.
Table channel(const ChannelCount& channel) {
  constexpr std::array<const char*, 2> kLines = {"A", "B"};
  constexpr double kMost = 0.999;
  Table table;
  const arbitrate::Packets& packets = channel.account.packets;
  for (std::size_t i = 0; i < channel.lines.size(); ++i) {
    if (channel.has_line[i]) table.add(packets.received[i], std::string("packets on line ") + kLines[i]);
  }
  table.add(packets.delivered, "delivered");
  table.add(packets.duplicate, "duplicates");
  if (packets.late != 0) {
    table.add(packets.late,
              "late: their number had been given up or overtaken" +
                  (channel.late_by.count() == 0 ? std::string()
                                                : print("; %.1f %% of them by ", kMost * 100) +
                                                      os::delay_text(channel.late_by.at_most(kMost)) + " at most"));
  }
  if (packets.malformed != 0) table.add(packets.malformed, "malformed");
  if (packets.incomplete != 0) table.add(packets.incomplete, "chunks of messages that were given up");
  table.add(channel.account.numbers.lost, "sequence numbers missing, in " + plural(channel.gaps, "gap"));
  if (channel.runs > 1) {
    table.add(channel.runs, "runs of sequence numbers" +
                                (channel.resets == 0 ? std::string() : ", " + plural(channel.resets, "reset")));
  }
  if (!channel.has_line[0] || !channel.has_line[1]) return table;
  for (std::size_t i = 0; i < channel.lines.size(); ++i) {
    const arbitrate::LineStats& line = channel.lines[i];
    table.add(line.missing, std::string("missing on line ") + kLines[i] + ", of which " + os::thousands(line.saved) +
                                " arrived on line " + kLines[1 - i]);
    if (line.behind.count() != 0) {
      table.add(line.behind.count(), std::string("arrived second on line ") + kLines[i] +
                                         print("; %.1f %% within ", kMost * 100) +
                                         os::delay_text(line.behind.at_most(kMost)));
    }
  }
  return table;
}

/// Packets skipped in good order.
Table left_aside(const Summary& summary) {
  Table table;
  if (summary.filtered != 0) table.add(summary.filtered, "of groups not selected");
  for (std::size_t i = 0; i < net::kVerdicts; ++i) {
    const auto verdict = static_cast<net::Verdict>(i);
    if (summary.verdicts[i] != 0 && net::verdict_class(verdict) == net::VerdictClass::Other) {
      table.add(summary.verdicts[i], std::string(net::verdict_text(verdict)));
    }
  }
  return table;
}

Table errors(const Summary& summary) {
  Table table;
  for (std::size_t i = 0; i < summary.errors.size(); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    if (summary.errors[i] != 0) {
      table.add(summary.errors[i], std::string(code_text(code)) + ": " + std::string(code_meaning(code)));
    }
  }
  if (summary.dropped != 0)
    table.add(summary.dropped, "datagrams dropped: after an error their channel waits for a reset");
  for (std::size_t i = 0; i < net::kVerdicts; ++i) {
    const auto verdict = static_cast<net::Verdict>(i);
    const net::VerdictClass kind = net::verdict_class(verdict);
    if (summary.verdicts[i] != 0 && (kind == net::VerdictClass::Damaged || kind == net::VerdictClass::Cut)) {
      table.add(summary.verdicts[i], std::string(net::verdict_text(verdict)));
    }
  }
  if (summary.incomplete != 0) table.add(summary.incomplete, "messages with a missing chunk");
  if (summary.oversized != 0) table.add(summary.oversized, "messages in chunks, longer than a datagram may be");
  if (summary.ungrouped != 0) table.add(summary.ungrouped, "datagrams of groups beyond the maximum number of groups");
  if (summary.faults != 0)
    table.add(summary.faults, "capture" + std::string(summary.faults == 1 ? " that breaks" : "s that break") + " off");
  return table;
}

}  // namespace

std::uint64_t Summary::decode_errors() const noexcept {
  return std::accumulate(errors.begin(), errors.end(), std::uint64_t{0});
}

std::uint64_t Summary::decoded() const noexcept {
  // The first error ends a datagram, so that each has one at most.
  return datagrams - std::min(datagrams, decode_errors() + dropped);
}

NumberCount Summary::numbers() const noexcept {
  NumberCount all;
  for (const GroupCount& group : groups) all += group.numbers;
  return all;
}

std::uint64_t Summary::error_count() const noexcept {
  std::uint64_t count = decode_errors() + dropped + incomplete + oversized + ungrouped + faults;
  for (std::size_t i = 0; i < net::kVerdicts; ++i) {
    const net::VerdictClass kind = net::verdict_class(static_cast<net::Verdict>(i));
    if (kind == net::VerdictClass::Damaged || kind == net::VerdictClass::Cut) count += verdicts[i];
  }
  return count;
}

void CaptureOrder::begin(std::string_view name, std::uint64_t arrival_ns) noexcept {
  if (arrival_ns >= last_.arrival_ns || !begins_.name.empty()) return;
  begins_ = {name, arrival_ns};
  before_ = last_;
}

void CaptureOrder::end(std::string_view name, std::uint64_t arrival_ns) noexcept {
  if (arrival_ns >= last_.arrival_ns) last_ = {name, arrival_ns};
}

std::string CaptureOrder::disorder() const {
  if (begins_.name.empty()) return {};
  return "warning: " + std::string(begins_.name) + " begins at " + os::time_text(begins_.arrival_ns) + ", before " +
         std::string(before_.name) + " ends at " + os::time_text(before_.arrival_ns) +
         ": what comes late is taken for repeated or lost. Give captures in the order of their times, or merge them "
         "with --merge.";
}

std::string byte_text(std::uint64_t bytes) {
  if (bytes < 1000) return plural(bytes, "byte");
  double value = static_cast<double>(bytes) / 1000;
  constexpr std::array<const char*, 4> kUnits = {"kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return print("%.1f %s", value, kUnits[unit]);
}

std::string to_text(const Summary& summary, const Program& program, SummaryStyle style) {
  std::string text = head_line(summary, style) + totals(summary, style).text("");
  const auto section = [&](const Table& table, std::string_view title) {
    if (!table.empty()) text += table.text(title);
  };
  section(templates(summary, program), "Messages by template");
  section(groups(summary), "Datagrams by group");
  section(numbers(summary), "Sequence numbers");
  for (const ChannelCount& count : summary.channels) {
    section(channel(count), print("Channel %d, ", int{count.number}) + printable(count.name) +
                                (count.ordered ? " (ordered)" : " (fast)"));
  }
  section(left_aside(summary), "Packets skipped");
  section(errors(summary), "Errors");
  if (!summary.session.empty()) text += "\nSession control messages (definitions are reported, never compiled)\n";
  for (const std::string& message : summary.session) text += "  " + message + "\n";
  if (!summary.disorder.empty()) text += "\n" + printable_lines(summary.disorder) + "\n";
  if (!summary.problems.empty()) text += "\n";
  for (const std::string& problem : summary.problems) text += printable_lines(problem) + "\n";
  if (summary.problems_unnamed != 0) text += "... and " + os::thousands(summary.problems_unnamed) + " more\n";
  return text;
}

}  // namespace stopbit::replay
