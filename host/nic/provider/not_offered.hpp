#pragma once

#include <rdma/fi_errno.h>

namespace stopbit::nic::provider {

/// A call of libfabric that this provider does not offer; takes the type of the pointer that it is assigned to.
template <class Result, class... Arguments>
Result not_offered(Arguments... /*unused*/) {
  return -FI_ENOSYS;
}

}  // namespace stopbit::nic::provider
