#include "host/device/kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "microcode/base/hex.hpp"
#include "microcode/image/crc32c.hpp"

namespace stopbit::device {
namespace {

constexpr std::uint32_t kBankBit = 1U << 31;
constexpr double kClockPoint = 1U << 24;  // of the fixed-point number that the clock counts by

// Sizes of stopbit_front_pkg.
constexpr std::uint32_t kPreambleBytes = 48;
constexpr std::uint32_t kMaxSkip = 2047;
/// Of a counter between two looks, a second apart at most unless the thread was stopped: hours of 100 Gbit/s.
constexpr std::uint64_t kMostGrowth = std::uint64_t{1} << 48;
constexpr int kVerifyLooks = 1'000'000;  // a word a cycle, at most a million of them

Failure no_channel(std::uint32_t channel) {
  return Failure{"the kernel has channels 0 to " + std::to_string(kChannels - 1) + ", not " + std::to_string(channel)};
}

void append(std::vector<std::byte>& bytes, std::uint32_t word) {
  for (std::uint32_t shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::byte>(word >> shift));
}

struct NamedCounter {
  std::uint32_t offset;
  std::uint64_t Counters::*member;
};
/// Those of verdicts follow.
constexpr std::array<NamedCounter, kCounters - registers::verdict::kCount> kNamed{{
    {registers::kDatagrams, &Counters::datagrams},
    {registers::kDatagramBytes, &Counters::datagram_bytes},
    {registers::kDatagramsDropped, &Counters::datagrams_dropped},
    {registers::kRecords, &Counters::records},
    {registers::kRecordsWithdrawn, &Counters::records_withdrawn},
    {registers::kDatagramsDecoded, &Counters::datagrams_decoded},
    {registers::kInstructions, &Counters::instructions},
    {registers::kChunks, &Counters::chunks},
    {registers::kLinePassed, &Counters::line_passed},
    {registers::kLineDuplicates, &Counters::line_duplicates},
    {registers::kLineLate, &Counters::line_late},
    {registers::kGaps, &Counters::gaps},
    {registers::kNumbersMissing, &Counters::numbers_missing},
    {registers::kRecordsUnmatched, &Counters::records_unmatched},
}};

template <class C>  // Counters, const or not
auto& at(C& counters, std::size_t index) {
  return index < kNamed.size() ? counters.*kNamed[index].member : counters.verdicts[index - kNamed.size()];
}

std::uint32_t offset_of(std::size_t index) {
  if (index < kNamed.size()) return kNamed[index].offset;
  return registers::verdict::base(static_cast<std::uint32_t>(index - kNamed.size())) + registers::verdict::kFrames;
}

}  // namespace

bool can_follow(const Counters& now, const Counters& before) noexcept {
  for (std::size_t i = 0; i < kCounters; ++i) {
    const std::uint64_t grown = at(now, i) - at(before, i);
    // A gap may have 2^31 numbers: these grow as a stranger's packets want, but not back.
    const std::uint64_t most = offset_of(i) == registers::kNumbersMissing ? ~std::uint64_t{0} >> 1 : kMostGrowth;
    if (grown > most) return false;
  }
  return true;
}

std::string framing_problem(const net::Framing& framing) {
  const auto ends = [](const net::PreambleField& field) { return field.bytes == 0 ? 0 : field.offset + field.bytes; };
  if (framing.blocks) return "it has blocks";
  if (framing.skip > kMaxSkip) return "more than " + std::to_string(kMaxSkip) + " bytes are skipped";
  if (ends(framing.sequence) > kPreambleBytes || ends(framing.length) > kPreambleBytes) {
    return "a field ends after the first " + std::to_string(kPreambleBytes) + " bytes";
  }
  return {};
}

Result<std::uint64_t> read64(Device& device, std::uint32_t offset) {
  const Result<std::uint32_t> low = device.read(offset);
  if (!low) return Failure{low.message()};
  const Result<std::uint32_t> high = device.read(offset + 4);
  if (!high) return Failure{high.message()};
  return low.value() | std::uint64_t{high.value()} << 32;
}

Status write64(Device& device, std::uint32_t offset, std::uint64_t value) {
  const Status low = device.write(offset, static_cast<std::uint32_t>(value));
  if (!low) return low;
  return device.write(offset + 4, static_cast<std::uint32_t>(value >> 32));
}

Counters operator-(Counters now, const Counters& before) noexcept {
  for (std::size_t i = 0; i < kCounters; ++i) at(now, i) -= at(before, i);
  return now;
}

Counters operator+(Counters one, const Counters& other) noexcept {
  for (std::size_t i = 0; i < kCounters; ++i) at(one, i) += at(other, i);
  return one;
}

Status Kernel::check() const {
  const Result<std::uint32_t> id = device_->read(registers::kId);
  if (!id) return Failure{id.message()};
  if (id.value() == registers::kIdValue) return Done{};
  return Failure{"the kernel is not " + std::string(registers::kKernelName) + ": its first register reads " +
                 hex_text(id.value(), 8)};
}

Result<Kernel> Kernel::open(Device& device) {
  if (const Status ours = Kernel(device).check(); !ours) return ours.failure();
  const Result<std::uint32_t> version = device.read(registers::kInterfaceVersion);
  if (!version) return Failure{version.message()};
  if (version.value() != registers::kInterfaceVersionValue) {
    return Failure{"the kernel's registers have version " + std::to_string(version.value()) +
                   ", this program supports " + std::to_string(registers::kInterfaceVersionValue)};
  }
  Kernel kernel(device);
  const Result<std::uint32_t> capabilities = device.read(registers::kCapabilities);
  if (!capabilities) return Failure{capabilities.message()};
  kernel.capabilities_ = capabilities.value();
  const Result<std::uint32_t> engines = device.read(registers::kEngines);
  if (!engines) return Failure{engines.message()};
  if (engines.value() == 0) return Failure{"the kernel says that it has no decode core"};
  kernel.engines_ = engines.value();
  return kernel;
}

Status Kernel::load(std::uint32_t bank, std::span<const LoadWord> words) {
  if (bank > 1) return Failure{"the kernel has banks 0 and 1, not " + std::to_string(bank)};
  const std::uint32_t bank_bit = bank == 1 ? kBankBit : 0;
  std::vector<std::byte> sent;
  sent.reserve(words.size() * sizeof(LoadWord));
  Status done = device_->write(registers::kFirmwareBank, bank);
  if (done) done = device_->write(registers::kFirmwareClear, 1);
  std::uint64_t next = ~std::uint64_t{0};
  for (const LoadWord& word : words) {
    if (done && word.address != next) done = device_->write(registers::kFirmwareAddress, word.address);
    if (done) done = device_->write(registers::kFirmwareData, word.value);
    if (!done) return done;
    next = std::uint64_t{word.address} + 1;
    append(sent, word.address | bank_bit);
    append(sent, word.value);
  }
  if (!done) return done;
  const Result<std::uint32_t> count = device_->read(registers::kFirmwareWords);
  if (!count) return Failure{count.message()};
  const Result<std::uint32_t> crc = device_->read(registers::kFirmwareCrc);
  if (!crc) return Failure{crc.message()};
  const std::uint32_t expected = image::crc32c(sent);
  if (count.value() != words.size() || crc.value() != expected) {
    return Failure{"the firmware did not arrive as it was sent: " + std::to_string(count.value()) + " of " +
                   std::to_string(words.size()) + " words, CRC " + hex_text(crc.value(), 8) + " instead of " +
                   hex_text(expected, 8)};
  }
  return verify(bank, words);
}

Status Kernel::verify(std::uint32_t bank, std::span<const LoadWord> words) {
  if (bank > 1) return Failure{"the kernel has banks 0 and 1, not " + std::to_string(bank)};
  // An address has its last value; consecutive addresses are read in one go.
  std::map<std::uint32_t, std::uint32_t> there;
  for (const LoadWord& word : words) there[word.address] = word.value;
  std::vector<std::byte> expected;
  Status done = device_->write(registers::kFirmwareBank, bank);
  if (done) done = device_->write(registers::kFirmwareClear, 1);
  for (auto word = there.begin(); done && word != there.end();) {
    const std::uint32_t begin = word->first;
    std::uint32_t count = 0;
    for (; word != there.end() && word->first == begin + count; ++word, ++count) {
      append(expected, word->first | (bank == 1 ? kBankBit : 0));
      append(expected, word->second);
    }
    done = device_->write(registers::kFirmwareAddress, begin);
    if (done) done = device_->write(registers::kFirmwareVerify, count);
    for (int look = 0; done; ++look) {
      const Result<std::uint32_t> left = device_->read(registers::kVerifyLeft);
      if (!left) return Failure{left.message()};
      if (left.value() == 0) break;
      if (look == kVerifyLooks) return Failure{"the kernel does not read its firmware back"};
    }
  }
  if (!done) return done;
  const Result<std::uint32_t> crc = device_->read(registers::kVerifiedCrc);
  if (!crc) return Failure{crc.message()};
  if (crc.value() != image::crc32c(expected)) {
    return Failure{"the kernel's memory does not hold the firmware that was loaded: CRC " + hex_text(crc.value(), 8) +
                   " instead of " + hex_text(image::crc32c(expected), 8)};
  }
  return Done{};
}

Status Kernel::receive(bool on) {
  return device_->write(registers::kControl, on ? registers::kControlReceive : 0);
}

Status Kernel::set_clock(const ClockOptions& options) {
  constexpr double kMaxNs = 256;
  if (!(options.ns_per_cycle >= 0) || options.ns_per_cycle >= kMaxNs) {
    return Failure{"the kernel's clock counts from 0 to less than 256 nanoseconds a cycle"};
  }
  Status done = device_->write(registers::kClockSource, options.side_band ? registers::kClockSourceSideBand : 0);
  if (done) done = write64(*device_, registers::kClockOffset, options.offset_ns);
  if (done) {
    // What rounds up to 256 ns is the largest number that there is.
    const double rate = std::min(std::round(options.ns_per_cycle * kClockPoint), double{~std::uint32_t{0}});
    done = device_->write(registers::kClockRate, static_cast<std::uint32_t>(rate));
  }
  return done;
}

Result<std::uint64_t> Kernel::clock() {
  return read64(*device_, registers::kClockNow);
}

Status Kernel::describe_input(std::uint8_t source, std::uint8_t time_quality, std::uint16_t preamble_bytes) {
  const std::uint32_t marks = std::uint32_t{source} << registers::kDatagramMarksSourceShift |
                              std::uint32_t{time_quality} << registers::kDatagramMarksTimeQualityShift;
  const Status done = device_->write(registers::kDatagramMarks, marks);
  return done ? device_->write(registers::kPreambleBytes, preamble_bytes) : done;
}

Status Kernel::set_intake(const Intake& intake) {
  return device_->write(registers::kIntake, (intake.frames ? registers::kIntakeFrames : 0) |
                                                (intake.fcs ? registers::kIntakeFcs : 0) |
                                                (intake.check_header ? registers::kIntakeCheckHeader : 0) |
                                                (intake.drop_when_full ? registers::kIntakeDropWhenFull : 0) |
                                                (intake.cut_through ? registers::kIntakeCutThrough : 0));
}

Status Kernel::set_group(std::uint32_t index, const std::optional<Group>& group) {
  if (index >= kGroups) {
    return Failure{"the kernel has groups 0 to " + std::to_string(kGroups - 1) + ", not " + std::to_string(index)};
  }
  std::uint32_t command = index << registers::kGroupWriteIndexShift;
  Status done = Done{};
  if (group) {
    if (group->channel >= kChannels) return no_channel(group->channel);
    command |= registers::kGroupWriteValid | std::uint32_t{group->line} << registers::kGroupWriteLineShift |
               (group->source ? 0 : registers::kGroupWriteAnySource);
    const std::uint32_t target = std::uint32_t{group->port} << registers::kGroupTargetPortShift |
                                 std::uint32_t{group->channel} << registers::kGroupTargetChannelShift;
    done = device_->write(registers::kGroupSource, group->source.value_or(0));
    if (done) done = device_->write(registers::kGroupAddress, group->address);
    if (done) done = device_->write(registers::kGroupTarget, target);
  }
  return done ? device_->write(registers::kGroupWrite, command) : done;
}

Status Kernel::set_framing(std::uint32_t channel, const std::optional<net::Framing>& framing) {
  if (channel >= kChannels) return no_channel(channel);
  std::uint32_t command = channel << registers::kFramingWriteChannelShift;
  Status done = Done{};
  if (framing) {
    if (const std::string problem = framing_problem(*framing); !problem.empty()) {
      return Failure{"the kernel cannot read framing '" + framing->name + "': " + problem};
    }
    const auto field = [](const net::PreambleField& from) -> std::uint32_t {
      if (from.bytes == 0) return 0;
      return from.offset | std::uint32_t{from.bytes} << registers::kFramingFieldsSequenceBytesShift |
             (from.big_endian ? registers::kFramingFieldsSequenceBigEndian : 0);
    };
    command |= registers::kFramingWriteValid |
               static_cast<std::uint32_t>(framing->kind) << registers::kFramingWriteKindShift |
               framing->skip << registers::kFramingWriteSkipShift;
    done =
        device_->write(registers::kFramingFields,
                       field(framing->sequence) | field(framing->length) << registers::kFramingFieldsLengthOffsetShift);
  }
  return done ? device_->write(registers::kFramingWrite, command) : done;
}

Status Kernel::set_line_rule(std::uint32_t channel, const std::optional<LineRule>& rule) {
  if (channel >= kChannels) return no_channel(channel);
  std::uint32_t command = channel << registers::kRuleWriteChannelShift;
  if (rule) {
    if (rule->window < 1 || rule->window > kMaxWindow) {
      return Failure{"the window of a channel must be 1 to " + std::to_string(kMaxWindow) + " numbers, not " +
                     std::to_string(rule->window)};
    }
    command |= registers::kRuleWriteEnable | (rule->carousel ? registers::kRuleWriteCarousel : 0) |
               (rule->window - 1) << registers::kRuleWriteWindowShift;
  }
  return device_->write(registers::kRuleWrite, command);
}

Status Kernel::write_filters(std::span<const Filter> filters) {
  if (filters.size() > registers::filter::kCount) {
    return Failure{"the kernel has " + std::to_string(registers::filter::kCount) + " filters, not " +
                   std::to_string(filters.size())};
  }
  for (std::uint32_t i = 0; i < registers::filter::kCount; ++i) {
    const std::uint32_t base = registers::filter::base(i);
    if (i >= filters.size()) {
      const Status off = device_->write(base + registers::filter::kControl, 0);
      if (!off) return off;
      continue;
    }
    const Filter& filter = filters[i];
    if ((filter.value & ~filter.mask) != 0) {
      return Failure{"filter " + std::to_string(i) + " requires bits outside its mask"};
    }
    const std::uint32_t key = std::uint32_t{filter.channel.value_or(0)} << registers::filter::kKeyChannelShift |
                              std::uint32_t{filter.template_index.value_or(0)}
                                  << registers::filter::kKeyTemplateIndexShift;
    const std::uint32_t control = registers::filter::kControlEnable |
                                  (filter.channel ? 0 : registers::filter::kControlAnyChannel) |
                                  (filter.template_index ? 0 : registers::filter::kControlAnyTemplate) |
                                  std::uint32_t{filter.word} << registers::filter::kControlWordShift |
                                  std::uint32_t{filter.rings} << registers::filter::kControlRingsShift |
                                  std::uint32_t{filter.subscribers} << registers::filter::kControlSubscribersShift;
    Status done = device_->write(base + registers::filter::kKey, key);
    if (done) done = write64(*device_, base + registers::filter::kMask, filter.mask);
    if (done) done = write64(*device_, base + registers::filter::kValue, filter.value);
    if (done) done = device_->write(base + registers::filter::kControl, control);
    if (!done) return done;
  }
  return Done{};
}

Status Kernel::set_filters(std::span<const Filter> filters, bool unmatched_to_ring_0) {
  const Status written = write_filters(filters);
  if (!written) return written;
  return device_->write(registers::kRouting,
                        registers::kRoutingFilter | (unmatched_to_ring_0 ? registers::kRoutingUnmatched : 0));
}

Status Kernel::no_filters(std::span<const Filter> of_subscribers) {
  const Status written = write_filters(of_subscribers);
  return written ? device_->write(registers::kRouting, 0) : written;
}

Status Kernel::read_counter(std::size_t index, Counters& into) {
  const Result<std::uint64_t> value = read64(*device_, offset_of(index));
  if (!value) return Failure{value.message()};
  at(into, index) = value.value();
  return Done{};
}

Result<Counters> Kernel::counters() {
  Counters counters;
  for (std::size_t i = 0; i < kCounters; ++i) {
    if (const Status read = read_counter(i, counters); !read) return read.failure();
  }
  return counters;
}

Result<bool> Kernel::idle() {
  const Result<std::uint32_t> status = device_->read(registers::kStatus);
  if (!status) return Failure{status.message()};
  return (status.value() & registers::kStatusIdle) != 0;
}

Result<std::uint32_t> Kernel::take_errors() {
  const Result<std::uint32_t> errors = device_->read(registers::kErrors);
  if (!errors || errors.value() == 0) return errors;
  const Status cleared = device_->write(registers::kErrors, errors.value());
  if (!cleared) return Failure{cleared.message()};
  return errors;
}

std::string Kernel::describe_errors(std::uint32_t errors) {
  const std::array<std::pair<std::uint32_t, const char*>, 9> all{{
      {registers::kErrorsBadAccess, "a register was written that the kernel does not have"},
      {registers::kErrorsWriteError, "memory refused what the kernel wrote: the ring's content is unknown"},
      {registers::kErrorsRingRefused, "the kernel refused to begin a ring"},
      {registers::kErrorsRingBroken, "a ring's list of segments is invalid; the ring has ended"},
      {registers::kErrorsOversized, "a datagram was longer than the kernel allows and was truncated"},
      {registers::kErrorsRingStarved, "a ring's reader was too slow for too long: records for it are dropped"},
      {registers::kErrorsRecordTooLong, "a record was longer than the filters allow and was dropped"},
      {registers::kErrorsRemoteRefused, "the kernel refused a request about records for other nodes"},
      {registers::kErrorsSendRefused, "the kernel refused a frame of the host"},
  }};
  std::string text;
  for (const auto& [bit, sentence] : all) {
    if ((errors & bit) == 0) continue;
    text += (text.empty() ? "" : "; ") + std::string(sentence);
    errors &= ~bit;
  }
  if (errors != 0) text += (text.empty() ? "" : "; ") + ("unknown error bits: " + hex_text(errors, 8));
  return text;
}

}  // namespace stopbit::device
