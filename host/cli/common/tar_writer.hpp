#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace stopbit::tools {

/// Writes an archive that tar(1) reads: POSIX ustar, regular files only, mode 0644.
class TarWriter {
 public:
  /// Where the bytes of the archive go. May throw.
  using Sink = std::function<void(std::string_view)>;
  explicit TarWriter(Sink sink) : sink_(std::move(sink)) {}

  static constexpr std::size_t kMaxNameBytes = 100;
  static constexpr std::uint64_t kMaxFileBytes = (1ULL << 33) - 1;

  /// A whole file. `name`: relative, at most kMaxNameBytes; a longer one is cut at its front. `time_ns`: since 1970.
  void add(std::string_view name, std::string_view content, std::uint64_t time_ns);
  /// The same in pieces: the head, then exactly `bytes` bytes in any number of calls, then end().
  void begin(std::string_view name, std::uint64_t bytes, std::uint64_t time_ns);
  void write(std::string_view piece);
  void end();
  /// The end of the archive.
  void finish();

 private:
  Sink sink_;
  std::uint64_t bytes_left_ = 0;
  std::uint64_t padding_ = 0;
};

}  // namespace stopbit::tools
