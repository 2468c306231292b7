#include "host/appliance/known_runs.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <utility>

#include "host/os/shm/segment.hpp"
#include "microcode/base/hash.hpp"

namespace stopbit::appliance {
namespace {

constexpr std::uint64_t kMagic = 0x3173'6E75'7262'7473;  ///< "stbruns1"
constexpr std::uint64_t kMostPlaces = 65'536;            ///< A channel's number has 16 bits.

/// The first line of the file.
struct alignas(64) Head {
  std::uint64_t magic = kMagic;
  std::uint64_t places = 0;
};
static_assert(sizeof(Head) == 64);

std::uint64_t check_of(std::uint64_t channel, std::uint64_t sender, std::uint64_t day, std::uint64_t last) noexcept {
  std::uint64_t sum = kMagic;
  for (const std::uint64_t word : {channel, sender, day, last}) sum = (sum ^ word) * 0x9E3779B97F4A7C15U;
  return sum;
}

using Found = std::vector<std::pair<std::uint64_t, KnownRuns::Known>>;

/// Returns every slot in use, with the hash of its channel. Returns nothing for a file that is new or that a power loss
/// left as zeros; fails if the file belongs to another program.
Result<Found> read(int file, std::size_t size, const std::string& path) {
  Found found;
  std::array<std::uint64_t, sizeof(Head) / sizeof(std::uint64_t)> words{};
  const ssize_t got = ::pread(file, words.data(), sizeof(words), 0);
  if (got < 0) return Failure{os::system_error("read", path)};
  if (std::all_of(words.begin(), words.end(), [](std::uint64_t word) { return word == 0; })) return found;
  if (got != static_cast<ssize_t>(sizeof(words)) || words[0] != kMagic) {
    return Failure{"'" + path + "' is not a file of last numbers, or one of another version; it stays as it is"};
  }
  const std::uint64_t places = std::min({words[1], (size - sizeof(Head)) / sizeof(KnownRun), kMostPlaces});
  for (std::uint64_t i = 0; i < places; ++i) {
    std::array<std::uint64_t, 7> place{};
    const auto at = static_cast<off_t>(sizeof(Head) + i * sizeof(KnownRun));
    if (::pread(file, place.data(), sizeof(place), at) != static_cast<ssize_t>(sizeof(place))) break;
    if (place[4] != check_of(place[0], place[1], place[2], place[3])) continue;
    const bool has_era = place[6] == check_of(place[0], place[5], place[2], place[3]);
    found.push_back(
        {place[0], {.run = {.sender = place[1], .day = place[2]}, .last = place[3], .era = has_era ? place[5] : 0}});
  }
  return found;
}

}  // namespace

void KnownRun::store(const RunName& run, std::uint64_t last_sequence, std::uint64_t books_era) noexcept {
  constexpr auto kPlain = std::memory_order_relaxed;
  sender.store(run.sender, kPlain);
  day.store(run.day, kPlain);
  last.store(last_sequence, kPlain);
  check.store(check_of(channel.load(kPlain), run.sender, run.day, last_sequence), kPlain);
  era.store(books_era, kPlain);
  era_check.store(check_of(channel.load(kPlain), books_era, run.day, last_sequence), kPlain);
}

Status KnownRuns::open(const std::string& folder, std::span<const std::string_view> channels, std::size_t spare) {
  const std::size_t places = channels.size() + spare;
  const std::string path = folder + "/runs";
  const os::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (!file.ok()) return Failure{os::system_error("open", path)};
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Failure{os::system_error("look at", path)};
  if (!S_ISREG(status.st_mode)) return Failure{"'" + path + "' is not a regular file"};
  const auto found = read(file.get(), static_cast<std::size_t>(status.st_size), path);
  if (!found) return Failure{found.message()};
  known_.resize(channels.size());
  for (const auto& place : found.value()) {
    const auto of =
        std::find_if(channels.begin(), channels.end(), [&](auto name) { return fnv1a(name) == place.first; });
    if (of != channels.end()) known_[static_cast<std::size_t>(of - channels.begin())] = place.second;
  }

  const std::size_t bytes = sizeof(Head) + places * sizeof(KnownRun);
  // Reserved, for a disk that is full would end the process at a store. Not cut before, so that a failure loses
  // nothing.
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (error != 0) {
    errno = error;
    return Failure{os::system_error("reserve space for", path)};
  }
  // Guarded: if the file is truncated later, a restart does not know the last numbers, and nothing else is lost.
  if (!mapping_.map(file, bytes, os::Mapping::Use::Write)) return Failure{os::system_error("map", path)};
  std::byte* const mapping = mapping_.data();
  new (mapping) Head{.magic = kMagic, .places = places};
  places_ = {reinterpret_cast<KnownRun*>(mapping + sizeof(Head)), places};
  for (std::size_t i = 0; i < places; ++i) {
    KnownRun* const place = new (&places_[i]) KnownRun;
    if (i >= channels.size()) continue;
    place->channel.store(fnv1a(channels[i]), std::memory_order_relaxed);
    if (known_[i]) place->store(known_[i]->run, known_[i]->last, known_[i]->era);
  }
  return Done{};
}

KnownRun* KnownRuns::take_place(std::size_t channel, std::string_view name) {
  if (channel >= places_.size()) return nullptr;
  KnownRun& place = places_[channel];
  place.check.store(0, std::memory_order_relaxed);
  place.channel.store(fnv1a(name), std::memory_order_relaxed);
  return &place;
}

}  // namespace stopbit::appliance
