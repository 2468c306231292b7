#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace stopbit::recorder {

/// Where the bytes of a file go. May throw; what it throws comes out of the writer's functions.
using ByteSink = std::function<void(std::span<const std::byte>)>;

/// Writes a pcapng file of Ethernet frames with times in nanoseconds: one section, an interface for each line, and
/// nothing but enhanced packet blocks. Every write is one call of the sink, so a file that breaks off holds whole
/// blocks up to there.
class PcapngWriter {
 public:
  /// Writes the head. Other tools show the names as those of the interfaces; names are cut after 64 bytes.
  PcapngWriter(ByteSink sink, std::span<const std::string_view> interfaces);

  /// `interface` counts from 0. A frame may have kMaxFrameBytes; of a longer one the rest is left out. Other tools show
  /// the comment with the packet; it is cut after kMaxCommentBytes.
  void write(std::uint32_t interface, std::span<const std::byte> frame, std::uint64_t time_ns,
             std::string_view comment = {});

  /// So far.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  static constexpr std::size_t kMaxFrameBytes = 65'535 + 14;
  static constexpr std::size_t kMaxCommentBytes = 1'000;
  /// Of the block of a frame without a comment.
  static constexpr std::size_t block_bytes(std::size_t frame_bytes) noexcept { return 32 + (frame_bytes + 3) / 4 * 4; }

 private:
  void put(std::uint32_t value);
  void put_bytes(std::span<const std::byte> bytes);
  void end_block();

  ByteSink sink_;
  std::vector<std::byte> block_;
  std::uint64_t bytes_ = 0;
};

}  // namespace stopbit::recorder
