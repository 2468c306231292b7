#include "host/nic/provider/address_vector.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "host/nic/provider/domain.hpp"
#include "host/nic/provider/not_offered.hpp"
#include "host/nic/transport/address.hpp"

namespace stopbit::nic::provider {
namespace {

AddressVector& vector_of(fid_av* av) {
  return *static_cast<AddressVector*>(av);
}
std::uint64_t key_of(const PeerName& peer) noexcept {
  return std::uint64_t{peer.birth} << 32U | std::uint64_t{peer.node} << 16U | peer.endpoint;
}

int insert(fid_av* av, const void* names, std::size_t count, fi_addr_t* addresses, std::uint64_t flags, void* context) {
  AddressVector& vector = vector_of(av);
  if ((flags & FI_EVENT) != 0) return -FI_ENOSYS;
  int* const errors = (flags & FI_SYNC_ERR) != 0 ? static_cast<int*>(context) : nullptr;
  const Domain::Guard guard(vector.domain);
  int inserted = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Name name;
    std::memcpy(&name, static_cast<const std::byte*>(names) + i * sizeof(name), sizeof(name));
    const bool is_name = vector.domain.is_name(name);
    if (errors != nullptr) errors[i] = is_name ? 0 : FI_EINVAL;
    if (addresses != nullptr) addresses[i] = is_name ? vector.names.size() : FI_ADDR_NOTAVAIL;
    if (!is_name) continue;
    vector.addresses.emplace(key_of(name.peer), vector.names.size());
    vector.names.push_back(name);
    vector.is_used.push_back(true);
    vector.domain.meet(name.peer);
    ++inserted;
  }
  return inserted;
}

int remove(fid_av* av, fi_addr_t* addresses, std::size_t count, std::uint64_t /*flags*/) {
  AddressVector& vector = vector_of(av);
  const Domain::Guard guard(vector.domain);
  for (std::size_t i = 0; i < count; ++i) {
    if (vector.find(addresses[i]) == nullptr) return -FI_EINVAL;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const PeerName peer = vector.names[addresses[i]].peer;
    vector.is_used[addresses[i]] = false;
    if (vector.address_of(peer) != addresses[i]) continue;
    vector.addresses.erase(key_of(peer));
    for (std::size_t other = 0; other < vector.names.size(); ++other) {
      if (vector.is_used[other] && vector.names[other].peer == peer) {
        vector.addresses.emplace(key_of(peer), other);
        break;
      }
    }
  }
  return 0;
}

int lookup(fid_av* av, fi_addr_t address, void* into, std::size_t* length) {
  AddressVector& vector = vector_of(av);
  const Domain::Guard guard(vector.domain);
  if (vector.find(address) == nullptr) return -FI_EINVAL;
  const Name& name = vector.names[address];
  std::memcpy(into, &name, std::min(*length, sizeof(name)));
  const bool fits = *length >= sizeof(name);
  *length = sizeof(name);
  return fits ? 0 : -FI_ETOOSMALL;
}

const char* straddr(fid_av* /*av*/, const void* from, char* buffer, std::size_t* length) {
  Name name;
  std::memcpy(&name, from, sizeof(name));
  // A host and port, or the network in shared memory.
  std::array<char, 64> where;
  if (name.place.port != 0) {
    const std::string host = to_text(HostAddress{name.place.host});
    const bool is_ipv6 = host.find(':') != std::string::npos;
    (void)std::snprintf(where.data(), where.size(), is_ipv6 ? "[%s]:%u" : "%s:%u", host.c_str(),
                        unsigned{name.place.port});
  } else {
    (void)std::snprintf(where.data(), where.size(), "%016llx", static_cast<unsigned long long>(name.network));
  }
  const int written = std::snprintf(buffer, *length, "stopbit://%s/%u/%u/%08x", where.data(), unsigned{name.peer.node},
                                    unsigned{name.peer.endpoint}, name.peer.birth);
  *length = static_cast<std::size_t>(std::max(written, 0)) + 1;
  return buffer;
}

int bind(fid* /*av*/, fid* to, std::uint64_t /*flags*/) {
  // Nothing is reported there: addresses are inserted at once.
  return to->fclass == FI_CLASS_EQ ? 0 : -FI_EINVAL;
}

int close(fid* fid) {
  AddressVector& vector = vector_of(reinterpret_cast<fid_av*>(fid));
  if (vector.users != 0) return -FI_EBUSY;
  vector.domain.release();
  delete &vector;
  return 0;
}

fi_ops fid_ops{.size = sizeof(fi_ops),
               .close = close,
               .bind = bind,
               .control = not_offered,
               .ops_open = not_offered,
               .tostr = not_offered,
               .ops_set = not_offered};
fi_ops_av av_ops{.size = sizeof(fi_ops_av),
                 .insert = insert,
                 .insertsvc = not_offered,
                 .insertsym = not_offered,
                 .remove = remove,
                 .lookup = lookup,
                 .straddr = straddr,
                 .av_set = not_offered};

}  // namespace

AddressVector::AddressVector(Domain& owner, void* user)
    : fid_av{{FI_CLASS_AV, user, &fid_ops}, &av_ops}, domain(owner) {}

fi_addr_t AddressVector::address_of(const PeerName& peer) const noexcept {
  const auto found = addresses.find(key_of(peer));
  return found == addresses.end() ? FI_ADDR_NOTAVAIL : found->second;
}

int open_address_vector(fid_domain* fid, fi_av_attr* attr, fid_av** av, void* context) {
  // Vectors that processes share by name, events instead of results, and several receive contexts are not offered.
  if (attr != nullptr && (attr->name != nullptr || (attr->flags & (FI_EVENT | FI_READ)) != 0 || attr->rx_ctx_bits != 0))
    return -FI_ENOSYS;
  Domain& domain = Domain::of(fid);
  auto vector = std::make_unique<AddressVector>(domain, context);
  domain.retain();
  if (attr != nullptr && attr->type == FI_AV_UNSPEC) attr->type = FI_AV_TABLE;
  *av = vector.release();
  return 0;
}

}  // namespace stopbit::nic::provider
