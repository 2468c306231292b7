#include "host/replay/columns/column_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "host/os/error_text.hpp"
#include "host/replay/columns/row_buffer.hpp"
#include "microcode/base/ascii.hpp"

namespace stopbit::replay {
namespace {

constexpr mode_t kNewFileMode = 0666;    // less the umask
constexpr mode_t kNewFolderMode = 0777;  // likewise
constexpr std::string_view kPartName = "index.json.part";
constexpr std::string_view kSuffix = ".npy";
constexpr std::size_t kNumberDigits = 5;

/// "00012-Entries.Price.npy": the number makes it unique, whatever the label is.
bool is_column_name(std::string_view name) {
  if (name.size() <= kNumberDigits || !name.ends_with(kSuffix)) return false;
  const std::string_view number = name.substr(0, name.find('-'));
  return number.size() >= kNumberDigits && number.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string file_name(std::size_t number, std::string_view label) {
  constexpr std::size_t kLabelBytes = 80;
  std::string name = std::to_string(number);
  if (name.size() < kNumberDigits) name.insert(0, kNumberDigits - name.size(), '0');
  name += '-';
  for (const char c : label.substr(0, kLabelBytes)) {
    const bool is_safe = is_letter_or_digit(c) || c == '-';
    name += is_safe ? c : '_';
  }
  return name.append(kSuffix);
}

bool write_all(int file, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<ColumnFolder>> ColumnFolder::open(const std::string& path, bool force) {
  if (::mkdir(path.c_str(), kNewFolderMode) != 0 && errno != EEXIST) {
    return Failure{"cannot make the folder " + path + ": " + os::error_text()};
  }
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return Failure{"cannot open the folder " + path + ": " + os::error_text()};
  std::unique_ptr<ColumnFolder> folder(new ColumnFolder(path, descriptor));
  if (const Status done = folder->remove_columns(force); !done) return Failure{done.message()};
  return folder;
}

ColumnFolder::~ColumnFolder() {
  ::close(descriptor_);
}

/// Whether the index in the folder is one of columns.
bool ColumnFolder::has_our_index() const {
  const int file =
      ::openat(descriptor_, std::string(kIndexName).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, kIndexBegin.size()> begin{};
  const ssize_t count = ::pread(file, begin.data(), begin.size(), 0);
  ::close(file);
  return count == static_cast<ssize_t>(begin.size()) && std::string_view(begin.data(), begin.size()) == kIndexBegin;
}

Status ColumnFolder::remove_columns(bool force) {
  const int copy = ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const list = copy < 0 ? nullptr : ::fdopendir(copy);
  if (list == nullptr) {
    const std::string why = os::error_text();
    if (copy >= 0) ::close(copy);
    return Failure{"cannot read the folder " + path_ + ": " + why};
  }
  std::vector<std::string> ours;
  bool has_index = false;
  bool has_others = false;
  while (const dirent* const entry = ::readdir(list)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    has_index = has_index || name == kIndexName;
    if (name == kPartName || is_column_name(name)) {
      ours.emplace_back(name);
    } else if (name != kIndexName) {
      has_others = true;
    }
  }
  ::closedir(list);
  if ((has_index || has_others || !ours.empty()) && !force) {
    return Failure{"the folder " + path_ + " is not empty; --force replaces the columns in it"};
  }
  if (has_index && !has_our_index()) {
    return Failure{path_ + "/" + std::string(kIndexName) + " is not an index of columns: it is not replaced"};
  }
  if (has_index) ours.insert(ours.begin(), std::string(kIndexName));  // first, so that no one takes the rest for whole
  for (const std::string& name : ours) {
    if (::unlinkat(descriptor_, name.c_str(), 0) != 0) {
      return Failure{"cannot remove " + path_ + "/" + name + ": " + os::error_text()};
    }
  }
  return Done{};
}

ColumnFile& ColumnFolder::add(std::string_view label, std::string_view dtype, std::uint8_t item_bytes) {
  files_.push_back(std::make_unique<ColumnFile>(*this, file_name(files_.size(), label), dtype, item_bytes));
  return *files_.back();
}

void ColumnFolder::account_for(std::size_t bytes) {
  if (buffered_ + bytes > kBufferBudget) release_buffers();
  buffered_ += bytes;
}

void ColumnFolder::release_buffers() {
  for (RowBuffer* const rows : row_buffers_) rows->release();
  for (const auto& file : files_) file->release();
}

void ColumnFolder::write(const ColumnFile& file, const void* bytes, std::size_t size, std::uint64_t offset,
                         bool is_new) {
  if (has_failed()) return;
  const int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (is_new ? O_CREAT | O_EXCL : 0);
  const int descriptor = ::openat(descriptor_, file.name().c_str(), flags, kNewFileMode);
  if (descriptor < 0) return fail(file.name(), errno);
  const bool is_written = write_all(descriptor, {static_cast<const char*>(bytes), size}, offset);
  const int error = errno;
  const bool is_closed = ::close(descriptor) == 0;
  if (!is_written) return fail(file.name(), error);
  if (!is_closed && errno != EINTR) return fail(file.name(), errno);
  bytes_written_ += size;
}

void ColumnFolder::fail(const std::string& file, int error) {
  errno = error;
  if (failure_.empty()) failure_ = "cannot write " + path_ + "/" + file + ": " + os::error_text();
}

Status ColumnFolder::finish(std::string_view index) {
  release_buffers();
  for (const auto& file : files_) {
    const std::string head = file->head();
    write(*file, head.data(), head.size(), 0, file->offset_ == 0);
  }
  if (has_failed()) return Failure{failure_};
  // After a loss of power there is no index without its columns.
  if (::syncfs(descriptor_) != 0) return Failure{"cannot write " + path_ + ": " + os::error_text()};
  const std::string part(kPartName);
  const int descriptor = ::openat(descriptor_, part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFileMode);
  if (descriptor < 0) return Failure{"cannot write " + path_ + "/" + part + ": " + os::error_text()};
  const bool is_written = write_all(descriptor, index, 0) && ::fsync(descriptor) == 0;
  if (!is_written) fail(part, errno);
  ::close(descriptor);
  if (!is_written) return Failure{failure_};
  if (::renameat(descriptor_, part.c_str(), descriptor_, std::string(kIndexName).c_str()) != 0 ||
      ::fsync(descriptor_) != 0) {
    return Failure{"cannot write " + path_ + "/" + std::string(kIndexName) + ": " + os::error_text()};
  }
  return Done{};
}

void ColumnFile::make_room() {
  if (buffer_ != nullptr) {
    flush();
    return;
  }
  folder_.claim(kBufferBytes);
  buffer_ = std::make_unique_for_overwrite<std::byte[]>(kBufferBytes);
  at_ = buffer_.get();
  limit_ = at_ + kBufferBytes - sizeof(std::uint64_t) + 1;
}

void ColumnFile::flush() {
  write({buffer_.get(), static_cast<std::size_t>(at_ - buffer_.get())});
  at_ = buffer_.get();
}

void ColumnFile::write(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (offset_ == 0) {
    const std::array<char, kHeadBytes> zeros{};
    folder_.write(*this, zeros.data(), zeros.size(), 0, true);
    offset_ = kHeadBytes;
  }
  folder_.write(*this, bytes.data(), bytes.size(), offset_, false);
  offset_ += bytes.size();
}

void ColumnFile::append_items(std::span<const std::byte> items) {
  write(items);
  rows_ += items.size() / item_bytes_;
}

void ColumnFile::overwrite(std::uint64_t row, std::uint64_t value) {
  folder_.write(*this, &value, item_bytes_, kHeadBytes + row * item_bytes_, false);
}

void ColumnFile::release() {
  if (buffer_ == nullptr) return;
  flush();
  buffer_.reset();
  at_ = limit_ = nullptr;
  folder_.discount(kBufferBytes);
}

std::string ColumnFile::head() const {
  constexpr std::size_t kPrefixBytes = 10;
  std::string text("\x93NUMPY\x01\0", 8);
  text += static_cast<char>(kHeadBytes - kPrefixBytes);
  text += '\0';
  text += "{'descr': '" + dtype_ + "', 'fortran_order': False, 'shape': (" + std::to_string(rows_) + ",), }";
  text.resize(kHeadBytes - 1, ' ');
  return text += '\n';
}

}  // namespace stopbit::replay
