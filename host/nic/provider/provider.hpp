#pragma once

#include <rdma/fabric.h>
#include <rdma/providers/fi_prov.h>

#include "host/nic/provider/domain.hpp"

namespace stopbit::nic::provider {

/// What libfabric knows the plug-in by.
[[nodiscard]] fi_provider& provider();
/// From the environment.
[[nodiscard]] Parameters read_parameters();

}  // namespace stopbit::nic::provider
