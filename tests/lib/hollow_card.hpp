#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "decoder/record/layout.hpp"
#include "host/device/device.hpp"
#include "host/device/generated/registers.hpp"
#include "host/ring/layout.hpp"
#include "host/ring/memory.hpp"
#include "host/ring/protocol.hpp"
#include "microcode/image/crc32c.hpp"

namespace stopbit::test {

/// A card without a decoder: it takes firmware, tables and a ring as the kernel does, and what comes out of it is the
/// test's: registers, records, and any bytes of the ring's memory.
class HollowCard final : public device::Device {
 public:
  HollowCard() {
    values_[device::registers::kId] = device::registers::kIdValue;
    values_[device::registers::kInterfaceVersion] = device::registers::kInterfaceVersionValue;
    values_[device::registers::kCapabilities] = ~std::uint32_t{0};
    values_[device::registers::kEngines] = 1;
    values_[device::registers::kStatus] = device::registers::kStatusIdle;
  }

  Result<std::uint32_t> read(std::uint32_t offset) override {
    namespace reg = device::registers;
    ++reads;
    std::uint32_t value = values_[offset];
    if (offset == reg::kFirmwareCrc || offset == reg::kVerifiedCrc) value = image::crc32c(sent_);
    if (offset == reg::kFirmwareWords) value = words_;
    if (offset == reg::kVerifyLeft) value = 0;
    if (offset == reg::kClockNow) clock_ += kTickNs;
    if (offset == reg::kClockNow) value = static_cast<std::uint32_t>(clock_ + offset_ns());
    if (offset == reg::kClockNow + 4) value = static_cast<std::uint32_t>((clock_ + offset_ns()) >> 32);
    return answer ? answer(offset, value) : value;
  }
  Status write(std::uint32_t offset, std::uint32_t value) override {
    namespace reg = device::registers;
    values_[offset] = value;
    if (offset == reg::kErrors) values_[offset] = 0;
    if (offset == reg::kFirmwareClear) sent_.clear();
    if (offset == reg::kFirmwareClear) words_ = 0;
    if (offset == reg::kFirmwareAddress) address_ = value;
    if (offset == reg::kFirmwareData) take_word(value);
    if (offset == reg::kFirmwareVerify) {
      for (std::uint32_t i = 0; i < value; ++i, ++address_) append(memory_[key()]);
    }
    const std::uint32_t ring = reg::ring::base(0);
    if (offset == ring + reg::ring::kCommand && (value & reg::ring::kCommandStart) != 0) start_ring();
    if (wrote) wrote(offset);
    return Done{};
  }
  Result<std::unique_ptr<device::HostBuffer>> allocate(std::size_t bytes) override {
    return std::unique_ptr<device::HostBuffer>(new Memory(bytes, in_use_));
  }
  /// Pieces of memory that it has.
  [[nodiscard]] long memory_in_use() const noexcept { return in_use_.use_count() - 1; }

  /// What a read answers, in place of `value`; empty: that.
  std::function<std::uint32_t(std::uint32_t offset, std::uint32_t value)> answer;
  /// Called after a write; empty: nothing is.
  std::function<void(std::uint32_t offset)> wrote;
  std::uint64_t reads = 0;

  /// A 64-bit register.
  void set(std::uint32_t offset, std::uint64_t value) {
    values_[offset] = static_cast<std::uint32_t>(value);
    values_[offset + 4] = static_cast<std::uint32_t>(value >> 32);
  }
  [[nodiscard]] std::uint64_t get(std::uint32_t offset) const { return word(offset) | word(offset + 4) << 32; }

