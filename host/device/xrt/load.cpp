#include <filesystem>
#include <system_error>
#include <utility>

#include "host/device/module.hpp"
#include "host/device/xrt/module.hpp"

namespace stopbit::device {
namespace {

std::string module_path() {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (program.parent_path().parent_path() / "lib" / "stopbit" / kXrtModule).string();
}

}  // namespace

Result<std::unique_ptr<Device>> open_xrt_module(const XrtOptions& options) {
  const std::string path = module_path();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return Failure{"cards need the package stopbit-xrt: '" + path +
                   "' does not exist (a build makes it where libxrt-dev and uuid-dev are installed)"};
  }
  const Result<void*> found = function_of(path, kOpenXrtSymbol);
  if (!found) return Failure{"XRT cannot be loaded: " + found.message()};
  std::unique_ptr<Device> device;
  std::string problem;
  if (!reinterpret_cast<OpenXrt*>(found.value())(options, device, problem)) return Failure{std::move(problem)};
  return device;
}

}  // namespace stopbit::device
