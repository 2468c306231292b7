#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "host/nic/provider/wire.hpp"

namespace stopbit::nic::provider {

class Domain;

/// The peers of an endpoint. An fi_addr_t is the index of an entry, for both types of vectors.
struct AddressVector : fid_av {
  AddressVector(Domain& domain, void* context);

  /// Null: there is no such address.
  [[nodiscard]] const PeerName* find(fi_addr_t address) const noexcept {
    return address < names.size() && is_used[address] ? &names[address].peer : nullptr;
  }
  /// FI_ADDR_NOTAVAIL: the peer was not inserted.
  [[nodiscard]] fi_addr_t address_of(const PeerName& peer) const noexcept;

  Domain& domain;
  std::vector<Name> names;
  std::vector<bool> is_used;
  std::unordered_map<std::uint64_t, fi_addr_t> addresses;  ///< By PeerName; the first of equal ones.
  unsigned users = 0;                                      ///< Endpoints that are bound to it.
};

[[nodiscard]] int open_address_vector(fid_domain* domain, fi_av_attr* attr, fid_av** av, void* context);

}  // namespace stopbit::nic::provider
