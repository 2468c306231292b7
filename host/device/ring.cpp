#include "host/device/ring.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "host/device/generated/registers.hpp"
#include "host/device/kernel.hpp"
#include "host/ring/header.hpp"
#include "microcode/base/round_up.hpp"

namespace stopbit::device {
namespace {

namespace reg = registers::ring;

/// An entry of the list of segments.
struct Descriptor {
  std::uint64_t address;
  std::uint32_t slots;
  std::uint32_t zero;
};
static_assert(sizeof(Descriptor) == 16);

constexpr std::uint64_t kCreditShare = 4;  // of the ring, after which the device hears of the reader
/// What reads of a card answer that does not. It may write to memory all the same.
constexpr std::uint32_t kOffTheBus = ~std::uint32_t{0};
constexpr int kLooks = 1000;
constexpr auto kLookEvery = std::chrono::milliseconds(1);

}  // namespace

Result<std::unique_ptr<DeviceRing>> DeviceRing::start(Device& device, const Program& program,
                                                      std::span<const std::byte> image, const RingOptions& options) {
  if (options.index >= reg::kCount) {
    return Failure{"the kernel has " + std::to_string(reg::kCount) + " rings; invalid number " +
                   std::to_string(options.index)};
  }
  if (const Status fits = ring::check_slot_count(program, options.slot_count); !fits) return Failure{fits.message()};
  const std::uint64_t piece = options.segment_slots == 0 ? options.slot_count : options.segment_slots;
  const std::uint64_t segments = (options.slot_count + piece - 1) / piece;

  // Header and image, slots, list of segments: one piece of memory.
  const ring::SegmentPlan plan = ring::plan_segment(image.size(), options.slot_count);
  const std::uint64_t list = round_up<std::uint64_t>(plan.segment_bytes, ring::kPageBytes);
  Result<std::unique_ptr<HostBuffer>> memory =
      device.allocate(round_up<std::uint64_t>(list + segments * sizeof(Descriptor), ring::kPageBytes));
  if (!memory) return Failure{memory.message()};

  std::unique_ptr<DeviceRing> made(new DeviceRing(device, options));
  made->memory_ = std::move(memory).value();
  std::byte* data = made->memory_->data();
  const std::uint64_t address = made->memory_->address();
  std::memset(data, 0, made->memory_->bytes());
  const ring::Header& header =
      ring::write_header(data, program, image, options.slot_count, options.image_generation, ring::Mode::Lossy);
  for (std::uint64_t i = 0; i < segments; ++i) {
    const std::uint64_t begin = i * piece;
    const Descriptor descriptor{.address = address + plan.slots_offset + begin * record::kSlotBytes,
                                .slots = static_cast<std::uint32_t>(std::min(piece, options.slot_count - begin)),
                                .zero = 0};
    std::memcpy(data + list + i * sizeof(descriptor), &descriptor, sizeof(descriptor));
  }
  made->copy_.resize(program.max_record_slots);
  const auto* slots = reinterpret_cast<const record::Slot*>(data + plan.slots_offset);
  made->reader_ = ring::ReaderCore<ring::SharedMemory>(header, slots,
                                                       {.slot_count = options.slot_count,
                                                        .max_record_slots = program.max_record_slots,
                                                        .claim_step = ring::claim_step(options.slot_count)});
  made->reader_.begin_at({.number = options.slot_count, .records = 0});
  made->credited_ = options.slot_count;

  const Status begun = made->set_up(address + list, segments, program.max_record_slots);
  if (!begun) return Failure{begun.message()};
  return made;
}

Status DeviceRing::set_up(std::uint64_t descriptors, std::uint64_t segments, std::uint32_t max_record_slots) {
  const auto log2 = static_cast<std::uint32_t>(std::countr_zero(options_.slot_count));
  Status done = write64(*device_, at(reg::kHeader), memory_->address());
  if (done) done = write64(*device_, at(reg::kDescriptors), descriptors);
  if (done) done = device_->write(at(reg::kSegments), static_cast<std::uint32_t>(segments));
  if (done) done = device_->write(at(reg::kSlotsLog2), log2);
  if (done) done = device_->write(at(reg::kMaxRecordSlots), max_record_slots);
  if (done) done = device_->write(at(reg::kMode), static_cast<std::uint32_t>(options_.mode));
  if (done) done = write64(*device_, at(reg::kCredit), credited_ + options_.slot_count);
  if (done) done = device_->write(at(reg::kTimeout), options_.timeout_cycles);
  if (done) done = device_->write(at(reg::kCreditTimeout), options_.credit_timeout_cycles);
  if (!done) return done;
  stopped_ = false;  // whatever becomes of the command
  done = device_->write(at(reg::kCommand), reg::kCommandStart);
  if (!done) return done;
  const Result<std::uint32_t> state = device_->read(at(reg::kState));
  if (!state) return Failure{state.message()};
  if ((state.value() & reg::kStateRunning) == 0) {
    stopped_ = state.value() != kOffTheBus;
    return Failure{"the kernel refused to begin the ring"};
  }
  // The first claim: from then on a reader knows when it is overtaken.
  for (int i = 0; i < kLooks; ++i) {
    if (__atomic_load_n(&header().claim, __ATOMIC_ACQUIRE) != 0) return Done{};
    const Result<std::uint32_t> now = device_->read(at(reg::kState));
    if (!now) return Failure{now.message()};
    if ((now.value() & reg::kStateRunning) == 0) return Failure{"the kernel ended the ring at once: it cannot read it"};
    if (i > 0) std::this_thread::sleep_for(kLookEvery);
  }
  return Failure{"the kernel runs the ring, but does not write to its memory"};
}

DeviceRing::~DeviceRing() {
  if (!stopped_ && !stop()) device_->keep(std::move(memory_));
}

std::uint32_t DeviceRing::at(std::uint32_t offset) const {
  return reg::base(options_.index) + offset;
}

ring::Header& DeviceRing::header() noexcept {
  return *reinterpret_cast<ring::Header*>(memory_->data());
}

ring::Poll DeviceRing::poll() {
  std::uint64_t slots = 0;
  copied_ = 0;
  const ring::Poll poll = reader_.poll(copy_.data(), slots);
  if (poll == ring::Poll::Record) copied_ = slots;
  if (poll == ring::Poll::Damaged && problem_.empty()) problem_ = "the ring's content is inconsistent";
  if (poll == ring::Poll::Record && !give_credit()) return ring::Poll::Damaged;
  return poll;
}

bool DeviceRing::give_credit() {
  const std::uint64_t position = reader_.position();
  if (options_.mode == RingMode::Lossy || position - credited_ < options_.slot_count / kCreditShare) return true;
  const Status done = write64(*device_, at(reg::kCredit), position + options_.slot_count);
  if (done) credited_ = position;
  if (!done) problem_ = done.message();
  return done.ok();
}

Result<RingCounters> DeviceRing::counters() {
  RingCounters counters;
  const Result<std::uint32_t> state = device_->read(at(reg::kState));
  if (!state) return Failure{state.message()};
  counters.running = (state.value() & reg::kStateRunning) != 0;
  counters.starved = (state.value() & reg::kStateStarved) != 0;
  const std::pair<std::uint32_t, std::uint64_t*> wide[] = {
      {reg::kNumber, &counters.number},       {reg::kRecords, &counters.records}, {reg::kDropped, &counters.dropped},
      {reg::kWithdrawn, &counters.withdrawn}, {reg::kStalled, &counters.stalled},
  };
  for (const auto& [offset, counter] : wide) {
    const Result<std::uint64_t> value = read64(*device_, at(offset));
    if (!value) return Failure{value.message()};
    *counter = value.value();
  }
  const std::pair<std::uint32_t, std::uint64_t*> narrow[] = {{reg::kTimeouts, &counters.timeouts},
                                                             {reg::kMalformed, &counters.malformed}};
  for (const auto& [offset, counter] : narrow) {
    const Result<std::uint32_t> value = device_->read(at(offset));
    if (!value) return Failure{value.message()};
    *counter = value.value();
  }
  return counters;
}

Status DeviceRing::stop() {
  stopped_ = true;
  const Status done = device_->write(at(reg::kCommand), reg::kCommandStop);
  if (!done) return done;
  // Records on their way still go to our memory, which must outlive them.
  for (int i = 0; i < kLooks; ++i) {
    const Result<std::uint32_t> status = device_->read(registers::kStatus);
    if (!status) return Failure{status.message()};
    if (status.value() == kOffTheBus) return Failure{"the card has left the bus"};
    if ((status.value() & registers::kStatusIdle) != 0) return Done{};
    std::this_thread::sleep_for(kLookEvery);
  }
  return Failure{"the kernel does not become idle"};
}

}  // namespace stopbit::device
