// Frames that a switch, or any station of the segment, can send to a card that receives groups: the station reads
// nothing outside, answers only what asked, and never sends more than it may.
//
// Input: a byte for the random delays, then frames: ten milliseconds to the next one (a byte), its length (two bytes,
// little-endian), its bytes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "host/ports/igmp/station.hpp"
#include "tests/fuzz/checks.hpp"

namespace {

using namespace stopbit;
using ingest::Station;

constexpr ingest::StationAddress kOwn{.mac = {2, 0, 0, 0, 0, 9}, .address = 0x0A090002};
constexpr std::uint32_t kGroups = 3;
constexpr std::uint64_t kTickNs = 10'000'000;
constexpr std::uint64_t kSecondNs = 1'000'000'000;

bool is_inside(std::span<const std::byte> part, std::span<const std::byte> whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<ingest::Membership> memberships;
  for (std::uint32_t i = 0; i < kGroups; ++i) {
    memberships.push_back({{0xEF010101 + i, 30'000}, i == 1 ? std::nullopt : std::optional<std::uint32_t>(0x0A000001)});
  }
  Station station(memberships, kOwn, std::mt19937_64(data[0]));
  std::uint64_t now = kSecondNs;
  station.join(now);
  std::uint64_t frames = 0;
  const std::uint64_t begin = now;
  const auto look = [&] {
    const auto frame = station.next(now);
    if (frame.empty()) return false;
    ++frames;
    fuzz::require(frame.size() >= ingest::kArpBytes && frame.size() <= 1'514, "what is sent is a frame");
    for (std::size_t i = 0; i < kOwn.mac.size(); ++i) {
      fuzz::require(std::to_integer<std::uint8_t>(frame[6 + i]) == kOwn.mac[i], "it is from us");
    }
    return true;
  };
  for (std::size_t at = 1; at + 3 <= size;) {
    now += data[at] * kTickNs;
    const std::size_t bytes = std::min<std::size_t>(data[at + 1] | std::size_t{data[at + 2]} << 8, size - at - 3);
    at += 3;
    // Of its own memory, so that a byte outside is seen.
    const std::vector<std::byte> frame(reinterpret_cast<const std::byte*>(data) + at,
                                       reinterpret_cast<const std::byte*>(data) + at + bytes);
    at += bytes;
    const ingest::StationFrame parsed = ingest::parse_station_frame(frame, kOwn);
    fuzz::require(!(parsed.query && parsed.request), "a frame is one thing");
    if (parsed.query) {
      fuzz::require(is_inside(parsed.query->sources, frame) && parsed.query->sources.size() % 4 == 0,
                    "sources are inside the frame");
      fuzz::require(parsed.query->most_ns <= 3'175 * kSecondNs, "a time has a limit");
      fuzz::require(parsed.query->group == 0 || parsed.query->group >> 28 == 0xE, "a group is one");
    }
    if (parsed.request) fuzz::require((parsed.request->mac[0] & 1) == 0, "the answer goes to one station");
    const Station::Counts before = station.counts();
    station.take(frame, now);
    const Station::Counts& after = station.counts();
    fuzz::require(
        after.queries + after.requests + after.refused == before.queries + before.requests + before.refused + 1,
        "a frame is counted once");
    (void)look();
  }
  // Joins, repeats, and five answers a second of each kind: all, each group, ARP. In version 2 an answer about all is
  // one frame for each group.
  const std::uint64_t seconds = (now - begin) / kSecondNs + 1;
  const std::uint64_t most = (5 * seconds + 2) * (kGroups + 2) + (8 + seconds / 60 + 1) * kGroups;
  fuzz::require(frames <= most, "no flood leaves");
  station.leave(now);
  unsigned last = 0;
  while (look()) fuzz::require(++last <= 7 * kGroups + 1, "leaving ends");
  station.take({}, now);
  now += 1'000 * kSecondNs;
  fuzz::require(!look(), "nothing is sent after that");
  return 0;
}
