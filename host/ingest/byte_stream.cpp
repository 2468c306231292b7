#include "host/ingest/byte_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stopbit::ingest {
namespace {

constexpr std::size_t kBufferBytes = 256U << 10;

std::string system_error() {
  return std::strerror(errno);
}

}  // namespace

/// The state of zlib, and whether a member is open.
struct ByteStream::Inflate {
  z_stream stream{};
  bool in_member = false;

  ~Inflate() { inflateEnd(&stream); }
};

Result<std::unique_ptr<ByteStream>> ByteStream::open(const std::string& path) {
  const bool standard_input = path == "-";
  const int descriptor = standard_input ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Failure{path + ": " + system_error()};
  return from_descriptor(descriptor, standard_input ? "standard input" : path);
}

Result<std::unique_ptr<ByteStream>> ByteStream::from_descriptor(int descriptor, std::string name) {
  std::unique_ptr<ByteStream> stream(new ByteStream(descriptor, std::move(name)));
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return Failure{stream->name_ + ": " + system_error()};
  if (S_ISDIR(status.st_mode)) return Failure{stream->name_ + ": is a folder"};
  if (S_ISREG(status.st_mode)) stream->file_bytes_total_ = static_cast<std::uint64_t>(status.st_size);

  while (stream->input_end_ < 2 && stream->fill_input()) {
  }
  if (!stream->fault_.empty()) return Failure{stream->name_ + ": " + stream->fault_};
  const auto* const input = stream->input_.get();
  if (stream->input_end_ >= 2 && input[0] == std::byte{0x1F} && input[1] == std::byte{0x8B}) {
    stream->inflate_ = std::make_unique<Inflate>();
    stream->output_ = std::make_unique_for_overwrite<std::byte[]>(kBufferBytes);
    if (inflateInit2(&stream->inflate_->stream, 16 + MAX_WBITS) != Z_OK) return Failure{"zlib does not start"};
    stream->inflate_->in_member = true;
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
    auto& at = inflate_ ? output_at_ : input_at_;
    const std::size_t there = (inflate_ ? output_end_ : input_end_) - at;
    if (there == 0) {
      if (!(inflate_ ? fill_output() != 0 : fill_input())) break;
      continue;
    }
    const std::size_t count = std::min(there, bytes - done);
    std::memcpy(to + done, (inflate_ ? output_ : input_).get() + at, count);
    at += count;
    done += count;
  }
  position_ += done;
  return done;
}

std::uint64_t ByteStream::file_bytes_done() const noexcept {
  return file_bytes_read_ - (input_end_ - input_at_);
}

/// Reads more of the file behind what is in the buffer, or from its start if that was used up.
bool ByteStream::fill_input() noexcept {
  if (input_at_ == input_end_) input_at_ = input_end_ = 0;
  if (file_ended_ || input_end_ == kBufferBytes) return false;
  ssize_t count = 0;
  do {
    count = ::read(descriptor_, input_.get() + input_end_, kBufferBytes - input_end_);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) {
    file_ended_ = true;
    if (count < 0) fail("cannot be read at byte " + std::to_string(file_bytes_read_) + ": " + system_error());
    return false;
  }
  input_end_ += static_cast<std::size_t>(count);
  file_bytes_read_ += static_cast<std::uint64_t>(count);
  return true;
}

/// Behind a member: finds out whether another one follows. Zero bytes up to the end are padding of the medium.
bool ByteStream::begin_member() noexcept {
  for (;;) {
    while (input_at_ < input_end_ && input_[input_at_] == std::byte{0}) ++input_at_;
    if (input_at_ < input_end_) break;
    if (!fill_input()) return false;
  }
  if (input_[input_at_] != std::byte{0x1F}) {
    fail("bytes that are not gzip follow the compressed data, at byte " + std::to_string(file_bytes_done()) +
         " of the compressed file");
    return false;
  }
  inflateReset(&inflate_->stream);
  inflate_->in_member = true;
  return true;
}

/// Decompresses into the empty output buffer. What comes before damage is handed out.
std::size_t ByteStream::fill_output() noexcept {
  output_at_ = output_end_ = 0;
  z_stream& stream = inflate_->stream;
  while (output_end_ == 0 && !ended_) {
    if (!inflate_->in_member && !begin_member()) {
      ended_ = true;
      break;
    }
    if (input_at_ == input_end_ && !fill_input()) {
      fail("the compressed data ends early, at byte " + std::to_string(file_bytes_read_) + " of the compressed file");
      ended_ = true;
      break;
    }
    stream.next_in = reinterpret_cast<Bytef*>(input_.get() + input_at_);
    stream.avail_in = static_cast<uInt>(input_end_ - input_at_);
    stream.next_out = reinterpret_cast<Bytef*>(output_.get());
    stream.avail_out = static_cast<uInt>(kBufferBytes);
    const int status = inflate(&stream, Z_NO_FLUSH);
    input_at_ = input_end_ - stream.avail_in;
    output_end_ = kBufferBytes - stream.avail_out;
    if (status == Z_STREAM_END) {
      inflate_->in_member = false;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail("the compressed data is damaged near byte " + std::to_string(file_bytes_done()) + " of the compressed file" +
           (stream.msg != nullptr ? std::string(" (") + stream.msg + ")" : ""));
      ended_ = true;
    }
  }
  return output_end_;
}

void ByteStream::fail(std::string what) noexcept {
  if (fault_.empty()) fault_ = std::move(what);
}

}  // namespace stopbit::ingest
