#include "host/os/shm/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <utility>

#include "host/os/shm/name.hpp"

namespace stopbit::os {
namespace {

constexpr std::string_view kShared = "/dev/shm";
constexpr std::string_view kBegin = "/dev/shm/stopbit-";
constexpr const char* kServices = "/run/stopbit";
constexpr std::string_view kServiceUser = "stopbit:";
constexpr mode_t kMode = 0755;
constexpr mode_t kSignsMode = 01777;
constexpr mode_t kOthersWrite = 022;
constexpr std::size_t kMaxServices = 256;
constexpr std::size_t kMaxHints = 1'024;  ///< Entries of /dev/shm that are looked at for a message.
constexpr uid_t kNobody = std::numeric_limits<uid_t>::max();

std::atomic<uid_t> named_user = kNobody;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): of the process

std::string folder_in_memory(uid_t user) {
  return std::string(kBegin) + std::to_string(user);
}

/// Calls for the names in a folder, at most `most` of them, until one is enough.
template <class Take>
void for_names(const char* folder, std::size_t most, Take take) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder), ::closedir);
  if (!entries) return;
  for (std::size_t i = 0; i < most; ++i) {
    const dirent* const entry = ::readdir(entries.get());
    if (entry == nullptr) return;
    if (entry->d_name[0] != '.' && !take(std::string(entry->d_name))) return;
  }
}

/// The runtime folder that systemd has made for this service, if it is one of ours.
std::string service_folder() {
  const char* const value = std::getenv("RUNTIME_DIRECTORY");
  std::string_view rest = value != nullptr ? value : "";
  const std::string begin = std::string(kServices) + '/';
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const std::string_view name = one.starts_with(begin) ? one.substr(begin.size()) : "";
    if (!name.empty() && name.front() != '.' && name.find('/') == std::string_view::npos) return std::string(one);
  }
  return {};
}

/// The user of the shipped service, if this machine has it. From the file alone: every reader of a ring asks, confined
/// ones too, and the system's other sources of users take sockets and time.
std::optional<uid_t> service_user() {
  constexpr int kMostLines = 10'000;
  std::ifstream users("/etc/passwd");
  int lines = 0;
  for (std::string line; lines < kMostLines && std::getline(users, line); ++lines) {
    if (!line.starts_with(kServiceUser)) continue;
    const std::size_t number = line.find(':', kServiceUser.size());
    if (number == std::string::npos) continue;
    uid_t user = 0;
    const char* const end = line.data() + line.size();
    const auto [at, error] = std::from_chars(line.data() + number + 1, end, user);
    if (error == std::errc() && at != end && *at == ':') return user;
  }
  return std::nullopt;
}

/// The folder, open; its owner and mode are those of what is open.
Descriptor open_folder(const std::string& path, struct stat& status) noexcept {
  Descriptor folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.ok() && ::fstat(folder.get(), &status) != 0) folder = Descriptor();
  return folder;
}

bool is_good(const struct stat& status, uid_t user) noexcept {
  return status.st_uid == user && (status.st_mode & kOthersWrite) == 0;
}

std::string octal(mode_t mode) {
  std::string text = "0000";
  for (std::size_t i = 4; i-- > 0; mode /= 8) text[i] = static_cast<char>('0' + mode % 8);
  return text;
}

/// A user of a running or ended machine who has a file of this name in a folder of his own; for messages.
std::optional<uid_t> other_owner(const std::string& name, const Accepted& accepted) {
  constexpr std::string_view kPrefix = "stopbit-";
  std::optional<uid_t> found;
  for_names(std::string(kShared).c_str(), kMaxHints, [&](const std::string& entry) {
    uid_t user = 0;
    const char* const end = entry.data() + entry.size();
    if (!entry.starts_with(kPrefix) || std::from_chars(entry.data() + kPrefix.size(), end, user).ptr != end)
      return true;
    struct stat status {};
    const Descriptor folder = open_folder(folder_in_memory(user), status);
    if (!folder.ok() || status.st_uid != user || accepted.has(user)) return true;
    if (::faccessat(folder.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) found = user;
    return !found;
  });
  return found;
}

}  // namespace

std::string own_folder() {
  std::string service = service_folder();
  return service.empty() ? folder_in_memory(::geteuid()) : service;
}

