#include "host/os/shm/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace stopbit::os {

Result<std::string, ReadFailure> read_file(const std::string& path, std::size_t most) {
  return read_file(Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path, most);
}

Result<std::string, ReadFailure> read_file(const Descriptor& file, const std::string& path, std::size_t most) {
  const auto failed = [&path] {
    const int error = errno;
    return ReadFailure{error, system_error("read", path)};
  };
  if (!file.ok()) return failed();
  std::string text;
  std::array<char, 65'536> piece;
  for (;;) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed();
    if (count == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
    if (text.size() > most) return ReadFailure{0, path + ": longer than " + std::to_string(most) + " bytes"};
  }
}

Result<std::string> read_first_line(const std::string& path) {
  constexpr std::size_t kMost = 4'096;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.ok() && (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))) {
    return Failure{path + ": not a regular file"};
  }
  const auto text = read_file(file, path, kMost);
  if (!text) return Failure{text.failure().message};
  std::string line = text.value().substr(0, text.value().find('\n'));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

Result<std::string> read_secret(const std::string& path) {
  if (path.empty()) return std::string();
  Result<std::string> line = read_first_line(path);
  if (!line) return Failure{"no password: " + line.message()};
  return line;
}

std::string exposure_of_secret(const std::string& path) {
  struct stat status {};
  // One that does not exist is an error where it is read.
  if (path.empty() || ::stat(path.c_str(), &status) != 0 || (status.st_mode & S_IROTH) == 0) return {};
  return "'" + path + "' holds a secret, but every user may read it: chmod o-r";
}

}  // namespace stopbit::os
