#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stopbit::nic::provider {

/// A fixed number of entries with numbers for the wire: index and use, so that a late answer finds no later entry.
template <class T>
class Store {
 public:
  /// At most 65536.
  explicit Store(std::size_t size) : entries_(size) {
    free_.reserve(size);
    for (std::size_t i = size; i-- > 0;) free_.push_back(static_cast<std::uint32_t>(i));
  }

  [[nodiscard]] bool is_full() const noexcept { return free_.empty(); }
  [[nodiscard]] std::size_t used() const noexcept { return entries_.size() - free_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// Takes an entry; there must be one. Returns its number.
  [[nodiscard]] std::uint32_t take(const T& value) {
    const std::uint32_t index = free_.back();
    free_.pop_back();
    entries_[index].value = value;
    entries_[index].is_used = true;
    return index | std::uint32_t{entries_[index].use} << 16U;
  }
  /// Null: no entry has this number now.
  [[nodiscard]] T* find(std::uint32_t number) noexcept {
    const std::size_t index = number & 0xFFFFU;
    if (index >= entries_.size() || !entries_[index].is_used || entries_[index].use != number >> 16U) return nullptr;
    return &entries_[index].value;
  }
  /// Of an entry that is used.
  void give_back(std::uint32_t number) {
    Entry& entry = entries_[number & 0xFFFFU];
    entry.is_used = false;
    ++entry.use;
    free_.push_back(number & 0xFFFFU);
  }
  /// Calls `use(number, value)` for each entry that is used; it may give that entry back.
  template <class Use>
  void for_each(const Use& use) {
    for (std::uint32_t i = 0; i < entries_.size() && used() != 0; ++i) {
      if (entries_[i].is_used) use(i | std::uint32_t{entries_[i].use} << 16U, entries_[i].value);
    }
  }

 private:
  struct Entry {
    T value;
    std::uint16_t use = 0;
    bool is_used = false;
  };
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
};

}  // namespace stopbit::nic::provider
