#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/nic/names.hpp"
#include "host/nic/protocol/protocol.hpp"

namespace stopbit::nic {

class PagedMemory;

/// Number of a page of a node's memory.
using PageNumber = std::uint64_t;

/// A network logical address: table (9 bits), entry (18), byte in the page (12).
inline constexpr unsigned kNlaBits = protocol::kNlaPageBits + protocol::kPageBits;
inline constexpr unsigned kEntryBits = protocol::kEntryBits;
[[nodiscard]] constexpr std::uint64_t nla_page(Nla nla) noexcept {
  return nla / kPageBytes;
}

/// Units that can hold translations; each must acknowledge before a page is reused.
enum class Unit : std::uint8_t { Requester, Responder, Completer };
inline constexpr std::size_t kUnits = protocol::kUnits;

/// The word of a table for a page: as `Atu` keeps it, and as the unit in hardware reads it from memory.
[[nodiscard]] constexpr std::uint64_t gat_entry(Vpid owner, PageNumber page, Access access) noexcept {
  return protocol::kGatEntryOwner.put(owner) | protocol::kGatEntryNumber.put(page) |
         protocol::kGatEntryAccess.put(static_cast<std::uint64_t>(access)) | protocol::kGatEntryPresent.put(1);
}

struct AtuOptions {
  std::size_t tables = 1;                  ///< 1 to 512.
  std::size_t entries = 1U << kEntryBits;  ///< Of each table; 1 to 2^18.
  std::size_t cached = 1024;               ///< Of the translation cache; a power of two.
  std::uint32_t memory_cycles = 55;        ///< A read of the table in memory, for `Translation::cycles`.
};

struct Translation {
  bool ok = false;
  PageNumber page = 0;           ///< Of `paged`, if there is one.
  PagedMemory* paged = nullptr;  ///< Unpinned memory: the page may not be here, and must be held while it is used.
  std::uint32_t cycles = 0;  ///< What the unit of the source document took: 9 for a hit, 20 and the memory for a miss.
};

struct AtuCounters {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t faults = 0;   ///< No entry, another's entry, or not for this access.
  std::uint64_t flushes = 0;  ///< Begun.
  std::uint64_t flushed = 0;  ///< Acknowledged by all units.
};

/// The address translation unit: which page a port means by an address, if it owns it and may do this with it.
///
/// One table for all ports; each entry names its owner, and access is granted only to it, on a hit of the cache as on a
/// miss. A page is given back in two steps: `revoke` makes every later translation fail at once and asks the units;
/// only when all have acknowledged that they hold no translation of it (`is_flushed`) may the page be reused. Until
/// then its entry is not reassigned. One thread. Allocates in the constructor only.
///
/// Unpinned memory has no entries of its own: it takes whole tables among those that AtuOptions::tables leaves of the
/// 512, 1 GiB of addresses each, and is registered and revoked as a whole. It tracks its resident pages itself.
class Atu {
 public:
  explicit Atu(const AtuOptions& options);

  /// Allocates `pages` consecutive addresses. Nothing if not enough consecutive entries are free, or if `pages` is 0.
  [[nodiscard]] std::optional<Nla> register_pages(Vpid owner, std::span<const PageNumber> pages,
                                                  Access access) noexcept;
  /// Gives as many consecutive addresses as it has pages. It must stay until it is flushed. Nothing if there are not
  /// enough free tables in a row, or the memory is not for this access.
  [[nodiscard]] std::optional<Nla> register_paged(Vpid owner, PagedMemory& memory, Access access) noexcept;
  /// False, and nothing changes, if one of the pages is not the owner's, or is being flushed already.
  [[nodiscard]] bool revoke(Vpid owner, Nla first, std::size_t pages) noexcept;
  /// Whether all units have acknowledged for the page, or it was never registered.
  [[nodiscard]] bool is_flushed(Nla nla) const noexcept;

  [[nodiscard]] Translation translate(Vpid who, Nla nla, Access access) noexcept;

  /// For a unit: counts up when it must drop its translations; it acknowledges the number that it has seen.
  [[nodiscard]] std::uint64_t flush_number() const noexcept { return flush_number_; }
  void acknowledge(Unit unit, std::uint64_t flush_number) noexcept;

  [[nodiscard]] const AtuCounters& counters() const noexcept { return counters_; }

 private:
  friend struct AtuInside;  ///< A model check saves and restores the state.

  /// An entry as the source document has it: owner, page number, rights. All zero = none.
  struct Entry {
    std::uint64_t bits = 0;
    std::uint64_t flush = 0;  ///< Being flushed by this number; 0 = not.
  };
  struct Cached {
    std::uint64_t nla_page = 0;
    std::uint64_t bits = 0;
  };

  /// What a table is of, if it has no entries.
  struct Paged {
    PagedMemory* memory = nullptr;
    Vpid owner = 0;
    Access access = Access::Read;
    std::uint64_t first_page = 0;  ///< The address of the memory's first page.
    std::uint64_t pages = 0;
    std::uint64_t flush = 0;  ///< As in Entry; then the memory is not used any more.
  };

  [[nodiscard]] Paged* paged_of(std::uint64_t page) noexcept;
  [[nodiscard]] bool revoke_paged(Vpid owner, std::uint64_t page, std::size_t pages) noexcept;
  void collect() noexcept;

  AtuOptions options_;
  std::vector<Entry> entries_;
  std::vector<Cached> cache_;
  std::vector<Paged> paged_;  ///< Of the tables without entries.
  std::size_t search_from_ = 0;
  std::uint64_t flush_number_ = 0;
  std::uint64_t acknowledged_by_all_ = 0;
  std::array<std::uint64_t, kUnits> acknowledged_{};
  std::vector<std::uint64_t> pending_;  ///< Pages of the flushes that are not acknowledged by all, oldest first.
  AtuCounters counters_;
};

}  // namespace stopbit::nic
