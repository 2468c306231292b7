#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "host/device/device.hpp"
#include "host/device/filter.hpp"
#include "host/device/generated/registers.hpp"
#include "host/feed/framing/framing.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::device {

/// A longer datagram is cut by the kernel (X1).
inline constexpr std::size_t kMaxDatagramBytes = 16'384;

// Sizes of stopbit_front_pkg.
inline constexpr std::uint32_t kGroups = 64;    ///< Of frames.
inline constexpr std::uint32_t kChannels = 64;  ///< With framing and line rule.
inline constexpr std::uint32_t kMaxWindow = 64;

/// A 32-bit word of firmware and where it goes: table in bits 19 to 16, as in fpga/rtl/pkg/stopbit_pkg.sv.
struct LoadWord {
  std::uint32_t address;
  std::uint32_t value;
};

/// Counters of a kernel since its reset.
struct Counters {
  std::uint64_t datagrams = 0;
  std::uint64_t datagram_bytes = 0;
  std::uint64_t datagrams_dropped = 0;  ///< They came while it did not receive.
  std::uint64_t records = 0;            ///< Left the decode core; those of a ring are counted there.
  std::uint64_t records_withdrawn = 0;
  std::uint64_t datagrams_decoded = 0;  ///< To their end, or given up.
  std::uint64_t instructions = 0;
  std::uint64_t chunks = 0;             ///< Datagrams with a part of a message only, of which nothing was decoded.
  std::uint64_t line_passed = 0;        ///< Of channels with a choice of lines: first copies,
  std::uint64_t line_duplicates = 0;    ///< second copies,
  std::uint64_t line_late = 0;          ///< and packets after a higher number.
  std::uint64_t gaps = 0;               ///< Runs of sequence numbers that were missing,
  std::uint64_t numbers_missing = 0;    ///< and the numbers in them.
  std::uint64_t records_unmatched = 0;  ///< No filter wanted them.
  /// What became of frames: by net::Verdict, and kVerdict...
  std::array<std::uint64_t, registers::verdict::kCount> verdicts{};
};

/// How many counters these are.
inline constexpr std::size_t kCounters = 14 + registers::verdict::kCount;

/// Whether a kernel that was not reset can count so: none has gone back, and none has grown beyond what any line
/// brings.
[[nodiscard]] bool can_follow(const Counters& now, const Counters& before) noexcept;

/// What was counted between two looks.
[[nodiscard]] Counters operator-(Counters now, const Counters& before) noexcept;
/// What two cards have counted, or one before and after its reset.
[[nodiscard]] Counters operator+(Counters one, const Counters& other) noexcept;

// Verdicts that only the kernel has.
inline constexpr std::size_t kVerdictChecksumBad = 14;  ///< Of the IPv4 header.
inline constexpr std::size_t kVerdictFrameBad = 15;     ///< The MAC says so.
inline constexpr std::size_t kVerdictFiltered = 16;     ///< Of no group.
inline constexpr std::size_t kVerdictOverflow = 17;     ///< No room.

/// Input of the kernel, and how it takes it.
struct Intake {
  bool frames = false;          ///< Ethernet frames; else the payload of datagrams, `tdest` is the channel. Of frames:
  bool fcs = false;             ///< they end with their FCS, which is checked (else the MAC has done both);
  bool check_header = false;    ///< the checksum of the IPv4 header is looked at;
  bool drop_when_full = false;  ///< what finds no room is dropped and counted, else the network waits;
  bool cut_through = false;     ///< the first bytes go on before the last has come.
};

/// Datagrams that are taken out of frames. Addresses and ports as numbers: 239.1.2.3 is 0xEF010203.
struct Group {
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  std::uint16_t channel = 0;
  std::uint8_t line = 0;                     ///< record::SourceLine.
  std::optional<std::uint32_t> source = {};  ///< Only from this address.
};

/// How the copies of a channel's datagrams are chosen: the first of each sequence number passes, and gaps become event
/// records.
struct LineRule {
  bool carousel = false;      ///< Number 1 after a higher one begins a cycle.
  std::uint32_t window = 64;  ///< Numbers that are known, 1 to 64; what is older counts as late.
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

