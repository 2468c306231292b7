#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "host/device/device.hpp"
#include "host/device/generated/registers.hpp"
#include "kernel_model.hpp"

namespace stopbit::sim {

/// The host's device interface on the model.
class ModelDevice final : public device::Device {
 public:
  explicit ModelDevice(KernelModel& model) : model_(model) {}

  Result<std::uint32_t> read(std::uint32_t offset) override { return model_.read(offset); }
  Status write(std::uint32_t offset, std::uint32_t value) override {
    model_.write(offset, value);
    // Words written to memory are checked on arrival. Firmware is many words and is not.
    if (offset != device::registers::kFirmwareData) model_.run(100);
    return Done{};
  }
  Result<std::unique_ptr<device::HostBuffer>> allocate(std::size_t bytes) override {
    next_ += std::uint64_t{bytes} + (1 << 20);
    next_ = next_ / 4096 * 4096;
    return std::unique_ptr<device::HostBuffer>(std::make_unique<Memory>(model_, next_, bytes));
  }

 private:
  class Memory final : public device::HostBuffer {
   public:
    Memory(KernelModel& model, std::uint64_t address, std::size_t bytes)
        : model_(model),
          address_(address),
          bytes_(bytes),
          data_(static_cast<std::byte*>(std::aligned_alloc(4096, bytes))) {
      model_.map(address_, data_, bytes_);
    }
    ~Memory() override {
      model_.unmap(address_);
      std::free(data_);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    std::byte* data() noexcept override { return data_; }
    std::size_t bytes() const noexcept override { return bytes_; }
    std::uint64_t address() const noexcept override { return address_; }

   private:
    KernelModel& model_;
    std::uint64_t address_;
    std::size_t bytes_;
    std::byte* data_;
  };

  KernelModel& model_;
  std::uint64_t next_ = 1ULL << 40;
};

}  // namespace stopbit::sim
