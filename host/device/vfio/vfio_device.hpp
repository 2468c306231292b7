#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "host/device/device.hpp"
#include "host/device/generated/registers.hpp"
#include "host/device/vfio/calls.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::device {

struct VfioOptions {
  std::string address;       ///< Of the PCI function, as `lspci -D` writes it: "0000:81:00.0".
  std::uint32_t bar = 0;     ///< 0 to 5: holds the kernel's registers,
  std::uint64_t offset = 0;  ///< from here on; a multiple of 4096.
  std::uint32_t window_bytes = registers::kWindowBytes;  ///< A multiple of 4096.
  std::uint32_t address_bits = 64;                       ///< Of what the function can address; at least 24.
};

/// Whether a text has the form of a function's address.
[[nodiscard]] bool is_pci_address(const std::string& text);

/// What is in the way of opening the function, as far as that can be seen without opening it, which would reset it.
/// The message begins with the setting that it is about.
[[nodiscard]] Status check_vfio(const VfioOptions& options, vfio::Calls& calls);

/// A kernel on a PCI function that the driver vfio-pci has: registers in a BAR, rings in this process's memory, which
/// an IOMMU shows to the function at addresses of our choice, and nothing else. It belongs to this process until it
/// ends; whatever ends the process, the kernel of the machine then stops the function and takes its memory away.
///
/// When it is closed the decode kernel is stopped, then the function may no longer access memory, then it is reset if
/// it can be, and only then its memory is unmapped.
[[nodiscard]] Result<std::unique_ptr<Device>> open_vfio(const VfioOptions& options, std::shared_ptr<vfio::Calls> calls);

}  // namespace stopbit::device
