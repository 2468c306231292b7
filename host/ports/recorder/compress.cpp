#include "host/ports/recorder/compress.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "host/os/disk/disk.hpp"
#include "host/os/shm/segment.hpp"
#include "host/ports/byte_stream.hpp"
#include "host/ports/recorder/file_name.hpp"

namespace stopbit::recorder {
namespace {

constexpr std::size_t kBlockBytes = 1U << 18;
constexpr int kLevel = 3;
constexpr std::string_view kPartSuffix = ".part";

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
};
using Context = std::unique_ptr<ZSTD_CCtx, FreeContext>;

std::string text_of(const char* what, const std::string& path, int error) {
  return std::string("cannot ") + what + " '" + path + "': " + std::strerror(error);
}

/// Compresses a stream into a file. Returns a problem; nothing if there was none.
std::optional<std::string> compress(ingest::ByteStream& from, disk::File& to, const std::string& path,
                                    std::uint64_t& written) {
  const Context context(ZSTD_createCCtx());
  if (!context) return "no memory to compress";
  (void)ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  (void)ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::vector<std::byte> in(kBlockBytes);
  std::vector<std::byte> out(kBlockBytes);
  for (bool is_last = false; !is_last;) {
    const std::size_t bytes = from.read(in.data(), in.size());
    is_last = bytes < in.size();
    ZSTD_inBuffer input{.src = in.data(), .size = bytes, .pos = 0};
    for (bool is_done = false; !is_done;) {
      ZSTD_outBuffer output{.dst = out.data(), .size = out.size(), .pos = 0};
      const std::size_t left =
          ZSTD_compressStream2(context.get(), &output, &input, is_last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0) return std::string("compressing: ") + ZSTD_getErrorName(left);
      const int error = to.write(std::span(out).first(output.pos), written);
      if (error != 0) return text_of("write", path, error);
      is_done = is_last ? left == 0 : input.pos == input.size;
    }
  }
  return from.fault().empty() ? std::nullopt : std::optional(from.name() + ": " + from.fault());
}

/// Whether both give the same bytes; a compressed one is decompressed.
bool are_equal(const std::string& left_path, const std::string& right_path) {
  const auto left = ingest::ByteStream::open(left_path);
  const auto right = ingest::ByteStream::open(right_path);
  if (!left || !right) return false;
  std::vector<std::byte> one(kBlockBytes);
  std::vector<std::byte> other(kBlockBytes);
  for (;;) {
    const std::size_t bytes = left.value()->read(one.data(), one.size());
    if (right.value()->read(other.data(), other.size()) != bytes) return false;
    if (!std::equal(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(bytes), other.begin())) return false;
    if (bytes < one.size()) return left.value()->fault().empty() && right.value()->fault().empty();
  }
}

/// Whether a process that lives has it open to write.
bool is_being_written(const std::string& part) {
  const os::Descriptor file(::open(part.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  return file.ok() && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

std::vector<std::string> abandoned_files(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.ends_with(kPartSuffix)) continue;
    const auto whole = parse_file_name(std::string_view(name).substr(0, name.size() - kPartSuffix.size()));
    if (whole && whole->is_compressed && !is_being_written(entry->path().string())) {
      found.push_back(entry->path().string());
    }
  }
  return found;
}

Result<Compressed> compress_file(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return Failure{text_of("open", path, errno)};
  if (!S_ISREG(status.st_mode)) return Failure{"'" + path + "' is no regular file"};
  auto from = ingest::ByteStream::open(path);
  if (!from) return from.failure();
  if (from.value()->compressed()) return Failure{"'" + path + "' is compressed already"};
  Compressed result{.path = path + std::string(kCompressedSuffix),
                    .bytes_before = static_cast<std::uint64_t>(status.st_size)};
  // One that was killed between the renaming and the removal has left both.
  struct stat other {};
  if (::lstat(result.path.c_str(), &other) == 0) {
    if (!S_ISREG(other.st_mode) || !are_equal(path, result.path)) {
      return Failure{"'" + result.path + "' exists, and does not give the bytes of '" + path + "'"};
    }
    result.bytes_after = static_cast<std::uint64_t>(other.st_size);
    if (const int error = disk::remove(path); error != 0) return Failure{text_of("remove", path, error)};
    return result;
  }
  const std::string part = result.path + std::string(kPartSuffix);
  const auto give_up = [&part](std::string why) {
    (void)disk::remove(part);
    return Failure{std::move(why)};
  };
  if (is_being_written(part)) return Failure{"'" + path + "' is being compressed by another process"};
  (void)disk::remove(part);  // of an attempt that was killed
  disk::File to;
  if (const int error = to.open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, status.st_mode & 0777); error != 0) {
    return Failure{text_of("write", part, error)};
  }
  // Says to others that it is not abandoned, as long as this process lives.
  if (::flock(to.get(), LOCK_EX | LOCK_NB) != 0) return give_up(text_of("lock", part, errno));
  if (const auto problem = compress(*from.value(), to, part, result.bytes_after)) return give_up(*problem);
  const timespec times[] = {status.st_atim, status.st_mtim};
  // Root compresses files of the appliance's user, who goes on reading them.
  const bool is_foreign = status.st_uid != ::geteuid() || status.st_gid != ::getegid();
  if (is_foreign && ::fchown(to.get(), status.st_uid, status.st_gid) != 0 && errno != EPERM) {
    return give_up(text_of("hand over", part, errno));
  }
  if (::futimens(to.get(), times) != 0 || ::fsync(to.get()) != 0) return give_up(text_of("write", part, errno));
  if (const int error = to.close(); error != 0) return give_up(text_of("write", part, error));
  if (!are_equal(path, part)) return give_up("'" + part + "' does not give the bytes of '" + path + "' again");
  if (const int error = disk::rename(part, result.path); error != 0) {
    return give_up(text_of("rename", part, error));
  }
  if (const int error = disk::remove(path); error != 0) return Failure{text_of("remove", path, error)};
  return result;
}

}  // namespace stopbit::recorder
