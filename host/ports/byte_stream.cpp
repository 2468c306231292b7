#include "host/ports/byte_stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "host/os/error_text.hpp"

namespace stopbit::ingest {
namespace {

constexpr std::size_t kBufferBytes = 256U << 10;

}  // namespace

/// One way to compress. Files are runs of members (gzip) or frames (zstd).
struct ByteStream::Decompressor {
  /// Of one call.
  struct Work {
    std::size_t taken = 0;
    std::size_t made = 0;
    bool member_ended = false;
    const char* damage = nullptr;  ///< In the library's words; may be empty.
  };

  Decompressor() = default;
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  virtual ~Decompressor() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Whether a member can begin with this byte.
  [[nodiscard]] virtual bool begins(std::byte first) const noexcept = 0;
  virtual void begin() noexcept = 0;
  [[nodiscard]] virtual Work run(std::span<const std::byte> input, std::span<std::byte> output) noexcept = 0;

  bool in_member = true;
  bool may_hold_output = false;  ///< The last call filled its output: there may be more without more input.
};

namespace {

constexpr std::array kGzipMagic = {std::byte{0x1F}, std::byte{0x8B}};
constexpr std::array kZstdMagic = {std::byte{0x28}, std::byte{0xB5}, std::byte{0x2F}, std::byte{0xFD}};
/// A frame that asks for a larger window is refused: memory is not an attacker's to ask for.
constexpr int kZstdWindowLog = 27;

}  // namespace

struct ByteStream::Gzip final : ByteStream::Decompressor {
  Gzip() { ready = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK; }
  ~Gzip() override { inflateEnd(&stream); }

  std::string_view name() const noexcept override { return "gzip"; }
  bool begins(std::byte first) const noexcept override { return first == kGzipMagic[0]; }
  void begin() noexcept override { inflateReset(&stream); }
  Work run(std::span<const std::byte> input, std::span<std::byte> output) noexcept override {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));  // zlib only reads it
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(output.data());
    stream.avail_out = static_cast<uInt>(output.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    const bool is_damaged = status != Z_OK && status != Z_BUF_ERROR && status != Z_STREAM_END;
    return {.taken = input.size() - stream.avail_in,
            .made = output.size() - stream.avail_out,
            .member_ended = status == Z_STREAM_END,
            .damage = !is_damaged             ? nullptr
                      : stream.msg != nullptr ? stream.msg
                                              : ""};
  }

  z_stream stream{};
  bool ready = false;
};

struct ByteStream::Zstd final : ByteStream::Decompressor {
  Zstd() {
    ready =
        context != nullptr && ZSTD_isError(ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, kZstdWindowLog)) == 0;
  }
  ~Zstd() override { ZSTD_freeDCtx(context); }

  std::string_view name() const noexcept override { return "zstd"; }
  bool begins(std::byte first) const noexcept override {
    return first == kZstdMagic[0] || (first >> 4) == std::byte{5};  // a skippable frame: 50 to 5f
  }
  void begin() noexcept override { (void)ZSTD_DCtx_reset(context, ZSTD_reset_session_only); }
  Work run(std::span<const std::byte> input, std::span<std::byte> output) noexcept override {
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{output.data(), output.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context, &out, &in);
    return {.taken = in.pos,
            .made = out.pos,
            .member_ended = left == 0,
            .damage = ZSTD_isError(left) != 0 ? ZSTD_getErrorName(left) : nullptr};
  }

  ZSTD_DCtx* context = ZSTD_createDCtx();
  bool ready = false;
};

Result<std::unique_ptr<ByteStream>> ByteStream::open(const std::string& path) {
  const bool standard_input = path == "-";
  const int descriptor = standard_input ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Failure{path + ": " + os::error_text()};
  return from_descriptor(descriptor, standard_input ? "standard input" : path);
}

Result<std::unique_ptr<ByteStream>> ByteStream::from_descriptor(int descriptor, std::string name) {
  std::unique_ptr<ByteStream> stream(new ByteStream(descriptor, std::move(name)));
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return Failure{stream->name_ + ": " + os::error_text()};
  if (S_ISDIR(status.st_mode)) return Failure{stream->name_ + ": it is a folder"};
  stream->may_wait_ = !S_ISREG(status.st_mode);
  if (!stream->may_wait_) stream->file_bytes_total_ = static_cast<std::uint64_t>(status.st_size);

  while (stream->input_end_ < kZstdMagic.size() && stream->fill_input()) {
  }
  if (!stream->fault_.empty()) return Failure{stream->name_ + ": " + stream->fault_};
  const std::span<const std::byte> start(stream->input_.get(), stream->input_end_);
  const auto starts_with = [start](const auto& magic) {
    return start.size() >= magic.size() && std::equal(magic.begin(), magic.end(), start.begin());
  };
  const auto decompress = [&]<class T>(std::unique_ptr<T> decompressor) {
    const bool is_ready = decompressor->ready;
    stream->decompressor_ = std::move(decompressor);
    stream->output_ = std::make_unique_for_overwrite<std::byte[]>(kBufferBytes);
    return is_ready;
  };
  if ((starts_with(kGzipMagic) && !decompress(std::make_unique<Gzip>())) ||
      (starts_with(kZstdMagic) && !decompress(std::make_unique<Zstd>()))) {
    return Failure{stream->name_ + ": not enough memory to decompress it"};
  }
  return stream;
}

