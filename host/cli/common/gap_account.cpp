#include "host/cli/common/gap_account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "host/cli/common/text.hpp"
#include "host/os/readable.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kMostNumbers = 65'536;
constexpr std::size_t kMostTableLines = 200;
constexpr std::size_t kMostRemarkable = 8;

std::string range_of(std::uint64_t first, std::uint64_t last) {
  return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

}  // namespace

GapAccount::GapAccount(const appliance::GapEntry& gap, std::uint64_t around) : gap_(gap) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  first_ = gap.first - std::min(gap.first, around);
  const std::uint64_t end = gap.count > kMost - gap.first ? kMost : gap.first + gap.count - (gap.count != 0 ? 1 : 0);
  last_ = around > kMost - end ? kMost : end + around;
  const std::uint64_t numbers = last_ - first_;
  seen_.resize(numbers < kMostNumbers ? static_cast<std::size_t>(numbers) + 1 : kMostNumbers);
}

bool GapAccount::wants(std::uint64_t sequence, std::uint64_t time_ns) const noexcept {
  const std::uint64_t apart = time_ns > gap_.time_ns ? time_ns - gap_.time_ns : gap_.time_ns - time_ns;
  return sequence >= first_ && sequence <= last_ && (ignores_times_ || apart <= kAroundGapNs);
}

void GapAccount::note(std::uint32_t line, std::uint64_t sequence, std::uint64_t time_ns, std::uint64_t place) noexcept {
  ++packets_[line];
  const std::uint64_t at = sequence - first_;
  if (at >= seen_.size()) return;
  Seen& seen = seen_[static_cast<std::size_t>(at)][line];
  if (seen.time_ns == 0) seen = {.time_ns = time_ns, .place = place};
}

std::string GapAccount::comment_on(std::uint32_t line, std::uint64_t sequence, std::uint64_t time_ns) const {
  if (is_missing(sequence) && ignores_times_) {
    return fmt::format("stopbit: {} of the gap {} on line {}", sequence, appliance::range_text(gap_), kLineNames[line]);
  }
  if (is_missing(sequence)) {
    const bool is_late = time_ns > gap_.time_ns;
    return fmt::format("stopbit: {} of the gap {} on line {}: {} {} it was given up", sequence,
                       appliance::range_text(gap_), kLineNames[line],
                       os::delay_text(is_late ? time_ns - gap_.time_ns : gap_.time_ns - time_ns),
                       is_late ? "after" : "before");
  }
  const bool is_next = sequence == gap_.first + gap_.count;
  if (!is_next && sequence + 1 != gap_.first) return {};
  return fmt::format("stopbit: {} on line {}, the {} the gap {}", sequence, kLineNames[line],
                     is_next ? "first number after" : "last number before", appliance::range_text(gap_));
}

std::vector<std::uint64_t> GapAccount::remarkable() const {
  std::vector<std::uint64_t> places;
  const auto place_of = [](const Lines& lines) { return lines[0].place != 0 ? lines[0].place : lines[1].place; };
  const auto add = [&](std::uint64_t place) {
    if (place != 0 && places.size() < kMostRemarkable) places.push_back(place);  // both lines have the same bytes
  };
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  std::vector<std::uint64_t> own;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const std::uint64_t sequence = first_ + i;
    const std::uint64_t place = place_of(seen_[i]);
    if (place == 0) continue;
    if (sequence < gap_.first) before = place;
    if (is_missing(sequence) && own.size() < kMostRemarkable) own.push_back(place);
    if (sequence > gap_.first && !is_missing(sequence) && after == 0) after = place;
  }
  add(before);
  for (const std::uint64_t place : own) add(place);
  add(after);
  return places;
}

