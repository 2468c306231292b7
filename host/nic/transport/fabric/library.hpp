#pragma once

#include <rdma/fabric.h>

#include "microcode/base/result.hpp"

namespace stopbit::nic {

/// libfabric, loaded when it is first asked for: it brings fourteen other libraries with it, and a third of a second,
/// which only those shall pay who use it. These are all its functions that are no members of its objects.
struct FabricLibrary {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  Status loaded = Done{};
};

/// The one of this process; stays loaded. The first call is not for two threads at once with ones that change the
/// environment.
[[nodiscard]] const FabricLibrary& fabric_library();

}  // namespace stopbit::nic