Status make_own_folder() {
  const std::string path = own_folder();
  const bool is_new = ::mkdir(path.c_str(), kMode) == 0;
  if (!is_new && errno != EEXIST) return Failure{system_error("make the folder", path)};
  struct stat status {};
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const bool is_seen = folder.ok() ? ::fstat(folder.get(), &status) == 0 : ::lstat(path.c_str(), &status) == 0;
  if (is_seen && status.st_uid != ::geteuid()) {
    return Failure{"'" + path + "' belongs to " + user_text(status.st_uid) + ", but must be a folder of " +
                   user_text(::geteuid()) + " for rings and counters: remove it"};
  }
  if (!folder.ok() || !is_seen) return Failure{system_error("use the folder", path)};
  // Whatever the process's mask says.
  if (is_new && ::fchmod(folder.get(), kMode) != 0) return Failure{system_error("set the mode of", path)};
  if (!is_new && (status.st_mode & kOthersWrite) != 0) {
    return Failure{"other users can write to '" + path + "' (mode " + octal(status.st_mode & 07777) +
                   "), the folder of rings and counters: run chmod go-w"};
  }
  const std::string signs(kSignsFolder);
  if (::mkdirat(folder.get(), signs.c_str(), kMode) == 0) {
    const Descriptor made(::openat(folder.get(), signs.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made.ok() || ::fchmod(made.get(), kSignsMode) != 0)
      return Failure{system_error("make the folder", path + '/' + signs)};
  } else if (errno != EEXIST) {
    return Failure{system_error("make the folder", path + '/' + signs)};
  }
  return Done{};
}

std::optional<uid_t> user_number(const std::string& user) {
  uid_t number = 0;
  const char* const end = user.data() + user.size();
  if (const auto [at, error] = std::from_chars(user.data(), end, number); error == std::errc() && at == end) {
    return number != kNobody ? std::optional(number) : std::nullopt;
  }
  constexpr std::size_t kMost = 1U << 20;
  passwd record{};
  passwd* found = nullptr;
  std::vector<char> memory(1'024);
  while (::getpwnam_r(user.c_str(), &record, memory.data(), memory.size(), &found) == ERANGE && memory.size() < kMost) {
    memory.resize(2 * memory.size());
  }
  return found != nullptr ? std::optional(found->pw_uid) : std::nullopt;
}

std::string user_text(uid_t user) {
  constexpr std::size_t kMost = 1U << 20;
  passwd record{};
  passwd* found = nullptr;
  std::vector<char> memory(1'024);
  while (::getpwuid_r(user, &record, memory.data(), memory.size(), &found) == ERANGE && memory.size() < kMost) {
    memory.resize(2 * memory.size());
  }
  const std::string number = "uid " + std::to_string(user);
  return found != nullptr ? "user " + std::string(found->pw_name) + " (" + number + ")" : "the user of " + number;
}

void accept_user(uid_t user) noexcept {
  named_user.store(user);
}

Accepted::Accepted(std::optional<uid_t> also) {
  const auto add = [&](uid_t user) {
    if (!has(user)) users_.push_back(user);
  };
  if (!also && named_user.load() != kNobody) also = named_user.load();
  const char* const value = std::getenv("STOPBIT_USER");
  if (!also && value != nullptr && *value != 0) {
    also = user_number(value);
    if (!also) problem_ = "STOPBIT_USER: this machine has no user '" + std::string(value) + "'";
  }
  names_user_ = also.has_value();
  if (also) add(*also);
  add(::geteuid());
  add(0);
  static const std::optional<uid_t> service = service_user();
  if (service) add(*service);
}

bool Accepted::has(uid_t user) const noexcept {
  return std::find(users_.begin(), users_.end(), user) != users_.end();
}

std::string Accepted::text() const {
  std::string text;
  for (const uid_t user : users_) text += (text.empty() ? "" : ", ") + user_text(user);
  return text;
}

std::vector<UserFolder> folders_of(const std::vector<uid_t>& users) {
  std::vector<UserFolder> folders;
  const auto add = [&](const std::string& path, uid_t user) {
    struct stat status {};
    const bool is_new = std::none_of(folders.begin(), folders.end(), [&](const auto& one) { return one.path == path; });
    if (is_new && open_folder(path, status).ok() && is_good(status, user)) folders.push_back({path, user});
  };
  const bool has_own = std::find(users.begin(), users.end(), ::geteuid()) != users.end();
  // Those of services are in a folder of root, so no stranger can make their number grow.
  std::vector<std::pair<std::string, uid_t>> services;
  struct stat status {};
  if (open_folder(kServices, status).ok() && is_good(status, 0)) {
    for_names(kServices, kMaxServices, [&](const std::string& name) {
      const std::string path = std::string(kServices) + '/' + name;
      if (open_folder(path, status).ok()) services.emplace_back(path, status.st_uid);
      return true;
    });
  }
  std::sort(services.begin(), services.end());
  for (const uid_t user : users) {
    if (has_own && user == ::geteuid()) add(own_folder(), user);
    add(folder_in_memory(user), user);
    for (const auto& [path, owner] : services) {
      if (owner == user) add(path, user);
    }
  }
  return folders;
}

Result<FoundFile> open_accepted(std::string_view name, std::string_view suffix, std::string_view noun,
                                const Accepted& accepted) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const std::string what = "open the " + std::string(noun);
  const auto foreign = [&](const std::string& path, uid_t owner) {
    return Failure{"the " + std::string(noun) + " '" + path + "' belongs to " + user_text(owner) +
                   "; accepted owners are " + accepted.text() + "; --user or STOPBIT_USER names another"};
  };
  if (!accepted.problem().empty()) return Failure{accepted.problem()};
  const Result<std::string> own = path_of(name);
  if (!own) return Failure{own.message()};
  const std::string own_path = own.value() + std::string(suffix);
  struct stat status {};
  if (name.find('/') != std::string_view::npos) {
    Descriptor file(::open(own_path.c_str(), kFlags));
    if (!file.ok()) return Failure{system_error(what.c_str(), own_path)};
    if (::fstat(file.get(), &status) != 0) return Failure{system_error("look at", own_path)};
    if (!accepted.has(status.st_uid)) return foreign(own_path, status.st_uid);
    return FoundFile{std::move(file), own_path};
  }
  struct Candidate {
    FoundFile found;
    uid_t user;
    bool is_alive;
  };
  std::vector<Candidate> candidates;
  errno = ENOENT;
  std::string problem = system_error(what.c_str(), own_path);
  const std::string leaf = std::string(name) + std::string(suffix);
  for (const UserFolder& place : folders_of(accepted.users())) {
    const Descriptor folder = open_folder(place.path, status);
    if (!folder.ok() || !is_good(status, place.user)) continue;
    const std::string path = place.path + '/' + leaf;
    Descriptor file(::openat(folder.get(), leaf.c_str(), kFlags));
    if (!file.ok()) {
      if (errno != ENOENT) problem = system_error(what.c_str(), path);
      continue;
    }
    if (::fstat(file.get(), &status) != 0) continue;
    if (!accepted.has(status.st_uid)) return foreign(path, status.st_uid);
    const bool is_alive = is_locked(file);
    candidates.push_back({{std::move(file), path}, place.user, is_alive});
  }
  if (candidates.empty()) {
    const std::optional<uid_t> other = other_owner(leaf, accepted);
    if (other) return foreign(folder_in_memory(*other) + '/' + leaf, *other);
    return Failure{problem};
  }
  if (accepted.names_user() && candidates.front().user == accepted.users().front()) {
    const uid_t named = candidates.front().user;
    std::erase_if(candidates, [&](const Candidate& one) { return one.user != named; });
  }
  const auto alive = [](const Candidate& one) { return one.is_alive; };
  const auto first = std::find_if(candidates.begin(), candidates.end(), alive);
  if (first == candidates.end()) return std::move(candidates.front().found);
  const auto second = std::find_if(first + 1, candidates.end(), alive);
  if (second != candidates.end()) {
    return Failure{"several exist: the " + std::string(noun) + " '" + first->found.path + "' of " +
                   user_text(first->user) + " and '" + second->found.path + "' of " + user_text(second->user) +
                   "; name the path, or the user with --user or STOPBIT_USER"};
  }
  return std::move(first->found);
}

Descriptor open_own(std::string_view name, std::string& path) noexcept {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const Result<std::string> own = path_of(name);
  if (!own) return Descriptor();
  path = own.value();
  Descriptor file(::open(path.c_str(), kFlags));
  if (file.ok() || errno != ENOENT || name.find('/') != std::string_view::npos) return file;
  for (const UserFolder& place : folders_of({::geteuid()})) {
    const std::string other = place.path + '/' + std::string(name);
    if (other == path) continue;
    file = Descriptor(::open(other.c_str(), kFlags));
    if (!file.ok()) continue;
    path = other;
    return file;
  }
  errno = ENOENT;
  return file;
}

}  // namespace stopbit::os