std::string GapAccount::conclusion() const {
  std::array<std::uint64_t, 2> recorded{};
  std::uint64_t on_none = 0;
  std::uint64_t latest_ns = 0;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (!is_missing(first_ + i)) continue;
    std::uint64_t first_ns = 0;
    for (std::size_t line = 0; line < 2; ++line) {
      const std::uint64_t time_ns = seen_[i][line].time_ns;
      if (time_ns == 0) continue;
      ++recorded[line];
      first_ns = first_ns == 0 ? time_ns : std::min(first_ns, time_ns);
    }
    if (first_ns == 0) ++on_none;
    latest_ns = std::max(latest_ns, first_ns);
  }
  if (is_empty()) {
    return "The recordings have no packet of this channel around the gap: nothing was recorded then, or the files are "
           "deleted.\n";
  }
  if (recorded[0] + recorded[1] == 0) {
    return "The recordings have none of the numbers: no line brought them to the recorder. They were lost before it: "
           "at the sender, in the network, or in the card or kernel of this machine, whose drops `stopbit stat` "
           "shows.\n";
  }
  std::string text;
  for (std::size_t line = 0; line < 2; ++line) {
    if (recorded[line] != 0)
      text += fmt::format("Line {} brought {} of the numbers. ", kLineNames[line], recorded[line]);
  }
  if (on_none != 0) text += fmt::format("{} came on no line. ", on_none);
  if (ignores_times_) {
    text += "The recordings have the times of a capture, so it is not known how late that was.";
  } else if (latest_ns > gap_.time_ns) {
    text += fmt::format(
        "The last of them came {} after the gap was given up: a window longer by that, or with more packets, would "
        "have waited for it.",
        os::delay_text(latest_ns - gap_.time_ns));
  } else if (on_none == 0) {
    text += "They arrived before the gap was given up, so they were on this machine: look at its drops and stalls.";
  }
  return text + "\n";
}

std::vector<GapAccount::Row> GapAccount::rows(std::size_t most, bool& is_whole) const {
  std::vector<Row> rows;
  is_whole = last_ - first_ < kMostNumbers;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const std::uint64_t sequence = first_ + i;
    const Row row = {.first = sequence,
                     .last = sequence,
                     .time_ns = {seen_[i][0].time_ns, seen_[i][1].time_ns},
                     .is_missing = is_missing(sequence)};
    const bool is_unseen = row.time_ns[0] + row.time_ns[1] == 0;
    if (!rows.empty() && is_unseen && rows.back().time_ns[0] + rows.back().time_ns[1] == 0 &&
        rows.back().is_missing == row.is_missing) {
      rows.back().last = sequence;
    } else if (rows.size() == most) {
      is_whole = false;
      return rows;
    } else {
      rows.push_back(row);
    }
  }
  return rows;
}

std::string GapAccount::table() const {
  std::string text = fmt::format("{:>25}  {:<27}  line B\n", "number", "line A");
  bool is_whole = true;
  for (const Row& row : rows(kMostTableLines, is_whole)) {
    text += fmt::format("{:>25}", range_of(row.first, row.last));
    for (std::size_t line = 0; line < 2; ++line) {
      const std::uint64_t time_ns = row.time_ns[line];
      text += fmt::format("  {:<27}", !gap_.lines[line].exists ? "" : time_ns == 0 ? "-" : os::time_text(time_ns));
    }
    if (row.is_missing) text += "  missing";
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
  if (!is_whole) text += fmt::format("{:>25}\n", "...");
  return text;
}

std::string GapAccount::head() const {
  std::string text = fmt::format("Gap {} of channel {}, {} {}\n", appliance::range_text(gap_), plain(gap_.channel),
                                 gap_.count, gap_.count == 1 ? "number" : "numbers");
  text += fmt::format("Given up {}; feed {}, epoch {}\n", os::time_text(gap_.time_ns), plain(gap_.feed), gap_.epoch);
  text += fmt::format("Cause: {}: {}\n", appliance::to_text(gap_.cause), appliance::lines_text(gap_));
  if (gap_.came_late != 0) {
    text +=
        fmt::format("{} of the numbers arrived up to {} late\n", gap_.came_late, os::duration_text(gap_.late_by_ns));
  }
  if (const std::string books = appliance::books_text(gap_); !books.empty()) text += "Books: " + books + "\n";
  return text;
}

}  // namespace stopbit::tools
