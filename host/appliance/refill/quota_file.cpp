#include "host/appliance/refill/quota_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "microcode/base/hash.hpp"

namespace stopbit::appliance {
namespace {

constexpr std::uint64_t kMagic = 0x3174'6f75'7162'7473;  ///< "stbquot1"

/// An entry of the file.
struct Entry {
  std::uint64_t key = 0;
  std::int64_t day = 0;
  std::uint64_t used = 0;  ///< Connections.
  std::uint64_t check = 0;
  [[nodiscard]] bool is_empty() const noexcept { return key == 0 && day == 0 && used == 0 && check == 0; }
};
static_assert(sizeof(Entry) == 32);

std::uint64_t check_of(const Entry& entry) noexcept {
  std::uint64_t sum = kMagic;
  for (const std::uint64_t word : {entry.key, static_cast<std::uint64_t>(entry.day), entry.used}) {
    sum = (sum ^ word) * 0x9E37'79B9'7F4A'7C15U;
  }
  return sum;
}

off_t offset_of(std::size_t place) noexcept {
  return static_cast<off_t>((place + 1) * sizeof(Entry));
}

bool write_at(int file, const Entry& entry, off_t offset) noexcept {
  ssize_t written = 0;
  do {
    written = ::pwrite(file, &entry, sizeof(entry), offset);
  } while (written < 0 && errno == EINTR);
  return written == static_cast<ssize_t>(sizeof(entry));
}

}  // namespace

Status QuotaFile::open(const std::string& folder, std::span<const std::string> services) {
  const std::string path = folder + "/replay-quota";
  os::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640));
  if (!file.ok()) return Failure{os::system_error("open", path)};
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Failure{os::system_error("look at", path)};
  if (!S_ISREG(status.st_mode)) return Failure{"'" + path + "' is not a regular file"};
  Entry head;
  const ssize_t got = ::pread(file.get(), &head, sizeof(head), 0);
  if (got < 0) return Failure{os::system_error("read", path)};
  const bool is_new = status.st_size == 0;
  if (!is_new && (got != static_cast<ssize_t>(sizeof(head)) || head.key != kMagic)) {
    return Failure{"'" + path + "' is not a file of replay quotas, or one of another version; it stays as it is"};
  }
  std::vector<Entry> entries;
  bool has_damage = false;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  const std::size_t whole = is_new ? 0 : std::min(bytes / sizeof(Entry) - 1, kMostPlaces);
  if (bytes % sizeof(Entry) != 0) has_damage = true;
  for (std::size_t i = 0; i < whole; ++i) {
    Entry& entry = entries.emplace_back();
    if (::pread(file.get(), &entry, sizeof(entry), offset_of(i)) != static_cast<ssize_t>(sizeof(entry))) {
      return Failure{os::system_error("read", path)};
    }
    has_damage = has_damage || (!entry.is_empty() && entry.check != check_of(entry));
  }
  places_.clear();
  for (const std::string& service : services) {
    Place& place = places_.emplace_back();
    place.key = fnv1a(service);
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
      return entry.key == place.key && entry.check == check_of(entry);
    });
    place.at = static_cast<std::size_t>(found - entries.begin());
    if (found != entries.end()) {
      place.used = {.day = found->day, .connections = static_cast<std::uint32_t>(found->used), .is_damaged = false};
      continue;
    }
    // It may be the one whose entry is damaged.
    place.used.is_damaged = has_damage;
    if (entries.size() == kMostPlaces) return Failure{"'" + path + "' has too many services; remove it"};
    entries.push_back({.key = place.key});
  }
  file_ = std::move(file);
  if (is_new && !write_at(file_.get(), {.key = kMagic}, 0)) return Failure{os::system_error("write", path)};
  return Done{};
}

bool QuotaFile::store(std::size_t service, const Used& used) noexcept {
  if (service >= places_.size()) return false;
  Place& place = places_[service];
  Entry entry{.key = place.key, .day = used.day, .used = used.connections};
  entry.check = check_of(entry);
  if (!write_at(file_.get(), entry, offset_of(place.at)) || ::fdatasync(file_.get()) != 0) return false;
  place.used = used;
  return true;
}

}  // namespace stopbit::appliance
