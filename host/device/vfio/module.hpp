#pragma once

#include <memory>
#include <string>

#include "host/device/vfio/calls.hpp"
#include "microcode/base/result.hpp"

/// The simulated machine is a library of its own, with the whole kernel in it, which the program loads if it is wanted.
/// Both are of one build, which the name of the function says.
namespace stopbit::device {

using SimulatedCalls = void(std::shared_ptr<vfio::Calls>& calls);
inline constexpr const char* kSimulatedFunction = "0000:5b:00.0";
inline constexpr const char* kSimVfioSymbol = STOPBIT_SIM_VFIO_NAME;
inline constexpr const char* kSimVfioModule = "stopbit-sim-vfio.so";

/// The calls of the simulated machine in the library at `path`. It stays loaded.
[[nodiscard]] Result<std::shared_ptr<vfio::Calls>> simulated_calls(const std::string& path);

}  // namespace stopbit::device
