#include "host/cli/common/ring_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "decoder/record/views.hpp"
#include "host/cli/common/command.hpp"
#include "host/cli/common/signals.hpp"
#include "host/market/instrument/table.hpp"
#include "host/ring/reader.hpp"
#include "host/standby/merge.hpp"
#include "host/standby/same_record.hpp"
#include "microcode/base/hash.hpp"

namespace stopbit::tools {
namespace {

/// Where a record is: its number, its place among the records of the number, and which time it is that both came.
struct ComparedPlace {
  std::uint16_t channel = 0;
  std::uint32_t number = 0;
  std::uint32_t record = 0;
  std::uint32_t time = 0;
  auto operator<=>(const ComparedPlace&) const = default;
};

struct ComparedRecord {
  ComparedPlace place;
  std::uint64_t hash = 0;
  std::uint64_t arrival_ns = 0;
};

struct ComparedRecords {
  std::vector<ComparedRecord> all;
  std::map<ComparedPlace, std::uint64_t> hashes;
  std::map<std::uint16_t, std::vector<ComparedPlace>> order;  ///< By channel.
  std::uint64_t events = 0;

  /// All are numbered.
  void sort_in() {
    for (const ComparedRecord& record : all) {
      hashes.emplace(record.place, record.hash);
      order[record.place.channel].push_back(record.place);
    }
  }
};

/// Records of one place, in the order in which they came, of both rings.
using Repeats = std::array<std::vector<ComparedRecord*>, 2>;

/// Numbers come again, as in carousels and after a reset: records of one place are the same one in both rings if they
/// arrived within this time. Of several such, those with the same bytes.
constexpr std::uint64_t kSkewNs = standby::MergeOptions().skew_ns;

bool arrived_together(const ComparedRecord& left, const ComparedRecord& right) {
  return std::max(left.arrival_ns, right.arrival_ns) - std::min(left.arrival_ns, right.arrival_ns) <= kSkewNs;
}

/// Whether one of the next records has the bytes.
bool comes_soon(const std::vector<ComparedRecord*>& records, std::size_t from, const ComparedRecord& wanted) {
  constexpr std::size_t kMost = 64;
  for (std::size_t i = from; i < records.size() && i < from + kMost; ++i) {
    if (!arrived_together(*records[i], wanted)) return false;
    if (records[i]->hash == wanted.hash) return true;
  }
  return false;
}

void number_repeats(const Repeats& of) {
  const auto& [a, b] = of;
  std::uint32_t time = 0;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size(); ++time) {
    bool takes_a = i < a.size();
    bool takes_b = j < b.size();
    if (takes_a && takes_b && !(arrived_together(*a[i], *b[j]) && a[i]->hash == b[j]->hash)) {
      if (!arrived_together(*a[i], *b[j])) {
        (a[i]->arrival_ns < b[j]->arrival_ns ? takes_b : takes_a) = false;
      } else if (comes_soon(b, j + 1, *a[i])) {
        takes_a = false;
      } else if (comes_soon(a, i + 1, *b[j])) {
        takes_b = false;
      }
    }
    if (takes_a) a[i++]->place.time = time;
    if (takes_b) b[j++]->place.time = time;
  }
}

void number_repeats(ComparedRecords& first, ComparedRecords& second) {
  std::map<ComparedPlace, Repeats> places;
  for (ComparedRecord& record : first.all) places[record.place][0].push_back(&record);
  for (ComparedRecord& record : second.all) places[record.place][1].push_back(&record);
  for (const auto& [place, repeats] : places) number_repeats(repeats);
}

ring::Reader reader_to_compare(const std::string& name) {
  Result<ring::Reader> opened = ring::Reader::open(name);
  if (!opened) throw ToolError(kExitEnvironment, opened.message());
  return std::move(opened).value();
}

/// A market event has its instrument by row, and a delay that follows from its arrival: the instrument's key counts.
std::uint64_t compared_hash(record::Slot slot, const market::InstrumentView* instruments) {
  const auto row = static_cast<std::uint32_t>(slot.words[3]) & 0xFF'FFFF;
  slot.words[3] = 0;
  std::uint64_t hash = standby::hash_of({&slot, 1});
  market::InstrumentRow of{};
  if (row == 0 || instruments == nullptr || !instruments->read(row, of)) return hash ^ row;
  for (const char letter : market::key_of(of)) hash = fnv1a(hash, static_cast<unsigned char>(letter));
  return hash;
}

class ComparedRing {
 public:
  explicit ComparedRing(const std::string& name) : name_(name), reader_(reader_to_compare(name)) {}
  [[nodiscard]] std::uint64_t layout() const noexcept { return reader_.layout_hash(); }

