#include "host/nic/provider/regions.hpp"

#include <rdma/fi_errno.h>

#include <memory>
#include <new>

#include "host/nic/provider/domain.hpp"
#include "host/nic/provider/not_offered.hpp"
#include "host/nic/provider/queues.hpp"
#include "host/os/random.hpp"

namespace stopbit::nic::provider {
namespace {

constexpr std::uint64_t kRemoteRights = FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr std::uint64_t kRights = kRemoteRights | FI_SEND | FI_RECV | FI_READ | FI_WRITE;

Region& region_of(fid* fid) {
  return *static_cast<Region*>(reinterpret_cast<fid_mr*>(fid));
}

int close(fid* fid) {
  Region& region = region_of(fid);
  Domain& domain = region.domain;
  const Domain::Guard guard(domain);
  domain.close(region);
  for (Counter* const counter : {region.reads, region.writes}) {
    if (counter != nullptr) --counter->users;
  }
  domain.release();
  delete &region;
  return 0;
}

int bind(fid* fid, struct fid* to, std::uint64_t flags) {
  Region& region = region_of(fid);
  const Domain::Guard guard(region.domain);
  if (to->fclass == FI_CLASS_EP) return 0;  // all endpoints of the domain serve it
  if (to->fclass != FI_CLASS_CNTR) return -FI_EINVAL;
  if ((flags & kRemoteRights) == 0 || (flags & ~kRemoteRights) != 0) return -FI_EBADFLAGS;
  auto* const counter = static_cast<Counter*>(reinterpret_cast<fid_cntr*>(to));
  const auto use = [&](Counter*& place) {
    if (place == counter) return;
    if (place != nullptr) --place->users;
    place = counter;
    ++counter->users;
  };
  if ((flags & FI_REMOTE_READ) != 0) use(region.reads);
  if ((flags & FI_REMOTE_WRITE) != 0) use(region.writes);
  return 0;
}

/// A region is enabled from the beginning; a program may say it again.
int control(fid* /*fid*/, int command, void* /*argument*/) {
  return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

fi_ops region_ops{.size = sizeof(fi_ops),
                  .close = close,
                  .bind = bind,
                  .control = control,
                  .ops_open = not_offered,
                  .tostr = not_offered,
                  .ops_set = not_offered};

int regattr(fid* fid, const fi_mr_attr* attr, std::uint64_t flags, fid_mr** mr) {
  if ((flags & ~FI_RMA_EVENT) != 0) return -FI_EBADFLAGS;
  if (attr->iov_count != 1 || attr->offset != 0 || (attr->access & ~kRights) != 0 || attr->auth_key_size != 0)
    return -FI_EINVAL;
  if (attr->iface != FI_HMEM_SYSTEM) return -FI_ENOSYS;
  Domain& domain = Domain::of(reinterpret_cast<fid_domain*>(fid));
  const Domain::Guard guard(domain);
  try {
    auto region = std::make_unique<Region>(domain, attr->context);
    region->base = static_cast<std::byte*>(attr->mr_iov->iov_base);
    region->length = attr->mr_iov->iov_len;
    region->access = attr->access;
    region->key = attr->requested_key;
    // Only what peers may reach has a key: local use needs no registration.
    if ((attr->access & kRemoteRights) != 0 && !domain.regions().add(*region, attr->requested_key)) return -FI_ENOKEY;
    domain.retain();
    *mr = region.release();
    return 0;
  } catch (const std::bad_alloc&) {
    return -FI_ENOMEM;
  }
}

int regv(fid* fid, const iovec* pieces, std::size_t count, std::uint64_t access, std::uint64_t offset,
         std::uint64_t key, std::uint64_t flags, fid_mr** mr, void* context) {
  fi_mr_attr attr{};
  attr.mr_iov = pieces;
  attr.iov_count = count;
  attr.access = access;
  attr.offset = offset;
  attr.requested_key = key;
  attr.context = context;
  return regattr(fid, &attr, flags, mr);
}

int reg(fid* fid, const void* buffer, std::size_t length, std::uint64_t access, std::uint64_t offset, std::uint64_t key,
        std::uint64_t flags, fid_mr** mr, void* context) {
  const iovec piece{const_cast<void*>(buffer), length};
  return regv(fid, &piece, 1, access, offset, key, flags, mr, context);
}

}  // namespace

Region::Region(Domain& owner, void* user) : fid_mr{{FI_CLASS_MR, user, &region_ops}, nullptr, 0}, domain(owner) {}

bool Regions::add(Region& region, std::uint64_t wanted_key) {
  if (!is_basic_) {
    region.key = wanted_key;
    return regions_.emplace(wanted_key, &region).second;
  }
  // Drawn, so that the key of a region that was closed is not a later one's.
  do {
    region.key = os::random_word();
  } while (!regions_.emplace(region.key, &region).second);
  return true;
}

void Regions::remove(const Region& region) {
  const auto found = regions_.find(region.key);
  if (found != regions_.end() && found->second == &region) regions_.erase(found);
}

Regions::Found Regions::find(std::uint64_t key, std::uint64_t address, std::uint64_t length,
                             std::uint64_t access) const noexcept {
  if (length == 0) return {};
  const auto found = regions_.find(key);
  if (found == regions_.end()) return {.error = FI_EKEYREJECTED};
  Region& region = *found->second;
  // Below the region, the difference is a large number.
  const std::uint64_t offset = is_basic_ ? address - reinterpret_cast<std::uint64_t>(region.base) : address;
  if ((region.access & access) != access || offset > region.length || length > region.length - offset)
    return {.error = FI_EACCES};
  // By numbers: a program may register all its memory, from address 0 on, which no pointer may be added to.
  const std::uint64_t at = reinterpret_cast<std::uint64_t>(region.base) + offset;
  return {.region = &region, .at = reinterpret_cast<std::byte*>(at)};  // NOLINT(performance-no-int-to-ptr)
}

fi_ops_mr& registration_calls() noexcept {
  static fi_ops_mr calls{.size = sizeof(fi_ops_mr), .reg = reg, .regv = regv, .regattr = regattr};
  return calls;
}

}  // namespace stopbit::nic::provider