ByteStream::ByteStream(int descriptor, std::string name)
    : name_(std::move(name)),
      descriptor_(descriptor),
      input_(std::make_unique_for_overwrite<std::byte[]>(kBufferBytes)) {}

ByteStream::~ByteStream() {
  ::close(descriptor_);
}

std::size_t ByteStream::read(std::byte* to, std::size_t bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes) {
    auto& at = decompressor_ ? output_at_ : input_at_;
    const std::size_t there = (decompressor_ ? output_end_ : input_end_) - at;
    if (there == 0) {
      if (!(decompressor_ ? fill_output() != 0 : fill_input())) break;
      continue;
    }
    const std::size_t count = std::min(there, bytes - done);
    std::memcpy(to + done, (decompressor_ ? output_ : input_).get() + at, count);
    at += count;
    done += count;
  }
  position_ += done;
  return done;
}

bool ByteStream::starts_with(std::span<const std::byte> bytes) noexcept {
  if (decompressor_) {
    if (output_end_ == output_at_) (void)fill_output();  // a buffer is much longer than any `bytes`
  } else {
    while (input_end_ - input_at_ < bytes.size() && fill_input()) {
    }
  }
  const std::span<const std::byte> there = decompressor_
                                               ? std::span(output_.get() + output_at_, output_end_ - output_at_)
                                               : std::span(input_.get() + input_at_, input_end_ - input_at_);
  return there.size() >= bytes.size() && std::equal(bytes.begin(), bytes.end(), there.begin());
}

std::uint64_t ByteStream::file_bytes_done() const noexcept {
  return file_bytes_read_ - (input_end_ - input_at_);
}

/// Reads more of the file after the buffered bytes, or from the buffer's start if those are used up.
bool ByteStream::fill_input() noexcept {
  if (input_at_ == input_end_) input_at_ = input_end_ = 0;
  if (file_ended_ || input_end_ == kBufferBytes) return false;
  if (!wait_for_input()) {
    file_ended_ = true;
    return false;
  }
  ssize_t count = 0;
  do {
    count = ::read(descriptor_, input_.get() + input_end_, kBufferBytes - input_end_);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) {
    file_ended_ = true;
    if (count < 0) fail("cannot be read at byte " + std::to_string(file_bytes_read_) + ": " + os::error_text());
    return false;
  }
  input_end_ += static_cast<std::size_t>(count);
  file_bytes_read_ += static_cast<std::uint64_t>(count);
  return true;
}

/// False: cancelled.
bool ByteStream::wait_for_input() noexcept {
  constexpr int kWaitMs = 50;
  pollfd waiting{descriptor_, POLLIN, 0};
  while (!cancelled_.load(std::memory_order_relaxed)) {
    if (!may_wait_ || ::poll(&waiting, 1, kWaitMs) > 0) return true;  // what is wrong with it, read() says
    if (is_cancelled_ && is_cancelled_()) cancel();
  }
  return false;
}

/// After a member: finds out whether another one follows. Zero bytes up to the end are padding of the medium.
bool ByteStream::begin_member() noexcept {
  for (;;) {
    while (input_at_ < input_end_ && input_[input_at_] == std::byte{0}) ++input_at_;
    if (input_at_ < input_end_) break;
    if (!fill_input()) return false;
  }
  if (!decompressor_->begins(input_[input_at_])) {
    fail("bytes that are not " + std::string(decompressor_->name()) + " follow the compressed data, at byte " +
         std::to_string(file_bytes_done()) + " of the compressed file");
    return false;
  }
  decompressor_->begin();
  decompressor_->in_member = true;
  return true;
}

/// Decompresses into the empty output buffer. Hands out the bytes before damage.
std::size_t ByteStream::fill_output() noexcept {
  output_at_ = output_end_ = 0;
  while (output_end_ == 0 && !ended_) {
    if (!decompressor_->in_member && !begin_member()) {
      ended_ = true;
      break;
    }
    if (input_at_ == input_end_ && !fill_input() && !decompressor_->may_hold_output) {
      fail("the compressed data ends early, at byte " + std::to_string(file_bytes_read_) + " of the compressed file");
      ended_ = true;
      break;
    }
    const Decompressor::Work work =
        decompressor_->run({input_.get() + input_at_, input_end_ - input_at_}, {output_.get(), kBufferBytes});
    input_at_ += work.taken;
    output_end_ = work.made;
    decompressor_->may_hold_output = work.made == kBufferBytes;
    if (work.member_ended) {
      decompressor_->in_member = false;
    } else if (work.damage != nullptr) {
      const std::string words = work.damage;
      fail("the compressed data is damaged near byte " + std::to_string(file_bytes_done()) + " of the compressed file" +
           (words.empty() ? "" : " (" + words + ")"));
      ended_ = true;
    }
  }
  return output_end_;
}

void ByteStream::fail(std::string what) noexcept {
  if (fault_.empty()) fault_ = std::move(what);
}

}  // namespace stopbit::ingest
