#include "host/appliance/gap_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "decoder/record/text.hpp"
#include "host/os/disk/disk.hpp"
#include "host/os/readable.hpp"

namespace stopbit::appliance {
namespace {

constexpr std::size_t kMaxLineBytes = 4'096;
constexpr std::array<std::string_view, 8> kCauses = {"lost on both", "line down", "local drop",     "local stall",
                                                     "no room",      "late",      "appliance down", "switched"};

std::uint64_t number(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::string text(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool flag(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

/// With a comma before it; empty: nothing was replayed.
std::string replay_json(std::uint64_t replayed, std::uint64_t quota_used, std::uint64_t quota) {
  if (replayed == 0) return {};
  const std::string of_quota = quota == 0 ? "" : fmt::format(R"(,"quota_used":{},"quota":{})", quota_used, quota);
  return fmt::format(R"(,"replayed":{}{})", replayed, of_quota);
}

std::string books_json(const GapEntry::Books& books) {
  return fmt::format(
      R"("books":{{"hit":{},"stale":{},"refreshed":{},"by_snapshot":{},"cycles":{},"by_message":{},"open":{},"longest_ns":{}}})",
      books.hit, books.stale, books.refreshed, books.by_snapshot, books.cycles, books.by_message, books.open(),
      books.longest_ns);
}

/// Nothing if the numbers contradict each other.
std::optional<GapEntry::Books> books_of(const nlohmann::json& object) {
  constexpr std::uint64_t kMost = 0xFFFF'FFFF;
  const auto count = [&](const char* key) { return static_cast<std::uint32_t>(std::min(number(object, key), kMost)); };
  const GapEntry::Books books{.hit = count("hit"),
                              .stale = count("stale"),
                              .by_snapshot = count("by_snapshot"),
                              .by_message = count("by_message"),
                              .refreshed = count("refreshed"),
                              .cycles = count("cycles"),
                              .longest_ns = number(object, "longest_ns")};
  const std::uint64_t healed = std::uint64_t{books.by_snapshot} + books.by_message;
  if (books.hit == 0 || books.stale > books.hit || books.refreshed > books.hit || healed > books.hit)
    return std::nullopt;
  return books;
}

}  // namespace

std::string_view to_text(GapCause cause) noexcept {
  return kCauses[static_cast<std::size_t>(cause)];
}

bool add_late(GapEntry& gap, const LateEntry& late) {
  if (gap.channel != late.channel || gap.epoch != late.epoch || late.first != gap.first) return false;
  gap.came_late = late.count;
  gap.late_by_ns = late.late_by_ns;
  gap.replayed = late.replayed;
  gap.quota_used = late.quota_used;
  gap.quota = late.quota;
  if (gap.came_late >= gap.count) gap.cause = GapCause::Late;
  return true;
}

bool add_books(GapEntry& gap, const BooksEntry& entry) {
  if (gap.channel != entry.channel || gap.epoch != entry.epoch || entry.first != gap.first) return false;
  gap.books = entry.books;
  return true;
}

std::string books_text(const GapEntry& gap) {
  const GapEntry::Books& books = gap.books;
  if (books.hit == 0) return {};
  std::string out = fmt::format("{} {} in doubt", books.hit, books.hit == 1 ? "book" : "books");
  if (books.stale != 0) out += fmt::format(", {} stale", books.stale);
  if (books.refreshed != 0) out += fmt::format(", {} rebuilt from empty", books.refreshed);
  std::string healed;
  if (books.by_message != 0) healed = fmt::format("{} by messages", books.by_message);
  if (books.by_snapshot != 0) {
    healed += fmt::format("{}{} by a snapshot", healed.empty() ? "" : ", ", books.by_snapshot);
    healed += books.cycles == 0 ? " of the same cycle" : fmt::format(" of cycle {} after it", books.cycles);
  }
  if (!healed.empty()) out += "; right again: " + healed;
  if (books.open() == 0) return out + fmt::format(", within {}", os::duration_text(books.longest_ns));
  return out + fmt::format("; {} not after {}", books.open(), os::duration_text(books.longest_ns));
}

std::string replay_text(const GapEntry& gap) {
  if (gap.replayed == 0) return {};
  if (gap.quota == 0) return fmt::format("{} by replay", gap.replayed);
  return fmt::format("{} by replay (connection {} of {} a day)", gap.replayed, gap.quota_used, gap.quota);
}

std::string range_text(const GapEntry& gap) {
  return gap.count == 1 ? std::to_string(gap.first) : fmt::format("{}-{}", gap.first, gap.first + gap.count - 1);
}

std::string lines_text(const GapEntry& gap) {
  std::string out;
  for (std::size_t i = 0; i < gap.lines.size(); ++i) {
    const GapEntry::Had& had = gap.lines[i];
    if (!had.exists) continue;
    if (!out.empty()) out += ", ";
    out += i == 0 ? "A " : "B ";
    if (!had.heard) {
      out += "received nothing";
    } else {
      out += fmt::format("was at {}", had.last_sequence);
      if (!had.passed && had.silent_ns != 0) out += fmt::format(", silent for {}", os::duration_text(had.silent_ns));
    }
  }
  if (gap.stall_ns != 0) out += fmt::format("; the thread did not run for {}", os::duration_text(gap.stall_ns));
  return out;
}

std::string to_json(const GapEntry& gap) {
  std::string out =
      fmt::format(R"({{"time":"{}","time_ns":{},"channel":{},"feed":{},"first":{},"count":{},"epoch":{},"cause":"{}")",
                  os::time_text(gap.time_ns), gap.time_ns, record::json_string(gap.channel, false),
                  record::json_string(gap.feed, false), gap.first, gap.count, gap.epoch, to_text(gap.cause));
  for (std::size_t i = 0; i < gap.lines.size(); ++i) {
    const GapEntry::Had& had = gap.lines[i];
    if (!had.exists) continue;
    out += fmt::format(R"(,"{}":{{"heard":{},"passed":{},"last":{},"silent_ns":{}}})", i == 0 ? "a" : "b", had.heard,
                       had.passed, had.last_sequence, had.silent_ns);
  }
  if (gap.stall_ns != 0) out += fmt::format(R"(,"stall_ns":{})", gap.stall_ns);
  if (gap.came_late != 0) out += fmt::format(R"(,"came_late":{},"late_by_ns":{})", gap.came_late, gap.late_by_ns);
  out += replay_json(gap.replayed, gap.quota_used, gap.quota);
  if (gap.books.hit != 0) out += "," + books_json(gap.books);
  return out + "}";
}

std::string to_json(const BooksEntry& entry) {
  return fmt::format(R"({{"time_ns":{},"channel":{},"first":{},"epoch":{},{}}})", entry.time_ns,
                     record::json_string(entry.channel, false), entry.first, entry.epoch, books_json(entry.books));
}

std::string to_json(const LateEntry& late) {
  const std::string replayed = replay_json(late.replayed, late.quota_used, late.quota);
  return fmt::format(R"({{"late":true,"time_ns":{},"channel":{},"first":{},"count":{},"late_by_ns":{}{},"epoch":{}}})",
                     late.time_ns, record::json_string(late.channel, false), late.first, late.count, late.late_by_ns,
                     replayed, late.epoch);
}

ParsedLine parse_gap_line(std::string_view line) {
  ParsedLine parsed;
  if (line.size() > kMaxLineBytes) return parsed;
  const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object() || text(object, "channel").empty() || number(object, "time_ns") == 0) return parsed;
  if (flag(object, "late")) {
    parsed.late = {.time_ns = number(object, "time_ns"),
                   .channel = text(object, "channel"),
                   .first = number(object, "first"),
                   .count = number(object, "count"),
                   .late_by_ns = number(object, "late_by_ns"),
                   .replayed = number(object, "replayed"),
                   .epoch = static_cast<std::uint16_t>(number(object, "epoch")),
                   .quota_used = number(object, "quota_used"),
                   .quota = number(object, "quota")};
    return parsed;
  }
  const auto books = object.find("books");
  if (books != object.end() && books->is_object() && !object.contains("cause")) {
    if (const auto read = books_of(*books)) {
      parsed.books = {.time_ns = number(object, "time_ns"),
                      .channel = text(object, "channel"),
                      .first = number(object, "first"),
                      .epoch = static_cast<std::uint16_t>(number(object, "epoch")),
                      .books = *read};
    }
    return parsed;
  }
  const auto cause = std::find(kCauses.begin(), kCauses.end(), text(object, "cause"));
  if (cause == kCauses.end() || number(object, "count") == 0) return parsed;
  GapEntry& gap = parsed.gap.emplace();
  gap.time_ns = number(object, "time_ns");
  gap.channel = text(object, "channel");
  gap.feed = text(object, "feed");
  gap.first = number(object, "first");
  gap.count = number(object, "count");
  gap.epoch = static_cast<std::uint16_t>(number(object, "epoch"));
  gap.cause = static_cast<GapCause>(cause - kCauses.begin());
  gap.stall_ns = number(object, "stall_ns");
  for (std::size_t i = 0; i < gap.lines.size(); ++i) {
    const auto line_of = object.find(i == 0 ? "a" : "b");
    if (line_of == object.end() || !line_of->is_object()) continue;
    gap.lines[i] = {.exists = true,
                    .heard = flag(*line_of, "heard"),
                    .passed = flag(*line_of, "passed"),
                    .last_sequence = number(*line_of, "last"),
                    .silent_ns = number(*line_of, "silent_ns")};
  }
  return parsed;
}

GapHistory read_gaps(const std::string& folder, std::uint64_t since_ns, std::size_t most) {
  GapHistory history;
  std::error_code error;
  std::vector<std::string> files;
  for (const std::string& name : disk::names_in(folder, error)) {
    // The file of the previous day can hold a gap only if the gap began on that day.
    if (day_of_file(kGapFiles, name) && name >= day_file_name(kGapFiles, since_ns))
      files.push_back(folder + "/" + name);
  }
  if (error) {
    history.problem = "cannot read the folder '" + folder + "': " + error.message();
    return history;
  }
  std::sort(files.begin(), files.end());
  for (const std::string& path : files) {
    // Larger than any that is written here: something else, whose lines may be of any length.
    if (const auto size = std::filesystem::file_size(path, error); error || size > GapLog::kMaxFileBytes) {
      ++history.skipped;
      continue;
    }
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
      ParsedLine parsed = parse_gap_line(line);
      if (parsed.late) {
        // Of the newest gap that begins so.
        std::any_of(history.gaps.rbegin(), history.gaps.rend(),
                    [&](GapEntry& gap) { return add_late(gap, *parsed.late); });
      } else if (parsed.books) {
        std::any_of(history.gaps.rbegin(), history.gaps.rend(),
                    [&](GapEntry& gap) { return add_books(gap, *parsed.books); });
      } else if (!parsed.gap) {
        ++history.skipped;
      } else if (parsed.gap->time_ns >= since_ns) {
        history.gaps.push_back(std::move(*parsed.gap));
        if (history.gaps.size() > 2 * most)
          history.gaps.erase(history.gaps.begin(), history.gaps.end() - static_cast<std::ptrdiff_t>(most));
      }
    }
  }
  if (history.gaps.size() > most) {
    history.gaps.erase(history.gaps.begin(), history.gaps.end() - static_cast<std::ptrdiff_t>(most));
  }
  return history;
}

}  // namespace stopbit::appliance
