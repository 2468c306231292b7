#include "host/ring/sign.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "host/ring/name.hpp"

namespace stopbit::ring {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSignMagic = 0x4E474953'50545353;  // "SSTPSIGN"
constexpr std::uint32_t kSignVersion = 1;
constexpr mode_t kMode = 0644;  // how a reader does is no secret, and others of the machine look after it
constexpr std::string_view kBy = ".by-";
constexpr std::string_view kNew = ".new";
constexpr int kTries = 8;

struct Sign {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t pid = 0;
  std::array<char, 72> name{};  // ends with 0
  std::uint64_t delivered = 0;
  std::uint64_t lost_records = 0;
  std::uint64_t lost_slots = 0;
};
static_assert(sizeof(Sign) == 112);

/// The rule of names of rings.
bool is_name(std::string_view name) {
  return name.find('/') == std::string_view::npos && name.find(kBy) == std::string_view::npos && path_of(name).ok();
}

/// What stands in a file, and whether somebody holds it; nothing if it is no sign.
std::optional<SeenReader> read_sign(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.ok() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  Sign sign;
  if (::pread(file.get(), &sign, sizeof(sign), 0) != static_cast<ssize_t>(sizeof(sign))) return std::nullopt;
  if (sign.magic != kSignMagic || sign.version != kSignVersion || sign.name.back() != 0) return std::nullopt;
  SeenReader seen{.name = sign.name.data(),
                  .pid = sign.pid,
                  .is_running = is_locked(file),
                  .delivered = sign.delivered,
                  .lost_records = sign.lost_records,
                  .lost_slots = sign.lost_slots};
  if (!is_name(seen.name)) return std::nullopt;
  return seen;
}

/// What a reader that died while it made its sign has left: NAME-PID.new, which nobody holds.
bool is_unfinished(const fs::path& path, std::size_t beginning) {
  const std::string file = path.filename().string();
  const std::string_view rest = std::string_view(file).substr(beginning);
  if (!rest.ends_with(kNew) || rest.find_first_not_of("0123456789") != rest.size() - kNew.size()) return false;
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  return opened.ok() && ::fstat(opened.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         static_cast<std::size_t>(status.st_size) <= sizeof(Sign) && !is_locked(opened);
}

void remove_dead(const std::string& beginning) {
  const fs::path begins(beginning);
  const std::string file_begins = begins.filename().string();
  std::error_code error;
  std::vector<fs::path> dead;
  for (fs::directory_iterator at(begins.parent_path(), error), end; at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with(file_begins)) continue;
    const auto seen = read_sign(at->path());
    if (seen ? !seen->is_running : is_unfinished(at->path(), file_begins.size())) dead.push_back(at->path());
  }
  for (const fs::path& path : dead) fs::remove(path, error);  // those of others stay
}

void store(std::uint64_t& word, std::uint64_t value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

}  // namespace

Result<ReaderSign> ReaderSign::create(std::string_view ring, std::string_view name) {
  const Result<std::string> ring_path = path_of(ring);
  if (!ring_path) return Failure{ring_path.message()};
  if (!is_name(name)) {
    return Failure{"'" + std::string(name) +
                   "' is no name of a reader: up to 64 letters, digits, '.', '_' and '-', not beginning with '.' or "
                   "'-', without '.by-'"};
  }
  const std::string beginning = ring_path.value() + std::string(kBy) + std::string(name) + '-';
  const std::string path = beginning + std::to_string(::getpid());
  const std::string made = path + std::string(kNew);
  for (int tries = 1;; ++tries) {
    remove_dead(beginning);
    ReaderSign sign;
    sign.file_ = Descriptor(::open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode));
    if (!sign.file_.ok()) return Failure{system_error("make", made)};
    sign.path_ = made;  // goes with the object
    (void)::fchmod(sign.file_.get(), kMode);
    if (!lock(sign.file_) || !sign.mapping_.create(sign.file_, sizeof(Sign))) {
      return Failure{system_error("make", made)};
    }
    auto& content = *reinterpret_cast<Sign*>(sign.mapping_.data());
    std::copy(name.begin(), name.end(), content.name.begin());
    content.version = kSignVersion;
    content.pid = static_cast<std::uint32_t>(::getpid());
    content.magic = kSignMagic;
    // Not over another of this process and name: each is to be seen.
    if (::link(made.c_str(), path.c_str()) == 0) {
      ::unlink(made.c_str());
      sign.path_ = path;
      return sign;
    }
    // Before it had its lock the new file looked like that of a dead reader, and another of our name took it away.
    if (errno != ENOENT || tries == kTries) return Failure{system_error("name", path)};
  }
}

ReaderSign::ReaderSign(ReaderSign&& other) noexcept
    : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)), mapping_(std::move(other.mapping_)) {}

ReaderSign::~ReaderSign() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

void ReaderSign::show(const Reader& reader) noexcept {
  auto& content = *reinterpret_cast<Sign*>(mapping_.data());
  store(content.delivered, reader.delivered());
  store(content.lost_records, reader.total_lost_records());
  store(content.lost_slots, reader.total_lost());
}

std::vector<SeenReader> find_readers(std::span<const std::string> rings) {
  std::map<std::string, std::map<std::string, std::size_t>> folders;  // folder, file of a ring, its index
  for (std::size_t i = 0; i < rings.size(); ++i) {
    const Result<std::string> path = path_of(rings[i]);
    if (!path) continue;
    const fs::path ring(path.value());
    folders[ring.parent_path().string()].emplace(ring.filename().string(), i);
  }
  std::vector<SeenReader> found;
  for (const auto& [folder, names] : folders) {
    std::error_code error;
    // An iterator that fails is at its end.
    for (fs::directory_iterator at(folder.empty() ? "." : folder, error), end; at != end; at.increment(error)) {
      const std::string file = at->path().filename().string();
      if (file.ends_with(kNew)) continue;
      const std::size_t by = file.rfind(kBy);
      const auto ring = by == std::string::npos ? names.end() : names.find(file.substr(0, by));
      if (ring == names.end()) continue;
      auto seen = read_sign(at->path());
      if (!seen || file.compare(by + kBy.size(), seen->name.size(), seen->name) != 0) continue;
      seen->ring = ring->second;
      found.push_back(std::move(*seen));
      if (found.size() == kMaxSeenReaders) break;
    }
  }
  std::sort(found.begin(), found.end(), [](const SeenReader& left, const SeenReader& right) {
    return std::tie(left.ring, left.name, left.pid) < std::tie(right.ring, right.name, right.pid);
  });
  if (found.size() > kMaxSeenReaders) found.resize(kMaxSeenReaders);
  return found;
}

}  // namespace stopbit::ring
