#pragma once

#include <memory>
#include <string>

#include "host/device/xrt/xrt_device.hpp"

/// XRT is in a library of its own, which the program loads when a card is opened: a machine without XRT runs the same
/// program. Both are of one build, which the name of the function says.
namespace stopbit::device {

/// As open_xrt. @returns false with the problem.
using OpenXrt = bool(const XrtOptions& options, std::unique_ptr<Device>& device, std::string& problem);
inline constexpr const char* kOpenXrtSymbol = "stopbit_open_xrt_" STOPBIT_XRT_MODULE_VERSION;
inline constexpr const char* kXrtModule = "stopbit-xrt.so";

/// open_xrt of the library beside this program: ../lib/stopbit/stopbit-xrt.so. It stays loaded.
[[nodiscard]] Result<std::unique_ptr<Device>> open_xrt_module(const XrtOptions& options);

}  // namespace stopbit::device
