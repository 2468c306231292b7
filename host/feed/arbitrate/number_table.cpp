#include "host/feed/arbitrate/number_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace stopbit::arbitrate {

void NumberTable::FreeDeleter::operator()(Entry* entries) const noexcept {
  std::free(entries);
}

NumberTable::NumberTable(const Options& options)
    : history_(options.history),
      // Zero pages of the system: a channel that stays short of numbers touches few of them.
      entries_(static_cast<Entry*>(std::calloc(options.history, sizeof(Entry)))) {
  static_assert(std::is_trivially_copyable_v<Entry> && std::is_trivially_destructible_v<Entry>);
  if (entries_ == nullptr) throw std::bad_alloc();
  if (!options.chunks) return;
  masks_ = std::make_unique<ChunkMasks[]>(options.history);
  checks_ = std::make_unique_for_overwrite<ChunkChecks[]>(options.history);
}

void NumberTable::begin(std::uint64_t top) noexcept {
  top_ = top;
  if (is_used_) clear();
  is_used_ = true;
}

void NumberTable::advance(std::uint64_t top) noexcept {
  if (top - top_ >= history_) {
    clear();
  } else {
    for (std::uint64_t number = top_ + 1; number != top + 1; ++number) {
      (*this)[number] = Entry{};
      if (masks_) masks(number) = {};
    }
  }
  top_ = top;
}

void NumberTable::clear() noexcept {
  std::memset(static_cast<void*>(entries_.get()), 0, history_ * sizeof(Entry));
  if (masks_) std::fill_n(masks_.get(), history_, ChunkMasks{});
}

}  // namespace stopbit::arbitrate
