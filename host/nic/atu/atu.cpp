#include "host/nic/atu/atu.hpp"

#include <algorithm>
#include <bit>

#include "host/nic/netvm/paged_memory.hpp"

namespace stopbit::nic {
namespace {

constexpr std::uint32_t kHitCycles = 9;
constexpr std::uint32_t kMissCycles = 20;  // and the read of the memory
constexpr std::uint64_t kPresent = protocol::kGatEntryPresent.put(1);
constexpr std::size_t kMaxTables = std::size_t{1} << protocol::kTableBits;

constexpr bool grants(std::uint64_t bits, Vpid who, Access access) noexcept {
  return (bits & kPresent) != 0 && protocol::kGatEntryOwner.of(bits) == who &&
         allows(static_cast<Access>(protocol::kGatEntryAccess.of(bits)), access);
}

}  // namespace

Atu::Atu(const AtuOptions& options) : options_(options) {
  options_.tables = std::clamp<std::size_t>(options_.tables, 1, kMaxTables);
  options_.entries = std::clamp<std::size_t>(options_.entries, 1, std::size_t{1} << kEntryBits);
  options_.cached = std::bit_floor(std::max<std::size_t>(options_.cached, 1));
  entries_.resize(options_.tables * options_.entries);
  cache_.resize(options_.cached);
  pending_.reserve(entries_.size());
  paged_.resize(kMaxTables - options_.tables);
}

std::optional<Nla> Atu::register_pages(Vpid owner, std::span<const PageNumber> pages, Access access) noexcept {
  if (pages.empty() || pages.size() > options_.entries) return std::nullopt;
  if (std::any_of(pages.begin(), pages.end(), [](PageNumber page) { return page > protocol::kGatEntryNumber.mask(); }))
    return std::nullopt;
  // First fit, from where the last search ended, once around. A range stays in one table.
  std::size_t run = 0;
  const std::size_t all = entries_.size();
  for (std::size_t tried = 0; tried < all + pages.size(); ++tried) {
    const std::size_t at = (search_from_ + tried) % all;
    if (at % options_.entries == 0) run = 0;
    run = entries_[at].bits == 0 && entries_[at].flush == 0 ? run + 1 : 0;
    if (run < pages.size()) continue;
    const std::size_t first = at + 1 - run;
    for (std::size_t i = 0; i < pages.size(); ++i) entries_[first + i].bits = gat_entry(owner, pages[i], access);
    search_from_ = (at + 1) % all;
    return static_cast<Nla>(first / options_.entries << kEntryBits | first % options_.entries) * kPageBytes;
  }
  return std::nullopt;
}

namespace {

/// Place of an address in the entries; nothing if no table has it.
std::optional<std::size_t> place_of(std::uint64_t page, const AtuOptions& options) noexcept {
  const std::uint64_t table = page >> kEntryBits;
  const std::uint64_t entry = page & ((std::uint64_t{1} << kEntryBits) - 1);
  if (table >= options.tables || entry >= options.entries) return std::nullopt;
  return static_cast<std::size_t>(table * options.entries + entry);
}

}  // namespace

std::optional<Nla> Atu::register_paged(Vpid owner, PagedMemory& memory, Access access) noexcept {
  if (!allows(memory.access(), access)) return std::nullopt;
  const std::uint64_t tables = ((memory.pages() - 1) >> kEntryBits) + 1;
  std::size_t run = 0;
  for (std::size_t at = 0; at < paged_.size(); ++at) {
    run = paged_[at].memory == nullptr ? run + 1 : 0;
    if (run < tables) continue;
    const std::size_t first = at + 1 - run;
    const std::uint64_t page = (options_.tables + first) << kEntryBits;
    for (std::size_t i = 0; i < tables; ++i) {
      paged_[first + i] = {&memory, owner, access, page, memory.pages(), 0};
    }
    return page * kPageBytes;
  }
  return std::nullopt;
}

/// Null: the page belongs to no unpinned memory, or is after its end.
Atu::Paged* Atu::paged_of(std::uint64_t page) noexcept {
  const std::uint64_t table = (page >> kEntryBits) - options_.tables;
  if (page >> kEntryBits < options_.tables || table >= paged_.size()) return nullptr;
  Paged& paged = paged_[table];
  return paged.memory != nullptr && page - paged.first_page < paged.pages ? &paged : nullptr;
}

bool Atu::revoke_paged(Vpid owner, std::uint64_t page, std::size_t pages) noexcept {
  const Paged* const paged = paged_of(page);
  if (paged == nullptr || paged->owner != owner || paged->flush != 0 || page != paged->first_page ||
      pages != paged->pages) {
    return false;
  }
  ++flush_number_;
  ++counters_.flushes;
  for (Paged& of_table : paged_) {
    if (of_table.memory != nullptr && of_table.first_page == page) of_table.flush = flush_number_;
  }
  return true;
}

bool Atu::revoke(Vpid owner, Nla first, std::size_t pages) noexcept {
  if (nla_page(first) >> kEntryBits >= options_.tables) return revoke_paged(owner, nla_page(first), pages);
  if (pages == 0 || pages > entries_.size()) return false;
  for (std::size_t i = 0; i < pages; ++i) {
    const auto place = place_of(nla_page(first) + i, options_);
    if (!place || (entries_[*place].bits & kPresent) == 0 ||
        protocol::kGatEntryOwner.of(entries_[*place].bits) != owner)
      return false;
  }
  ++flush_number_;
  for (std::size_t i = 0; i < pages; ++i) {
    const std::uint64_t page = nla_page(first) + i;
    entries_[*place_of(page, options_)] = {0, flush_number_};
    Cached& cached = cache_[page & (options_.cached - 1)];
    if (cached.nla_page == page) cached = {};
    pending_.push_back(page);
    ++counters_.flushes;
  }
  return true;
}

bool Atu::is_flushed(Nla nla) const noexcept {
  const std::uint64_t table = nla_page(nla) >> kEntryBits;
  if (table >= options_.tables) {
    return table - options_.tables >= paged_.size() || paged_[table - options_.tables].flush == 0;
  }
  const auto place = place_of(nla_page(nla), options_);
  return !place || entries_[*place].flush == 0;
}

Translation Atu::translate(Vpid who, Nla nla, Access access) noexcept {
  const std::uint64_t page = nla_page(nla);
  Cached& cached = cache_[page & (options_.cached - 1)];
  Translation result;
  std::uint64_t bits = 0;
  if (cached.bits != 0 && cached.nla_page == page) {
    bits = cached.bits;
    result.cycles = kHitCycles;
    ++counters_.hits;
  } else {
    result.cycles = kMissCycles + options_.memory_cycles;
    ++counters_.misses;
    if (const auto place = place_of(page, options_)) {
      bits = entries_[*place].bits;
    } else if (const Paged* const paged = paged_of(page)) {
      if (paged->flush == 0 && paged->owner == who && allows(paged->access, access)) {
        result.ok = true;
        result.page = page - paged->first_page;
        result.paged = paged->memory;
        return result;
      }
    }
    if (bits != 0) cached = {page, bits};
  }
  result.ok = grants(bits, who, access);
  if (result.ok) {
    result.page = protocol::kGatEntryNumber.of(bits);
  } else {
    ++counters_.faults;
  }
  return result;
}

void Atu::acknowledge(Unit unit, std::uint64_t flush_number) noexcept {
  std::uint64_t& of_unit = acknowledged_[static_cast<std::size_t>(unit)];
  flush_number = std::min(flush_number, flush_number_);
  if (flush_number <= of_unit) return;
  of_unit = flush_number;
  collect();
}

void Atu::collect() noexcept {
  const std::uint64_t by_all = *std::min_element(acknowledged_.begin(), acknowledged_.end());
  if (by_all == acknowledged_by_all_) return;
  acknowledged_by_all_ = by_all;
  std::size_t kept = 0;
  for (const std::uint64_t page : pending_) {
    Entry& entry = entries_[*place_of(page, options_)];
    if (entry.flush > by_all) {
      pending_[kept++] = page;
    } else {
      entry.flush = 0;
      ++counters_.flushed;
    }
  }
  pending_.resize(kept);
  for (Paged& paged : paged_) {
    if (paged.flush == 0 || paged.flush > by_all) continue;
    if (paged.first_page == (options_.tables + static_cast<std::size_t>(&paged - paged_.data())) << kEntryBits) {
      ++counters_.flushed;
    }
    paged = {};
  }
}

}  // namespace stopbit::nic
