#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace stopbit::nic::provider {

class Domain;
struct Counter;

/// Memory that the program has registered. Peers reach it by its key, if its rights allow that, until it is closed.
struct Region : fid_mr {
  Region(Domain& domain, void* context);

  Domain& domain;
  std::byte* base = nullptr;
  std::size_t length = 0;
  std::uint64_t access = 0;
  Counter* reads = nullptr;  ///< Of peers; fi_mr_bind.
  Counter* writes = nullptr;
};

/// The regions of a domain that peers may reach.
class Regions {
 public:
  /// `has_own_keys`, `has_own_addresses`: FI_MR_BASIC. Else the program chooses the keys, and a region begins at 0.
  explicit Regions(bool is_basic) noexcept : is_basic_(is_basic) {}

  /// False: another region has the key that the program wants.
  [[nodiscard]] bool add(Region& region, std::uint64_t wanted_key);
  void remove(const Region& region);

  struct Found {
    Region* region = nullptr;
    std::byte* at = nullptr;
    int error = 0;  ///< FI_EKEYREJECTED, FI_EACCES.
  };
  /// Any values may be asked about. No bytes: no region is needed, as with other interfaces.
  [[nodiscard]] Found find(std::uint64_t key, std::uint64_t address, std::uint64_t length,
                           std::uint64_t access) const noexcept;

 private:
  bool is_basic_;
  std::unordered_map<std::uint64_t, Region*> regions_;
};

[[nodiscard]] fi_ops_mr& registration_calls() noexcept;

}  // namespace stopbit::nic::provider
