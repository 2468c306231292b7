#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "microcode/base/result.hpp"

namespace stopbit::ingest {

/// The bytes of a file or pipe, decompressed if they are gzip or zstd (any number of members or frames). Sequential,
/// buffered, bounded memory; allocates when it is opened. One thread.
class ByteStream {
 public:
  /// "-" is standard input.
  [[nodiscard]] static Result<std::unique_ptr<ByteStream>> open(const std::string& path);
  /// Takes the descriptor over and closes it. `name` is for messages.
  [[nodiscard]] static Result<std::unique_ptr<ByteStream>> from_descriptor(int descriptor, std::string name);

  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  ~ByteStream();

  /// Fewer bytes than asked for: the end, or a fault.
  [[nodiscard]] std::size_t read(std::byte* to, std::size_t bytes) noexcept;

  /// Whether the bytes to be handed out next are these, at most 64. Before the first read() only.
  [[nodiscard]] bool starts_with(std::span<const std::byte> bytes) noexcept;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Bytes handed out, decompressed.
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  /// From any thread: read() no longer waits for a pipe; the bytes end.
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
  /// Asked every 50 ms while read() waits for a pipe, on its thread: true does as cancel().
  void ask_while_waiting(std::function<bool()> is_cancelled) { is_cancelled_ = std::move(is_cancelled); }
  /// Why the bytes end before their time; empty if they do not. One clause: "the compressed data ends early ...".
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
  [[nodiscard]] bool compressed() const noexcept { return decompressor_ != nullptr; }
  /// Bytes of the file taken, and its size (0 = unknown).
  [[nodiscard]] std::uint64_t file_bytes_done() const noexcept;
  [[nodiscard]] std::uint64_t file_bytes_total() const noexcept { return file_bytes_total_; }

 private:
  struct Decompressor;
  struct Gzip;
  struct Zstd;

  ByteStream(int descriptor, std::string name);
  bool fill_input() noexcept;
  [[nodiscard]] bool wait_for_input() noexcept;
  std::size_t fill_output() noexcept;
  bool begin_member() noexcept;
  void fail(std::string what) noexcept;

  std::string name_;
  int descriptor_;
  std::unique_ptr<std::byte[]> input_;  ///< As read from the file.
  std::size_t input_at_ = 0;
  std::size_t input_end_ = 0;
  std::unique_ptr<std::byte[]> output_;  ///< Decompressed; null for plain files.
  std::size_t output_at_ = 0;
  std::size_t output_end_ = 0;
  std::unique_ptr<Decompressor> decompressor_;
  std::uint64_t position_ = 0;
  std::uint64_t file_bytes_read_ = 0;
  std::uint64_t file_bytes_total_ = 0;
  bool may_wait_ = true;  ///< It is no regular file.
  std::atomic<bool> cancelled_ = false;
  std::function<bool()> is_cancelled_;  ///< Empty: nothing is asked.
  bool file_ended_ = false;
  bool ended_ = false;  ///< No output will come any more.
  std::string fault_;
};

}  // namespace stopbit::ingest
