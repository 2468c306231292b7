#pragma once

#include <rdma/fi_endpoint.h>

namespace stopbit::nic::provider {

/// The tables of calls of an endpoint: what libfabric's functions reach it by.
[[nodiscard]] fid_ep endpoint_fid(void* context);

}  // namespace stopbit::nic::provider
