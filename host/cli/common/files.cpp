#include "host/cli/common/files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "host/cli/common/command.hpp"
#include "host/cli/common/descriptor_wait.hpp"
#include "host/cli/common/signals.hpp"
#include "microcode/base/limits.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;
constexpr mode_t kNewFileMode = 0666;  // less the umask

[[noreturn]] void fail_environment(const std::string& what, int error) {
  throw ToolError(kExitEnvironment, what + ": " + std::strerror(error));
}

std::string shown_name(const std::string& path, const char* standard) {
  return path == "-" ? standard : path;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

void refuse_input(const std::string& path, const struct stat& out_status, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    struct stat in_status = {};
    const bool known = (input == "-" ? ::fstat(STDIN_FILENO, &in_status) : ::stat(input.c_str(), &in_status)) == 0;
    if (known && same_file(in_status, out_status)) {
      throw ToolError(kExitUsage, path + " is already an input or output of this command; refusing to overwrite it");
    }
  }
}

/// Whether another file may take the place of this one: not if that would change its owner, or part it from other
/// names.
bool is_replaceable(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && status.st_nlink == 1;
}

}  // namespace

void claim_input(const std::string& path) {
  static bool stdin_is_claimed = false;
  if (path != "-") return;
  if (std::exchange(stdin_is_claimed, true)) {
    throw ToolError(kExitUsage, "- is stdin, and can be given once only");
  }
}

void claim_file(const std::string& path) {
  claim_input(path);
  if (path != "-" && ::access(path.c_str(), R_OK) != 0) fail_environment("cannot open " + path, errno);
}

InputFile InputFile::open(const std::string& path) {
  claim_input(path);
  const std::string name = shown_name(path, "<stdin>");
  const int file = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_environment("cannot open " + name, errno);
  return InputFile(name, file);
}

InputFile::InputFile(InputFile&& other) noexcept
    : name_(std::move(other.name_)), file_(std::exchange(other.file_, -1)), text_(std::move(other.text_)) {}

InputFile InputFile::of_text(std::string name, std::string text) {
  InputFile file(std::move(name), -1);
  file.text_ = std::move(text);
  return file;
}

InputFile::~InputFile() {
  if (file_ > STDIN_FILENO) ::close(file_);
}

std::size_t InputFile::read(char* to, std::size_t bytes) {
  if (file_ < 0) {
    const std::size_t count = text_.copy(to, bytes);
    text_.erase(0, count);
    return count;
  }
  // A pipe may keep us waiting; a signal that asks to stop must not.
  constexpr int kWaitMs = 200;
  pollfd waiting{file_, POLLIN, 0};
  for (int ready = 0; ready == 0;) {
    ready = ::poll(&waiting, 1, kWaitMs);
    if (ready < 0 && errno != EINTR) fail_environment("cannot wait for " + name_, errno);
    if (ready <= 0 && stop_requested()) return 0;
    ready = std::max(ready, 0);
  }
  for (;;) {
    const ssize_t count = ::read(file_, to, bytes);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) fail_environment("cannot read " + name_, errno);
  }
}

std::string read_file(const std::string& path, std::size_t max_bytes) {
  InputFile file = InputFile::open(path);
  std::string content;
  std::array<char, 64 * 1024> chunk;
  while (const std::size_t count = file.read(chunk.data(), chunk.size())) {
    content.append(chunk.data(), count);
    if (content.size() > max_bytes) {
      throw ToolError(kExitRejected, file.name() + ": exceeds the limit of " + std::to_string(max_bytes) + " bytes");
    }
  }
  return content;
}

std::shared_ptr<const SourceBuffer> read_text(const std::string& path) {
  return std::make_shared<const SourceBuffer>(shown_name(path, "<stdin>"), read_file(path, limits::kMaxTextBytes));
}

