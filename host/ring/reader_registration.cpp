#include "host/ring/reader_registration.hpp"

#include <fcntl.h>
#include <sys/random.h>
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

#include "host/os/shm/folder.hpp"
#include "host/os/shm/name.hpp"
#include "host/os/shm/publish.hpp"

namespace stopbit::ring {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSignMagic = 0x4E474953'50545353;  // "SSTPSIGN"
constexpr std::uint32_t kSignVersion = 1;
constexpr std::string_view kBy = ".by-";
constexpr std::string_view kNew = ".new-";
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
  return name.find('/') == std::string_view::npos && name.find(kBy) == std::string_view::npos && os::path_of(name).ok();
}

/// Reads a registration file, and whether its reader holds it; nothing if it is not one.
std::optional<SeenReader> read_sign(int file) {
  Sign sign;
  if (::pread(file, &sign, sizeof(sign), 0) != static_cast<ssize_t>(sizeof(sign))) return std::nullopt;
  if (sign.magic != kSignMagic || sign.version != kSignVersion || sign.name.back() != 0) return std::nullopt;
  SeenReader seen{.name = sign.name.data(),
                  .pid = sign.pid,
                  .is_running = false,
                  .delivered = sign.delivered,
                  .lost_records = sign.lost_records,
                  .lost_slots = sign.lost_slots};
  if (!is_name(seen.name)) return std::nullopt;
  return seen;
}

/// A file of a folder of signs, as it is.
struct Looked {
  std::optional<SeenReader> seen;  ///< Nothing: it is no sign.
  uid_t user = 0;
  bool is_held = false;
  bool is_file = false;
  std::size_t bytes = 0;
};

Looked look_at(const fs::path& path) {
  Looked looked;
  const os::Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.ok() || ::fstat(file.get(), &status) != 0) return looked;
  looked.user = status.st_uid;
  looked.is_file = S_ISREG(status.st_mode);
  if (!looked.is_file) return looked;
  looked.bytes = static_cast<std::size_t>(status.st_size);
  looked.is_held = is_locked(file);
  looked.seen = read_sign(file.get());
  if (looked.seen) looked.seen->is_running = looked.is_held;
  return looked;
}

/// The folder in which the signs of a ring's readers lie.
fs::path signs_of(const fs::path& ring) {
  const fs::path beside = ring.has_parent_path() ? ring.parent_path() : fs::path(".");
  const fs::path own = beside / os::kSignsFolder;
  struct stat status {};
  struct stat parent {};
  const bool is_one = ::lstat(own.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                      ::stat(beside.c_str(), &parent) == 0 && status.st_uid == parent.st_uid &&
                      (status.st_mode & S_ISVTX) != 0;
  return is_one ? own : beside;
}

/// Calls for the files in a folder, at most kMaxLookedAt.
template <class Take>
void for_files(const fs::path& folder, Take take) {
  std::error_code error;
  std::size_t looked_at = 0;
  // An iterator that fails is at its end.
  for (fs::directory_iterator at(folder, error), end; at != end && looked_at < kMaxLookedAt;
       at.increment(error), ++looked_at) {
    take(at->path());
  }
}

/// Removes what readers of this name that died have left: signs that no process holds, and files that were to be one.
void remove_dead_signs(const fs::path& folder, const std::string& begins) {
  std::vector<fs::path> dead;
  for_files(folder, [&](const fs::path& path) {
    const std::string file = path.filename().string();
    if (!file.starts_with(begins)) return;
    const Looked looked = look_at(path);
    const bool is_unfinished =
        looked.is_file && looked.bytes <= sizeof(Sign) && file.find(kNew, begins.size()) != std::string::npos;
    if ((looked.seen || is_unfinished) && !looked.is_held) dead.push_back(path);
  });
  std::error_code error;
  for (const fs::path& path : dead) fs::remove(path, error);  // those of others stay
}

/// Where the ring lies that readers of this process would read; where it would be made if there is none yet.
fs::path place_of(std::string_view ring, const std::string& own) {
  const Result<os::FoundFile> found = os::open_accepted(ring, "", "ring");
  return found ? found.value().path : own;
}

void store(std::uint64_t& word, std::uint64_t value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

}  // namespace

Result<ReaderRegistration> ReaderRegistration::create(std::string_view ring, std::string_view name) {
  const Result<std::string> ring_path = os::path_of(ring);
  if (!ring_path) return Failure{ring_path.message()};
  if (!is_name(name)) {
    return Failure{"'" + std::string(name) +
                   "' is not a valid name of a reader: up to 64 letters, digits, '.', '_' and '-', not beginning with "
                   "'.' or '-', without '.by-'"};
  }
  const fs::path path_of_ring = place_of(ring, ring_path.value());
  const fs::path folder = signs_of(path_of_ring);
  const std::string begins = path_of_ring.filename().string() + std::string(kBy) + std::string(name) + '-';
  remove_dead_signs(folder, begins);
  std::string path = (folder / (begins + std::to_string(::getpid()))).string();
  os::TemporaryFile made(path);
  ReaderRegistration sign;
  sign.file_ = made.create();
  if (!sign.file_.ok()) return Failure{made.problem()};
  if (!lock(sign.file_)) return Failure{os::system_error("lock", path)};
  if (!sign.mapping_.create(sign.file_, sizeof(Sign))) return Failure{os::no_memory(sign.file_, path, sizeof(Sign))};
  auto& content = *reinterpret_cast<Sign*>(sign.mapping_.data());
  std::copy(name.begin(), name.end(), content.name.begin());
  content.version = kSignVersion;
  content.pid = static_cast<std::uint32_t>(::getpid());
  content.magic = kSignMagic;
  // Not over another of this process and name: each is to be seen. A stranger may have taken the name, and the writer
  // may remove the stranger's file at any moment.
  for (int tries = 1; !made.link_to(sign.file_, path); ++tries) {
    const int problem = errno;
    struct stat status {};
    const bool is_taken_by_us = ::lstat(path.c_str(), &status) == 0 && status.st_uid == ::geteuid();
    if (problem != EEXIST || is_taken_by_us || tries == kTries) {
      errno = problem;
      return Failure{os::system_error("name", path)};
    }
    std::uint32_t number = 0;
    if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) return Failure{os::system_error("name", path)};
    path = (folder / (begins + std::to_string(::getpid()) + '-' + std::to_string(number))).string();
  }
  sign.path_ = path;
  return sign;
}

