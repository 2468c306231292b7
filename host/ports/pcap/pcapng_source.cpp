#include "host/ports/pcap/pcapng_source.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "host/feed/packet/byte_order.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::ingest {
namespace {

__extension__ typedef unsigned __int128 UInt128;

constexpr std::size_t kMaxBlockBytes = 16U << 20;
constexpr std::size_t kMaxInterfaces = 4'096;
constexpr std::size_t kFrameBytes = 12;  ///< Type, length, and the length again at the end.

constexpr std::uint32_t kSection = 0x0A0D0D0A;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kOldPacket = 2;
constexpr std::uint32_t kSimplePacket = 3;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint32_t kByteOrderMagic = 0x1A2B3C4D;
constexpr std::uint16_t kTimeResolution = 9;  ///< Options of an interface.
constexpr std::uint16_t kTimeOffset = 14;

struct Interface {
  int link_number = 0;  ///< As the file says it.
  std::optional<net::LinkType> link;
  std::uint32_t snap_length = 0;  ///< 0 = none.
  std::uint8_t resolution = 6;    ///< if_tsresol: a power of ten, or of two with the top bit.
  std::uint64_t offset_seconds = 0;
};

/// Times are the file's: a hostile one may wrap, no harm.
std::uint64_t to_ns(const Interface& interface, std::uint64_t time) {
  const unsigned exponent = interface.resolution & 0x7F;
  std::uint64_t ns = 0;
  if ((interface.resolution & 0x80) != 0) {
    if (exponent < 64) ns = static_cast<std::uint64_t>(UInt128{time} * kNsPerSecond >> exponent);
  } else {
    ns = time;
    for (unsigned i = exponent; i < 9; ++i) ns *= 10;
    for (unsigned i = 9; i < exponent; ++i) ns /= 10;
  }
  return ns + interface.offset_seconds * kNsPerSecond;
}

class PcapngSource final : public PacketSource {
 public:
  explicit PcapngSource(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  /// Reads up to the first packet, which waits. Fails if this is no capture.
  Status begin() {
    const Next next = load();
    const bool has_interfaces = !interfaces_.empty();
    if (next == Next::Fault && !has_interfaces) {
      return Failure{"not a pcap or pcapng capture: " + (stream_->fault().empty() ? reason_ : stream_->fault())};
    }
    if (!has_interfaces) return Failure{"not a pcap or pcapng capture: it describes no interface"};
    const bool none_readable = std::none_of(interfaces_.begin(), interfaces_.end(),
                                            [](const Interface& interface) { return interface.link.has_value(); });
    if (none_readable) {
      return Failure{"link type " + std::to_string(interfaces_[0].link_number) +
                     " is not supported (Ethernet, Linux cooked, raw IP and loopback are)"};
    }
    waiting_ = next;
    return Done{};
  }

  Next next(Packet& packet) noexcept override {
    if (ended_) return Next::End;
    const Next next = waiting_ ? *std::exchange(waiting_, std::nullopt) : load();
    if (next == Next::Packet) {
      packet = packet_;
      packet.number = ++packets_;
      return next;
    }
    ended_ = true;
    if (next == Next::Fault) set_fault();
    return next;
  }

  std::string_view name() const noexcept override { return stream_->name(); }
  const Fault& fault() const noexcept override { return fault_; }
  SourceProgress progress() const noexcept override {
    return {stream_->compressed() ? stream_->file_bytes_done() : stream_->position(), stream_->file_bytes_total()};
  }
  record::TimeQuality time_quality() const noexcept override { return record::TimeQuality::Kernel; }
  void cancel() noexcept override { stream_->cancel(); }
  void ask_while_waiting(std::function<bool()> is_cancelled) override {
    stream_->ask_while_waiting(std::move(is_cancelled));
  }

 private:
  [[nodiscard]] std::uint16_t u16(const std::byte* from) const noexcept {
    return big_endian_ ? net::load_be<std::uint16_t>(from) : net::load_le<std::uint16_t>(from);
  }
  [[nodiscard]] std::uint32_t u32(const std::byte* from) const noexcept {
    return big_endian_ ? net::load_be<std::uint32_t>(from) : net::load_le<std::uint32_t>(from);
  }
  [[nodiscard]] std::uint64_t u64(const std::byte* from) const noexcept {
    return big_endian_ ? net::load_be<std::uint64_t>(from) : net::load_le<std::uint64_t>(from);
  }

  /// All give false.
  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  bool cut() {
    return refuse("cut: the file ends at byte " + std::to_string(stream_->position()) + ", inside the packet's record");
  }

  /// Reads blocks until there is a packet in packet_.
  Next load() {
    for (;;) {
      begin_ = stream_->position();
      std::array<std::byte, 8> head{};
      const std::size_t count = stream_->read(head.data(), head.size());
      if (count == 0 && stream_->fault().empty() && begin_ != 0) return Next::End;
      if (count != head.size()) {
        cut();
        return Next::Fault;
      }
      bool is_packet = false;
      if (!read_block(head, is_packet)) return Next::Fault;
      if (is_packet) return Next::Packet;
    }
  }

  bool read_block(const std::array<std::byte, 8>& head, bool& is_packet) {
    std::uint32_t type = u32(head.data());
    const bool is_section = std::equal(kPcapngMagic.begin(), kPcapngMagic.end(), head.begin());
    std::size_t at = 0;
    if (is_section) {
      // Its byte order follows the length.
      type = kSection;
      body_.resize(4);
      if (stream_->read(body_.data(), 4) != 4) return cut();
      big_endian_ = net::load_be<std::uint32_t>(body_.data()) == kByteOrderMagic;
      if (!big_endian_ && net::load_le<std::uint32_t>(body_.data()) != kByteOrderMagic) {
        return refuse("a section without byte order");
      }
      interfaces_.clear();
      at = 4;
    } else if (begin_ == 0) {
      return refuse("it does not begin with a section");
    }
    const std::uint32_t length = u32(&head[4]);
    if (length < kFrameBytes + at || length > kMaxBlockBytes || length % 4 != 0) {
      return refuse("a block of " + std::to_string(length) + " bytes");
    }
    body_.resize(length - 8);
    if (stream_->read(body_.data() + at, body_.size() - at) != body_.size() - at) return cut();
    if (u32(&body_[body_.size() - 4]) != length) return refuse("a block whose two lengths differ");
    const std::span<const std::byte> body(body_.data(), length - kFrameBytes);
    switch (type) {
      case kInterface: return read_interface(body);
      case kEnhancedPacket: return is_packet = read_packet(body, body.size() < 4 ? 0 : u32(body.data()), 20);
      case kOldPacket: return is_packet = read_packet(body, body.size() < 4 ? 0 : u16(body.data()), 20);
      case kSimplePacket: return is_packet = read_simple_packet(body);
      default: return true;
    }
  }

  bool read_interface(std::span<const std::byte> body) {
    if (body.size() < 8) return refuse("an interface block that is too short");
    if (interfaces_.size() == kMaxInterfaces) return refuse("more than 4096 interfaces in a section");
    Interface interface;
    interface.link_number = u16(body.data());
    interface.link = net::link_type_from_dlt(interface.link_number);
    interface.snap_length = u32(&body[4]);
    for (auto options = body.subspan(8); options.size() >= 4;) {
      const std::uint16_t code = u16(options.data());
      const std::size_t length = u16(&options[2]);
      if (code == 0 || options.size() - 4 < length) break;
      if (code == kTimeResolution && length == 1) interface.resolution = std::to_integer<std::uint8_t>(options[4]);
      if (code == kTimeOffset && length == 8) interface.offset_seconds = u64(&options[4]);
      options = options.subspan(std::min(options.size(), 4 + (length + 3) / 4 * 4));
    }
    interfaces_.push_back(interface);
    return true;
  }

  /// Enhanced and old packet blocks: interface, time (high, low), captured and original length, then the frame.
  bool read_packet(std::span<const std::byte> body, std::size_t index, std::size_t head_bytes) {
    if (body.size() < head_bytes) return refuse("a packet block that is too short");
    if (index >= interfaces_.size())
      return refuse("a packet of interface " + std::to_string(index) + ", which the file does not describe");
    const std::size_t captured = u32(&body[12]);
    if (captured > body.size() - head_bytes) return refuse("a packet longer than its block");
    const std::uint64_t time = std::uint64_t{u32(&body[4])} << 32 | u32(&body[8]);
    take(interfaces_[index], body.subspan(head_bytes, captured), u32(&body[16]), to_ns(interfaces_[index], time));
    return true;
  }

  /// Of the first interface, without a time: that of the packet before.
  bool read_simple_packet(std::span<const std::byte> body) {
    if (body.size() < 4) return refuse("a packet block that is too short");
    if (interfaces_.empty()) return refuse("a packet of interface 0, which the file does not describe");
    const std::size_t original = u32(body.data());
    std::size_t captured = std::min(original, body.size() - 4);
    if (interfaces_[0].snap_length != 0) captured = std::min<std::size_t>(captured, interfaces_[0].snap_length);
    take(interfaces_[0], body.subspan(4, captured), original, packet_.arrival_ns);
    return true;
  }

  void take(const Interface& interface, std::span<const std::byte> frame, std::size_t original, std::uint64_t time_ns) {
    packet_.frame = frame;
    packet_.original_bytes = std::max(original, frame.size());
    packet_.arrival_ns = time_ns;
    packet_.link = interface.link.value_or(net::LinkType::Unknown);
  }

  void set_fault() {
    fault_.packet = packets_ + 1;
    fault_.offset = begin_;
    fault_.message = stream_->name() + ": packet " + std::to_string(fault_.packet) + ", at byte " +
                     std::to_string(begin_) + ": " + (stream_->fault().empty() ? reason_ : stream_->fault());
  }

  std::unique_ptr<ByteStream> stream_;
  bool big_endian_ = false;
  std::vector<Interface> interfaces_;
  std::vector<std::byte> body_;  ///< Of the block, with the length at its end.
  Packet packet_;
  std::optional<Next> waiting_;  ///< Result of begin().
  std::uint64_t begin_ = 0;      ///< Of the block.
  std::uint64_t packets_ = 0;
  bool ended_ = false;
  std::string reason_;
  Fault fault_;
};

}  // namespace

Result<std::unique_ptr<PacketSource>> open_pcapng(std::unique_ptr<ByteStream> stream) {
  const std::string name = stream->name();
  auto source = std::make_unique<PcapngSource>(std::move(stream));
  if (const Status begun = source->begin(); !begun) return Failure{name + ": " + begun.message()};
  return std::unique_ptr<PacketSource>(std::move(source));
}

}  // namespace stopbit::ingest