  ComparedRecords read() {
    if (auto table = market::InstrumentView::open(name_)) instruments_.emplace(std::move(table).value());
    while (!stop_requested()) {
      switch (reader_.poll_batch()) {
        case ring::Poll::Record:
          for (const std::span<const record::Slot> record : reader_.records()) add(record);
          continue;
        case ring::Poll::Lost: last_ = {}; continue;
        case ring::Poll::Damaged: throw ToolError(kExitRejected, name_ + ": " + reader_.damage());
        case ring::Poll::Nothing: return std::move(content_);
      }
    }
    return std::move(content_);
  }

 private:
  void add(std::span<const record::Slot> record) {
    const record::HeaderView header(record[0]);
    if (header.is_event()) {
      ++content_.events;
      return;
    }
    std::optional<ComparedPlace>& last = last_[header.channel()];
    const bool is_next = last && last->number == header.sequence();
    ComparedPlace place{.channel = header.channel(), .number = header.sequence()};
    // After records that were not read the first one may be any of its packet.
    if (is_next) {
      place.record = last->record + 1;
    } else if (!last && !header.is_market_event()) {
      place.record = header.message_index();
    }
    last = place;
    const std::uint64_t hash = header.is_market_event()
                                   ? compared_hash(record[0], instruments_ ? &*instruments_ : nullptr)
                                   : standby::hash_of(record);
    content_.all.push_back({place, hash, header.arrival_ns()});
  }

  std::string name_;
  ring::Reader reader_;
  std::optional<market::InstrumentView> instruments_;
  ComparedRecords content_;
  std::map<std::uint16_t, std::optional<ComparedPlace>> last_;
};

/// Of a channel's records those from the first to the last that the other ring has, too.
std::pair<std::size_t, std::size_t> common_part(const std::vector<ComparedPlace>& order, const ComparedRecords& other) {
  const auto has = [&](const ComparedPlace& place) { return other.hashes.contains(place); };
  const auto first = std::find_if(order.begin(), order.end(), has);
  const auto last = std::find_if(order.rbegin(), order.rend(), has).base();
  if (first == order.end()) return {order.size(), order.size()};
  return {static_cast<std::size_t>(first - order.begin()), static_cast<std::size_t>(last - order.begin())};
}

void compare_from(const ComparedRecords& mine, const ComparedRecords& theirs, std::size_t which,
                  RingComparison& result) {
  constexpr std::size_t kShown = 20;
  std::size_t shown = 0;
  const auto show = [&](const ComparedPlace& place, std::string_view what) {
    if (++shown > kShown) return;
    result.places +=
        fmt::format("    channel {}, number {}, record {}: {}\n", place.channel, place.number, place.record, what);
  };
  for (const auto& [channel, order] : mine.order) {
    const auto [begin, end] = common_part(order, theirs);
    result.outside[which] += order.size() - (end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      const auto found = theirs.hashes.find(order[i]);
      if (found == theirs.hashes.end()) {
        ++result.only[which];
        show(order[i], which == 0 ? "in the first ring only" : "in the second ring only");
      } else if (which == 0) {
        const bool is_same = found->second == mine.hashes.at(order[i]);
        ++(is_same ? result.same : result.different);
        if (!is_same) show(order[i], "different bytes");
      }
    }
  }
}

}  // namespace

std::string RingComparison::text(const std::string& first, const std::string& second) const {
  return fmt::format(
      "{:>12}  records are the same\n{:>12}  differ\n{:>12}  in {} only\n{:>12}  in {} only\n"
      "{:>12}  of {} outside of what both have, {} of {}\n"
      "{:>12}  gaps, errors and other events of {}, {} of {}: not compared\n{}",
      same, different, only[0], first, only[1], second, outside[0], first, outside[1], second, events[0], first,
      events[1], second, places);
}

RingComparison compare_rings(const std::string& first, const std::string& second) {
  ComparedRing a(first);
  ComparedRing b(second);
  if (a.layout() != b.layout()) throw ToolError(kExitRejected, "the records of the rings have different layouts");
  ComparedRecords of_a = a.read();
  ComparedRecords of_b = b.read();
  if (stop_requested()) throw ToolError(interrupted_status(), "interrupted before all was read: nothing is compared");
  number_repeats(of_a, of_b);
  of_a.sort_in();
  of_b.sort_in();
  RingComparison result;
  result.events[0] = of_a.events;
  result.events[1] = of_b.events;
  compare_from(of_a, of_b, 0, result);
  compare_from(of_b, of_a, 1, result);
  return result;
}

}  // namespace stopbit::tools
