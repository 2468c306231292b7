#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include <cstdint>

namespace stopbit::nic::provider {

/// The calls of FI_RMA and FI_ATOMIC of an endpoint.
[[nodiscard]] fi_ops_rma& rma_calls() noexcept;
[[nodiscard]] fi_ops_atomic& atomic_calls() noexcept;
/// fi_query_atomic.
[[nodiscard]] int query_atomic(fid_domain* domain, fi_datatype type, fi_op op, fi_atomic_attr* attr,
                               std::uint64_t flags);

}  // namespace stopbit::nic::provider
