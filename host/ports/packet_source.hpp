#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "decoder/record/layout.hpp"
#include "host/feed/packet/packet.hpp"

/// Where packets come from. One leaf folder per kind of source; the rest of the program sees this interface only.
namespace stopbit::ingest {

/// A frame as it was captured.
struct Packet {
  std::span<const std::byte> frame;  ///< Valid until the next call of next().
  std::size_t original_bytes = 0;  ///< On the wire; more than frame.size() if the capture cut the frame (snap length).
  std::uint64_t arrival_ns = 0;    ///< Since the epoch.
  std::uint64_t number = 0;        ///< In its source, counted from 1.
  net::LinkType link = net::LinkType::Ethernet;
};

enum class Next : std::uint8_t {
  Packet,  ///< `packet` is set.
  End,     ///< There is nothing more.
  Fault,   ///< The source is damaged from here on; fault() says how. All packets before were good. End follows.
};

/// Error that ended a source early.
struct Fault {
  std::uint64_t packet = 0;  ///< Number of the first packet that could not be read.
  std::uint64_t offset = 0;  ///< Where it begins: byte of the (decompressed) file.
  std::string message;       ///< One sentence without a full stop; names the source, packet and byte offset.
};

/// How far a source is.
struct SourceProgress {
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;  ///< 0 = unknown (a pipe).
};

/// A run of packets. One thread. Allocates when it is made, and for a fault; a source may also grow its packet buffer,
/// a bounded number of times, when longer packets come than before.
class PacketSource {
 public:
  PacketSource() = default;
  PacketSource(const PacketSource&) = delete;
  PacketSource& operator=(const PacketSource&) = delete;
  virtual ~PacketSource() = default;

  [[nodiscard]] virtual Next next(Packet& packet) noexcept = 0;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual const Fault& fault() const noexcept = 0;  ///< Valid after Next::Fault.
  [[nodiscard]] virtual SourceProgress progress() const noexcept = 0;
  /// Best possible quality of the arrival times; a capture file does not say who took them.
  [[nodiscard]] virtual record::TimeQuality time_quality() const noexcept = 0;
  /// From any thread: next() no longer waits for a pipe in which nothing is; it ends as a file that was cut.
  virtual void cancel() noexcept {}
  /// Asked every 50 ms while next() waits for a pipe, on its thread: true does as cancel(). Before the first next().
  // NOLINTNEXTLINE(performance-unnecessary-value-param): a source that waits keeps it
  virtual void ask_while_waiting(std::function<bool()> /*is_cancelled*/) {}
};

}  // namespace stopbit::ingest
