#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "host/device/device.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::device {

struct XrtOptions {
  std::uint32_t card = 0;    ///< As `xbutil examine` counts them.
  std::string xclbin;        ///< File that holds the kernel.
  std::uint32_t kernel = 0;  ///< Index, if there are several.
  /// Memory group of the ring: the host's, which cards call HOST[0]. The number among the xclbin's memories.
  std::uint32_t memory = 0;
};

/// A kernel on a card, or in simulation if the environment says so (fpga/xrt/README.md), through the XRT library:
/// xrt::device, xrt::bo and xrt::ip, nothing else. It belongs to this process until it ends. XRT's exceptions end here.
[[nodiscard]] Result<std::unique_ptr<Device>> open_xrt(const XrtOptions& options);

}  // namespace stopbit::device
