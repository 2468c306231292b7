#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "microcode/base/result.hpp"

namespace stopbit::egress {

/// Where the bytes of a file go. May throw.
using ByteSink = std::function<void(std::string_view)>;

/// Writes a pcap file of Ethernet frames with time stamps in nanoseconds.
class PcapWriter {
 public:
  PcapWriter(PcapWriter&&) noexcept;
  PcapWriter& operator=(PcapWriter&&) = delete;
  ~PcapWriter();

  /// Hands the file's header to `sink`, which must live as long as the writer. What the sink throws comes out here and
  /// at write().
  [[nodiscard]] static Result<PcapWriter> open(ByteSink sink);
  void write(std::span<const std::byte> frame, std::uint64_t time_ns);

 private:
  class File;
  explicit PcapWriter(std::unique_ptr<File> file);
  std::unique_ptr<File> file_;
};

}  // namespace stopbit::egress