  /// Whether it still answers as our kernel.
  [[nodiscard]] Status check() const;

  /// isa::Capability bits of what its decode core can run.
  [[nodiscard]] std::uint32_t capabilities() const noexcept { return capabilities_; }
  /// Its decode cores, at least 1: channel n is decoded by core n modulo this number.
  [[nodiscard]] std::uint32_t engines() const noexcept { return engines_; }

  /// Loads words into a bank, which must not be in use; compares the kernel's CRC of what arrived, and then verifies.
  [[nodiscard]] Status load(std::uint32_t bank, std::span<const LoadWord> words);
  /// Whether the memories that the decode core runs from hold these words: the kernel reads them back and makes their
  /// CRC. Takes a cycle for each word and does not disturb decoding, so it can be called at any time.
  [[nodiscard]] Status verify(std::uint32_t bank, std::span<const LoadWord> words);

  /// Datagrams are taken, or dropped and counted.
  [[nodiscard]] Status receive(bool on);
  [[nodiscard]] Status set_clock(const ClockOptions& options);
  /// Nanoseconds, by the kernel's clock.
  [[nodiscard]] Result<std::uint64_t> clock();
  /// Only while nothing is received and the kernel is idle.
  [[nodiscard]] Status set_intake(const Intake& intake);
  /// Entry `index` of the table of groups, from 0 to 63; without a group it is empty. The first one that fits counts.
  [[nodiscard]] Status set_group(std::uint32_t index, const std::optional<Group>& group);
  /// How the preambles of a channel (0 to 63) are read; without a framing, describe_input's bytes are skipped. No
  /// packet of the channel may be on its way. Fails if the kernel cannot read it: blocks, fields after 48 bytes, a
  /// longer skip.
  [[nodiscard]] Status set_framing(std::uint32_t channel, const std::optional<net::Framing>& framing);
  /// Without a rule every datagram of the channel passes.
  [[nodiscard]] Status set_line_rule(std::uint32_t channel, const std::optional<LineRule>& rule);
  /// Sets what records say of the source of datagrams (record::SourceLine; frames have that of their group) and of
  /// times (record::TimeQuality), and the number of bytes before the first message where the channel has no framing.
  [[nodiscard]] Status describe_input(std::uint8_t source, std::uint8_t time_quality, std::uint16_t preamble_bytes);

  /// Each record goes to the rings of all filters (at most 16) that want it; what none wants goes to ring 0, or
  /// nowhere. A record leaves when it is complete; it may have 4,096 slots. Only while the kernel is idle; so is
  /// no_filters.
  [[nodiscard]] Status set_filters(std::span<const Filter> filters, bool unmatched_to_ring_0);
  /// All records go to ring 0, as they come: so it is after a reset. The filters, if any, say only what subscribers on
  /// other nodes are sent.
  [[nodiscard]] Status no_filters(std::span<const Filter> of_subscribers = {});

  [[nodiscard]] Result<Counters> counters();
  /// One of them, for a thread that has no time for all: two register accesses. `index` is less than kCounters.
  [[nodiscard]] Status read_counter(std::size_t index, Counters& into);
  /// Nothing is on its way from the input to memory.
  [[nodiscard]] Result<bool> idle();
  /// Errors since the last call, as bits (registers::kErrors...), and clears it.
  [[nodiscard]] Result<std::uint32_t> take_errors();

  /// A sentence for each error bit; empty for none.
  [[nodiscard]] static std::string describe_errors(std::uint32_t errors);

 private:
  explicit Kernel(Device& device) : device_(&device) {}
  [[nodiscard]] Status write_filters(std::span<const Filter> filters);

  Device* device_;
  std::uint32_t capabilities_ = 0;
  std::uint32_t engines_ = 0;
};

/// Why the kernel cannot read the preambles of a framing: blocks, fields after 48 bytes, a longer skip; empty if it
/// can.
[[nodiscard]] std::string framing_problem(const net::Framing& framing);

/// A 64-bit register: its lower half first, as the kernel wants it.
[[nodiscard]] Result<std::uint64_t> read64(Device& device, std::uint32_t offset);
[[nodiscard]] Status write64(Device& device, std::uint32_t offset, std::uint64_t value);

}  // namespace stopbit::device
