#include "host/ports/recorder/pcapng_writer.hpp"

#include <algorithm>
#include <array>

#include "host/feed/packet/byte_order.hpp"

namespace stopbit::recorder {
namespace {

// https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html; little-endian, as the byte-order magic says.
constexpr std::uint32_t kSectionHeader = 0x0A0D0D0A;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint32_t kByteOrderMagic = 0x1A2B3C4D;
constexpr std::uint32_t kVersion = 1;  // 1.0: major, then minor
constexpr std::uint32_t kEthernet = 1;
constexpr std::uint32_t kCommentOption = 1;
constexpr std::uint32_t kNameOption = 2;
constexpr std::uint32_t kResolutionOption = 9;
constexpr std::uint32_t kNanoseconds = 9;  // 10^-9
constexpr std::size_t kMaxNameBytes = 64;

}  // namespace

PcapngWriter::PcapngWriter(ByteSink sink, std::span<const std::string_view> interfaces) : sink_(std::move(sink)) {
  put(kSectionHeader);
  put(0);
  put(kByteOrderMagic);
  put(kVersion);
  put(0xFFFF'FFFF);  // length of the section: not said
  put(0xFFFF'FFFF);
  end_block();
  for (const std::string_view whole_name : interfaces) {
    const std::string_view name = whole_name.substr(0, kMaxNameBytes);
    put(kInterface);
    put(0);
    put(kEthernet);
    put(kMaxFrameBytes);
    put(kNameOption | static_cast<std::uint32_t>(name.size()) << 16);
    put_bytes(std::as_bytes(std::span(name)));
    put(kResolutionOption | 1U << 16);
    put(kNanoseconds);
    put(0);  // end of options
    end_block();
  }
}

void PcapngWriter::write(std::uint32_t interface, std::span<const std::byte> frame, std::uint64_t time_ns,
                         std::string_view comment) {
  const std::span<const std::byte> kept = frame.first(std::min(frame.size(), kMaxFrameBytes));
  put(kEnhancedPacket);
  put(0);
  put(interface);
  put(static_cast<std::uint32_t>(time_ns >> 32));
  put(static_cast<std::uint32_t>(time_ns));
  put(static_cast<std::uint32_t>(kept.size()));
  put(static_cast<std::uint32_t>(std::min<std::size_t>(frame.size(), 0xFFFF'FFFF)));
  put_bytes(kept);
  if (!comment.empty()) {
    const std::string_view cut = comment.substr(0, kMaxCommentBytes);
    put(kCommentOption | static_cast<std::uint32_t>(cut.size()) << 16);
    put_bytes(std::as_bytes(std::span(cut)));
    put(0);  // end of options
  }
  end_block();
}

void PcapngWriter::put(std::uint32_t value) {
  const std::size_t at = block_.size();
  block_.resize(at + 4);
  net::store_le(&block_[at], value);
}

/// Padded to 32 bits.
void PcapngWriter::put_bytes(std::span<const std::byte> bytes) {
  block_.insert(block_.end(), bytes.begin(), bytes.end());
  block_.resize((block_.size() + 3) / 4 * 4);
}

/// The length is at both ends of a block.
void PcapngWriter::end_block() {
  const auto length = static_cast<std::uint32_t>(block_.size() + 4);
  put(length);
  net::store_le(&block_[4], length);
  sink_(block_);
  bytes_ += block_.size();
  block_.clear();
}

}  // namespace stopbit::recorder
