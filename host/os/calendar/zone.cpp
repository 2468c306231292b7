#include "host/os/calendar/zone.hpp"

#include <algorithm>

#include "host/os/clock.hpp"
#include "host/os/shm/read_file.hpp"

namespace stopbit::os {
namespace {

constexpr std::size_t kMaxFileBytes = 1U << 20;
constexpr std::size_t kHeaderBytes = 44;
constexpr std::size_t kTypeBytes = 6;
constexpr std::int64_t kMaxOffsetS = 26 * 3'600;

std::int64_t number(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (const std::byte one : bytes) value = value << 8 | std::to_integer<std::uint64_t>(one);
  const std::size_t unused = 64 - 8 * bytes.size();
  return static_cast<std::int64_t>(value << unused) >> unused;
}

/// The six counts of a header, in the file's order: UT flags, standard flags, leap seconds, changes, types, characters.
struct Header {
  std::uint32_t ut_flags, standard_flags, leap_seconds, changes, types, characters;
};

/// Nothing if the bytes begin with none.
Result<Header> read_header(std::span<const std::byte> bytes) {
  constexpr std::string_view kMagic = "TZif";
  const bool is_header =
      bytes.size() >= kHeaderBytes && std::equal(kMagic.begin(), kMagic.end(), bytes.begin(),
                                                 [](char c, std::byte b) { return std::to_integer<char>(b) == c; });
  if (!is_header) return Failure{"it is no file of the tz database"};
  const auto count = [&](std::size_t i) { return static_cast<std::uint32_t>(number(bytes.subspan(20 + 4 * i, 4))); };
  return Header{count(0), count(1), count(2), count(3), count(4), count(5)};
}

/// Of what follows a header, with times of that many bytes.
std::uint64_t data_bytes(const Header& header, std::uint64_t time_bytes) {
  return header.changes * (time_bytes + 1) + std::uint64_t{header.types} * kTypeBytes + header.characters +
         header.leap_seconds * (time_bytes + 4) + header.standard_flags + header.ut_flags;
}

}  // namespace

Result<Zone> Zone::parse(std::span<const std::byte> bytes) {
  const Failure short_file{"the file of the time zone is cut"};
  constexpr std::uint64_t kTimeBytes = 8;
  Result<Header> header = read_header(bytes);
  if (!header) return header.failure();
  // The first part has times of 32 bits; the second one all of them.
  const std::uint64_t skipped = kHeaderBytes + data_bytes(header.value(), 4);
  if (std::to_integer<char>(bytes[4]) < '2') return Failure{"the file of the time zone is of version 1"};
  if (skipped > bytes.size()) return short_file;
  bytes = bytes.subspan(static_cast<std::size_t>(skipped));
  header = read_header(bytes);
  if (!header) return header.failure();
  const Header& counts = header.value();
  bytes = bytes.subspan(kHeaderBytes);
  if (data_bytes(counts, kTimeBytes) > bytes.size()) return short_file;
  if (counts.types == 0) return Failure{"the time zone has no offset"};
  const auto times = bytes.first(std::size_t{counts.changes} * kTimeBytes);
  const auto types_of = bytes.subspan(times.size(), counts.changes);
  const auto types = bytes.subspan(times.size() + types_of.size(), std::size_t{counts.types} * kTypeBytes);
  Zone zone;
  zone.first_offset_s_ = number(types.first(4));
  for (std::size_t i = 0; i < counts.changes; ++i) {
    const auto type = std::to_integer<std::size_t>(types_of[i]);
    if (type >= counts.types) return Failure{"the time zone has a change to an unknown offset"};
    zone.changes_.push_back({.from_s = number(times.subspan(i * kTimeBytes, kTimeBytes)),
                             .offset_s = number(types.subspan(type * kTypeBytes, 4))});
    if (i != 0 && zone.changes_[i].from_s <= zone.changes_[i - 1].from_s) {
      return Failure{"the changes of the time zone are not in order"};
    }
  }
  // What follows is the rule as text, such as CET-1CEST,M3.5.0,M10.5.0/3; without a comma it has one offset.
  const auto rule = bytes.subspan(static_cast<std::size_t>(data_bytes(counts, kTimeBytes)));
  zone.has_rule_ = std::find(rule.begin(), rule.end(), std::byte{','}) != rule.end();
  const auto is_wild = [](std::int64_t offset) { return offset > kMaxOffsetS || offset < -kMaxOffsetS; };
  if (is_wild(zone.first_offset_s_) || std::any_of(zone.changes_.begin(), zone.changes_.end(),
                                                   [&](const Change& change) { return is_wild(change.offset_s); })) {
    return Failure{"the time zone has an offset of more than 26 hours"};
  }
  return zone;
}

Result<Zone> Zone::load(const std::string& name) {
  const bool is_name = !name.empty() && name.front() != '/' && name.find("..") == std::string::npos;
  if (!is_name) return Failure{"'" + name + "' is no time zone, such as \"Europe/Berlin\""};
  const auto text = read_file("/usr/share/zoneinfo/" + name, kMaxFileBytes);
  if (!text) return Failure{"there is no time zone '" + name + "' on this machine; the package tzdata has them"};
  Result<Zone> zone = parse(std::as_bytes(std::span(text.value())));
  if (!zone) return Failure{"time zone '" + name + "': " + zone.message()};
  if (zone.value().is_left_to_rule(static_cast<std::int64_t>(wall_clock_ns() / 1'000'000'000))) {
    return Failure{
        "time zone '" + name +
        "': its file lists no changes to and from summer time up to now; that of Debian's package tzdata does"};
  }
  return zone;
}

std::int64_t Zone::offset_at(std::int64_t utc_s) const noexcept {
  const auto after = std::upper_bound(changes_.begin(), changes_.end(), utc_s,
                                      [](std::int64_t time, const Change& change) { return time < change.from_s; });
  return after == changes_.begin() ? first_offset_s_ : std::prev(after)->offset_s;
}

std::int64_t Zone::utc_of(std::int64_t local_s) const noexcept {
  // Offsets a day before and a day after: one of them holds.
  constexpr std::int64_t kDay = 86'400;
  const std::int64_t before = local_s - offset_at(local_s - kDay);
  const std::int64_t after = local_s - offset_at(local_s + kDay);
  if (before + offset_at(before) == local_s) return before;
  return after + offset_at(after) == local_s ? after : before;
}

}  // namespace stopbit::os