ReaderRegistration::ReaderRegistration(ReaderRegistration&& other) noexcept
    : maker_(other.maker_),
      path_(std::exchange(other.path_, {})),
      file_(std::move(other.file_)),
      mapping_(std::move(other.mapping_)) {}

ReaderRegistration::~ReaderRegistration() {
  if (!path_.empty() && maker_ == ::getpid()) ::unlink(path_.c_str());  // not in a child of fork
}

void ReaderRegistration::show(const Reader& reader) noexcept {
  auto& content = *reinterpret_cast<Sign*>(mapping_.data());
  store(content.delivered, reader.delivered());
  store(content.lost_records, reader.total_lost_records());
  store(content.lost_slots, reader.total_lost());
}

std::vector<SeenReader> find_readers(std::span<const std::string> rings) {
  std::map<fs::path, std::map<std::string, std::size_t>> folders;  // folder of signs, file of a ring, its index
  for (std::size_t i = 0; i < rings.size(); ++i) {
    const Result<std::string> path = os::path_of(rings[i]);
    if (!path) continue;
    const fs::path ring(path.value());
    folders[signs_of(ring)].emplace(ring.filename().string(), i);
  }
  std::vector<SeenReader> found;
  for (const auto& [folder, names] : folders) {
    struct stat status {};
    const bool is_ours =
        folder.filename() == os::kSignsFolder && ::lstat(folder.c_str(), &status) == 0 && status.st_uid == ::geteuid();
    std::map<uid_t, std::size_t> of_user;
    std::vector<fs::path> rubbish;
    for_files(folder, [&, &names = names](const fs::path& path) {
      const std::string file = path.filename().string();
      const std::size_t by = file.rfind(kBy);
      const auto ring = by == std::string::npos ? names.end() : names.find(file.substr(0, by));
      if (ring == names.end() && !is_ours) return;
      Looked looked = look_at(path);
      const bool is_sign = looked.seen && by != std::string::npos &&
                           file.compare(by + kBy.size(), looked.seen->name.size(), looked.seen->name) == 0;
      const bool is_surplus = is_sign && ++of_user[looked.user] > kMaxSeenOfUser;
      if (!is_sign || is_surplus) {
        rubbish.push_back(path);
      } else if (ring != names.end() && found.size() < kMaxSeenReaders) {
        looked.seen->ring = ring->second;
        found.push_back(std::move(*looked.seen));
      }
    });
    std::error_code error;
    for (std::size_t i = 0; is_ours && i < rubbish.size(); ++i) fs::remove(rubbish[i], error);
  }
  std::sort(found.begin(), found.end(), [](const SeenReader& left, const SeenReader& right) {
    return std::tie(left.ring, left.name, left.pid) < std::tie(right.ring, right.name, right.pid);
  });
  return found;
}

}  // namespace stopbit::ring
