// The one function of stopbit-xrt.so.

#include <utility>

#include "host/device/xrt/module.hpp"

#define STOPBIT_JOIN(left, right) left##right
#define STOPBIT_NAME(left, right) STOPBIT_JOIN(left, right)

extern "C" __attribute__((visibility("default"))) bool STOPBIT_NAME(stopbit_open_xrt_, STOPBIT_XRT_MODULE_NUMBER)(
    const stopbit::device::XrtOptions& options, std::unique_ptr<stopbit::device::Device>& device,
    std::string& problem) {
  auto opened = stopbit::device::open_xrt(options);
  if (!opened) {
    problem = opened.message();
    return false;
  }
  device = std::move(opened).value();
  return true;
}
