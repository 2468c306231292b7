#include "host/ports/recorder/archive.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "host/os/disk/disk.hpp"
#include "host/ports/recorder/file_name.hpp"

namespace stopbit::recorder {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = 1U << 18;

struct WriteError {
  int error;
};

}  // namespace

/// An open file with a buffer.
class Archive::File {
 public:
  File(const std::string& path, std::string_view interface) {
    if (const int error = file_.open(path, O_WRONLY | O_CREAT | O_EXCL, 0640); error != 0) throw WriteError{error};
    buffer_.reserve(kBufferBytes);
    const std::string_view names[] = {interface};
    writer_.emplace([this](std::span<const std::byte> bytes) { take(bytes); }, names);
  }

  [[nodiscard]] PcapngWriter& writer() { return *writer_; }
  /// Bytes that the system has taken.
  [[nodiscard]] std::uint64_t written() const noexcept { return written_; }

  void flush() {
    if (const int error = file_.write(buffer_, written_); error != 0) throw WriteError{error};
    buffer_.clear();
  }
  void close() {
    flush();
    if (const int error = file_.close(); error != 0) throw WriteError{error};
  }

 private:
  void take(std::span<const std::byte> bytes) {
    if (buffer_.size() + bytes.size() > kBufferBytes) flush();
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }

  disk::File file_;
  std::uint64_t written_ = 0;
  std::vector<std::byte> buffer_;
  std::optional<PcapngWriter> writer_;
};

Archive::Archive(ArchiveOptions options) : options_(std::move(options)) {
  find_files();
}
Archive::Archive(Archive&&) noexcept = default;
Archive::~Archive() {
  if (file_) close();
}

/// Files of an earlier run count, and their numbers are not used again. Its times are unknown: they are taken to be
/// older than anything.
void Archive::find_files() {
  std::error_code error;
  for (RecordedFile& file : recorded_files(options_.folder, error)) {
    if (file.name.line != options_.name) continue;
    next_number_ = std::max(next_number_, file.name.number + 1);
    if (file.name.is_frozen) {
      frozen_bytes_ += file.bytes;
    } else {
      closed_bytes_ += file.bytes;
      closed_.push_back({.path = std::move(file.path), .bytes = file.bytes});
    }
  }
  if (error) fail(options_.folder + ": " + error.message());
}

void Archive::add(net::Endpoint source, net::Endpoint group, std::span<const std::byte> payload,
                  std::uint64_t time_ns) {
  const std::size_t bytes = PcapngWriter::block_bytes(egress::kFrameHeaderBytes + payload.size());
  if (payload.size() > egress::kMaxPayloadBytes) {
    ++counts_.not_recorded;
    return;
  }
  if (file_ && open_.bytes + bytes > options_.file_bytes) close();
  if (!file_) {
    // After a failure the next attempt waits, so that a full disk does not cost a system call a packet.
    if (is_failing_ && (failed_bytes_ += bytes) < options_.file_bytes / 16) {
      ++counts_.not_recorded;
      return;
    }
    open();
    if (!file_) {
      ++counts_.not_recorded;
      return;
    }
    open_.first_ns = time_ns;
  }
  const std::uint64_t written = file_->written();
  try {
    frames_.set(source, group);
    file_->writer().write(0, frames_.build(payload), time_ns);
  } catch (const WriteError& error) {
    ++counts_.not_recorded;
    give_up(error.error);
    return;
  }
  open_.bytes = file_->writer().bytes();
  open_.last_ns = time_ns;
  if (file_->written() != written) note_recorded();  // the buffer was full
  ++pending_;
  note_success();
}

void Archive::open() {
  failed_bytes_ = 0;
  if (!make_room()) return;
  open_ = {.path = options_.folder + "/" + to_text(FileName{.line = options_.name, .number = next_number_++})};
  try {
    file_ = std::make_unique<File>(open_.path, options_.name);
  } catch (const WriteError& error) {
    fail(open_.path + ": " + std::strerror(error.error));
  }
}

void Archive::close() {
  try {
    file_->close();
  } catch (const WriteError& error) {
    return give_up(error.error);
  }
  note_success();
  note_recorded();
  file_.reset();
  if (is_wanted(open_.first_ns, open_.last_ns) && freeze(open_)) {
    open_ = {};
    return;
  }
  closed_bytes_ += open_.bytes;
  closed_.push_back(std::move(open_));
  open_ = {};
}

/// So that another file has its place. False: there is none, because an old file cannot be deleted.
bool Archive::make_room() {
  while (!closed_.empty() && closed_bytes_ + options_.file_bytes > options_.total_bytes) {
    if (const int error = disk::remove(closed_.front().path); error != 0) {
      fail(closed_.front().path + ": " + std::strerror(error));
      return false;
    }
    closed_bytes_ -= closed_.front().bytes;
    closed_.pop_front();
    ++counts_.deleted_files;
  }
  return true;
}

bool Archive::is_wanted(std::uint64_t first_ns, std::uint64_t last_ns) const noexcept {
  return freeze_to_ns_ != 0 && first_ns <= freeze_to_ns_ && last_ns >= freeze_from_ns_;
}

void Archive::freeze(std::uint64_t time_ns) {
  const std::uint64_t from = time_ns - std::min(time_ns, options_.freeze_before_ns);
  // Stretches that touch become one; an older one has been seen to when its files were closed.
  freeze_from_ns_ = freeze_to_ns_ != 0 && from <= freeze_to_ns_ ? std::min(freeze_from_ns_, from) : from;
  freeze_to_ns_ = std::max(freeze_to_ns_, time_ns + options_.freeze_after_ns);
  std::erase_if(closed_, [&](const Closed& file) {
    if (file.last_ns == 0 || !is_wanted(file.first_ns, file.last_ns) || !freeze(file)) return false;
    closed_bytes_ -= file.bytes;
    return true;
  });
}

bool Archive::freeze(const Closed& file) {
  if (frozen_bytes_ + file.bytes > options_.frozen_bytes) {
    ++counts_.refused_freezes;
    return false;
  }
  const fs::path from(file.path);
  const fs::path to = from.parent_path() / (std::string(kFrozenPrefix) + from.filename().string());
  if (const int error = disk::rename(from.string(), to.string()); error != 0) {
    counts_.last_error = file.path + ": " + std::strerror(error);
    ++counts_.refused_freezes;
    return false;
  }
  frozen_bytes_ += file.bytes;
  ++counts_.frozen_files;
  return true;
}

void Archive::flush() {
  if (!file_) return;
  try {
    file_->flush();
    note_success();
    note_recorded();
  } catch (const WriteError& error) {
    give_up(error.error);
  }
}

/// The open file, of which a part is on disk. Packets that were not known to be there count as not recorded, even if
/// some of them are.
void Archive::give_up(int error) {
  fail(open_.path + ": " + std::strerror(error));
  counts_.not_recorded += std::exchange(pending_, 0);
  open_.bytes = file_->written();
  file_.reset();
  // A disk that stays full would collect empty ones.
  if (open_.bytes != 0 || disk::remove(open_.path) != 0) {
    closed_bytes_ += open_.bytes;
    closed_.push_back(std::move(open_));
  }
  open_ = {};
}

void Archive::note_recorded() noexcept {
  counts_.recorded += std::exchange(pending_, 0);
}

void Archive::fail(const std::string& what) {
  is_failing_ = true;
  counts_.last_error = what;
}

/// A file that can be made is no success yet: on a full disk that works.
void Archive::note_success() noexcept {
  if (is_failing_ && file_->written() != 0) is_failing_ = false;
}

}  // namespace stopbit::recorder
