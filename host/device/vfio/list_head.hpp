#pragma once

#include <linux/vfio.h>

#include <cstddef>
#include <cstdint>

namespace stopbit::device::vfio {

/// How the kernel's lists of pairs of 64-bit numbers begin: addresses that an IOMMU maps, parts of a region that can be
/// mapped. The kernel's own structures end in arrays without a length, of which C++ makes no objects.
struct ListHead {
  vfio_info_cap_header header;
  std::uint32_t count;
  std::uint32_t reserved;
};
static_assert(sizeof(ListHead) == offsetof(vfio_iommu_type1_info_cap_iova_range, iova_ranges) &&
              offsetof(ListHead, count) == offsetof(vfio_iommu_type1_info_cap_iova_range, nr_iovas));
static_assert(sizeof(ListHead) == offsetof(vfio_region_info_cap_sparse_mmap, areas) &&
              offsetof(ListHead, count) == offsetof(vfio_region_info_cap_sparse_mmap, nr_areas));

}  // namespace stopbit::device::vfio
