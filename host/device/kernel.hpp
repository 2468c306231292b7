#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "host/device/device.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::device {

/// A longer datagram is cut by the kernel (X1).
inline constexpr std::size_t kMaxDatagramBytes = 16'384;

/// A 32-bit word of firmware and where it goes: table in bits 19 to 16, as in fpga/rtl/pkg/stopbit_pkg.sv.
struct LoadWord {
  std::uint32_t address;
  std::uint32_t value;
};

/// What a kernel has counted since its reset.
struct Counters {
  std::uint64_t datagrams = 0;
  std::uint64_t datagram_bytes = 0;
  std::uint64_t datagrams_dropped = 0;  ///< They came while it did not receive.
  std::uint64_t records = 0;            ///< Left the decode core; those of a ring are counted there.
  std::uint64_t records_withdrawn = 0;
  std::uint64_t datagrams_decoded = 0;  ///< To their end, or given up.
  std::uint64_t instructions = 0;
};

/// Where arrival times come from.
struct ClockOptions {
  bool side_band = false;       ///< From beside the frame; else from the kernel's clock:
  double ns_per_cycle = 0;      ///< below 256; 0 stops it,
  std::uint64_t offset_ns = 0;  ///< added to what it counts.
};

/// What a kernel does, in the words of its registers. The device must outlive it; one thread.
///
/// A call that fails has its reason from the device; what it had done by then stays done.
class Kernel {
 public:
  /// Looks whether it is our kernel, and one that this program knows.
  [[nodiscard]] static Result<Kernel> open(Device& device);

  /// isa::Capability bits of what its decode core can run.
  [[nodiscard]] std::uint32_t capabilities() const noexcept { return capabilities_; }

  /// Loads words into a bank, which must not be in use, and compares the kernel's CRC of what arrived.
  [[nodiscard]] Status load(std::uint32_t bank, std::span<const LoadWord> words);

  /// Datagrams are taken, or dropped and counted.
  [[nodiscard]] Status receive(bool on);
  [[nodiscard]] Status set_clock(const ClockOptions& options);
  /// Nanoseconds, by the kernel's clock.
  [[nodiscard]] Result<std::uint64_t> clock();
  /// What records say of their source (record::SourceLine, record::TimeQuality), and how many bytes stand before a
  /// datagram's first message.
  [[nodiscard]] Status describe_input(std::uint8_t source, std::uint8_t time_quality, std::uint16_t preamble_bytes);

  [[nodiscard]] Result<Counters> counters();
  /// Nothing is on its way from the input to memory.
  [[nodiscard]] Result<bool> idle();
  /// What went wrong since the last call, as bits (registers::kErrors...), and clears it.
  [[nodiscard]] Result<std::uint32_t> take_errors();

  /// A sentence for each error bit; empty for none.
  [[nodiscard]] static std::string describe_errors(std::uint32_t errors);

 private:
  explicit Kernel(Device& device) : device_(&device) {}

  Device* device_;
  std::uint32_t capabilities_ = 0;
};

/// A 64-bit register: its lower half first, as the kernel wants it.
[[nodiscard]] Result<std::uint64_t> read64(Device& device, std::uint32_t offset);
[[nodiscard]] Status write64(Device& device, std::uint32_t offset, std::uint64_t value);

}  // namespace stopbit::device
