#include "host/device/module.hpp"
#include "host/device/vfio/module.hpp"

namespace stopbit::device {

Result<std::shared_ptr<vfio::Calls>> simulated_calls(const std::string& path) {
  const Result<void*> found = function_of(path, kSimVfioSymbol);
  if (!found) return Failure{"the simulated card cannot be loaded: " + found.message()};
  std::shared_ptr<vfio::Calls> calls;
  reinterpret_cast<SimulatedCalls*>(found.value())(calls);
  return calls;
}

}  // namespace stopbit::device