Output Output::open(const std::string& path, const std::vector<std::string>& inputs, mode_t mode) {
  if (path == "-") return Output("<stdout>", STDOUT_FILENO);

  struct stat out_status = {};
  if (::stat(path.c_str(), &out_status) == 0 && S_ISREG(out_status.st_mode)) refuse_input(path, out_status, inputs);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (file < 0) fail_environment("cannot write " + path, errno);
  return Output(path, file);
}

std::optional<Output> Output::beside(const std::string& path, const std::vector<std::string>& inputs) {
  std::error_code error;
  struct stat old = {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (path == "-" || (exists && !is_replaceable(old))) return std::nullopt;
  if (exists) refuse_input(path, old, inputs);
  // Through links, which stay. A link that leads nowhere makes a file there, as open() does.
  const std::string target = exists ? std::filesystem::canonical(path, error).string() : path;
  if (error || (!exists && std::filesystem::is_symlink(path, error))) return std::nullopt;
  const std::string name = target + ".part-" + std::to_string(::getpid());
  const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kNewFileMode);
  if (file < 0) return std::nullopt;  // the folder cannot be written, say; the file may be
  Output out(path, file);
  out.part_ = name;
  out.target_ = target;
  if (exists && ::fchmod(file, old.st_mode & 07777) != 0) out.fail(errno);
  return out;
}

void Output::take_place() {
  flush();
  // So that after a loss of power there is the old content or the new one.
  if (::fsync(file_) != 0) fail(errno);
  close();
  if (::rename(part_.c_str(), target_.c_str()) != 0) fail(errno);
  part_.clear();
}

Output Output::replace(const std::string& path) {
  // Whatever has the name goes, a link and not what it leads to; what comes between is an error, not followed.
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail_environment("cannot replace " + path, errno);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kNewFileMode);
  if (file < 0) fail_environment("cannot write " + path, errno);
  return Output(path, file);
}

Output::Output(Output&& other) noexcept
    : name_(std::move(other.name_)),
      file_(std::exchange(other.file_, -1)),
      buffer_(std::move(other.buffer_)),
      part_(std::exchange(other.part_, {})),
      target_(std::move(other.target_)) {}

Output::~Output() {
  if (file_ > STDOUT_FILENO) ::close(file_);
  if (!part_.empty()) ::unlink(part_.c_str());
}

void Output::write(std::string_view text) {
  buffer_.append(text);
  flush_if_full();
}

void Output::flush_if_full() {
  if (buffer_.size() >= kBufferBytes) flush();
}

void Output::flush() {
  write_all(buffer_);
  buffer_.clear();
}

void Output::write_now(std::string_view text) {
  flush();
  write_all(text);
}

void Output::close() {
  flush();
  // stdout too: a full disk may show only here.
  const int file = std::exchange(file_, -1);
  if (file >= 0 && ::close(file) != 0 && errno != EINTR) fail(errno);
}

bool Output::is_terminal() const noexcept {
  return ::isatty(file_) == 1;
}

void Output::write_all(std::string_view text) {
  while (!text.empty()) {
    // A command that must stop does not wait for a reader that has stopped, too.
    const bool stops = stop_requested();
    if (stops && !wait_to_write(file_)) fail(ETIMEDOUT);
    const ssize_t count = stops ? write_some(file_, text) : ::write(file_, text.data(), text.size());
    if (count < 0 && errno == EAGAIN && wait_to_write(file_)) continue;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void Output::fail(int error) {
  if (error == EPIPE) throw ToolError(kExitDone, "");
  fail_environment("cannot write " + name_, error);
}

void replace_file(const std::string& path, std::string_view content) {
  Output out = Output::replace(path);
  out.write(content);
  out.close();
}

void write_file(const std::string& path, std::string_view content, const std::vector<std::string>& inputs) {
  std::optional<Output> beside = Output::beside(path, inputs);
  if (!beside) {
    Output out = Output::open(path, inputs);
    out.write(content);
    return out.close();
  }
  beside->write(content);
  beside->take_place();
}

}  // namespace stopbit::tools