  /// Publishes a record in the ring, whatever it says. It has at least one slot, and at most those of the longest.
  void publish(std::span<const record::Slot> record) {
    writer_->make_room(ring::WriterCore<ring::SharedMemory>::Ungated());
    const std::uint64_t number = writer_->number();
    const std::uint64_t phase = ring::phase_of(number, writer_->geometry().slot_count) ? 1 : 0;
    for (std::size_t i = 1; i < record.size(); ++i) writer_->slot(number + i) = record[i];
    record::Slot first = record[0];
    first.words[0] = (first.words[0] & 0xFFFF) | record.size() << 16 | number << 32;
    first.words[record::kTagWord] = ring::first_slot_tags(phase != 0) | (first.words[record::kTagWord] & kFreeTags);
    writer_->commit(first, static_cast<std::uint32_t>(record.size()));
  }
  /// The ring's memory as the card reaches it: header, image and slots.
  [[nodiscard]] std::span<std::byte> ring_memory() const { return {header_, bytes_}; }

 private:
  static constexpr std::uint64_t kTickNs = 20'000'000;  ///< By which the clock goes on between two looks.
  static constexpr std::uint64_t kFreeTags = ~ring::kFirstSlotMask;

  class Memory final : public device::HostBuffer {
   public:
    Memory(std::size_t bytes, std::shared_ptr<int> in_use) : in_use_(std::move(in_use)), bytes_(bytes) {
      data_ = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{ring::kPageBytes}));
      std::memset(data_, 0, bytes);
    }
    ~Memory() override { ::operator delete (data_, std::align_val_t{ring::kPageBytes}); }
    std::byte* data() noexcept override { return data_; }
    std::size_t bytes() const noexcept override { return bytes_; }
    std::uint64_t address() const noexcept override { return reinterpret_cast<std::uintptr_t>(data_); }

   private:
    std::shared_ptr<int> in_use_;  // counts
    std::byte* data_;
    std::size_t bytes_;
  };

  [[nodiscard]] std::uint64_t word(std::uint32_t offset) const {
    const auto found = values_.find(offset);
    return found == values_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::uint64_t offset_ns() const { return get(device::registers::kClockOffset); }
  [[nodiscard]] std::uint64_t key() const {
    return std::uint64_t{word(device::registers::kFirmwareBank) & 1} << 32 | address_;
  }
  void append(std::uint32_t value) {
    const std::uint32_t of_bank = static_cast<std::uint32_t>(key() >> 32) << 31;
    for (const std::uint32_t part : {address_ | of_bank, value}) {
      for (unsigned shift = 0; shift < 32; shift += 8) sent_.push_back(static_cast<std::byte>(part >> shift));
    }
  }
  void take_word(std::uint32_t value) {
    append(value);
    memory_[key()] = value;
    ++address_;
    ++words_;
  }
  void start_ring() {
    namespace ring_reg = device::registers::ring;
    const std::uint32_t ring = ring_reg::base(0);
    header_ = reinterpret_cast<std::byte*>(get(ring + ring_reg::kHeader));
    auto& header = *reinterpret_cast<ring::Header*>(header_);
    bytes_ = header.slots_offset + header.slot_count * record::kSlotBytes;
    auto* const slots = reinterpret_cast<record::Slot*>(header_ + header.slots_offset);
    writer_.emplace(header, slots,
                    ring::Geometry{.slot_count = header.slot_count,
                                   .max_record_slots = header.max_record_slots,
                                   .claim_step = ring::claim_step(header.slot_count)});
    values_[ring + ring_reg::kState] = ring_reg::kStateRunning;
  }

  std::shared_ptr<int> in_use_ = std::make_shared<int>();
  std::map<std::uint32_t, std::uint32_t> values_;
  std::map<std::uint64_t, std::uint32_t> memory_;  ///< Of firmware, by bank and address.
  std::vector<std::byte> sent_;
  std::uint32_t address_ = 0;
  std::uint32_t words_ = 0;
  std::uint64_t clock_ = 0;
  std::byte* header_ = nullptr;
  std::size_t bytes_ = 0;
  std::optional<ring::WriterCore<ring::SharedMemory>> writer_;
};

}  // namespace stopbit::test
