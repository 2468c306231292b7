#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/market/stage/key_index.hpp"

namespace stopbit::market {

/// Scopes of numbers that several instruments share, by the values of the fields that name them, and the instruments of
/// each. One thread; allocates when it is made only.
class Products {
 public:
  Products(std::uint32_t products, std::uint32_t instruments, std::uint64_t salt)
      : capacity_(products),
        index_(products, salt),
        first_(std::make_unique<std::uint32_t[]>(std::size_t{products} + 1)),
        names_(std::make_unique<KeyBits[]>(std::size_t{products} + 1)),
        links_(std::make_unique<Link[]>(std::size_t{instruments} + 1)) {}

  /// 0: there is no room for another one.
  [[nodiscard]] std::uint32_t find_or_add(const KeyBits& name) noexcept {
    std::uint32_t product = index_.find(name);
    if (product != 0 || count_ == capacity_) return product;
    product = ++count_;
    index_.add(name, product);
    names_[product] = name;
    return product;
  }
  /// The instrument is of this product from now on. Costs the same for any number of instruments: a sender may move
  /// each with an entry.
  void put(std::uint32_t row, std::uint32_t product) noexcept {
    Link& link = links_[row];
    if (link.product == product) return;
    if (link.product != 0) {
      (link.before != 0 ? links_[link.before].next : first_[link.product]) = link.next;
      if (link.next != 0) links_[link.next].before = link.before;
    }
    link = {.product = product, .next = first_[product], .before = 0};
    if (link.next != 0) links_[link.next].before = row;
    first_[product] = row;
  }
  [[nodiscard]] std::uint32_t of(std::uint32_t row) const noexcept { return links_[row].product; }
  [[nodiscard]] const KeyBits& name(std::uint32_t product) const noexcept { return names_[product]; }
  /// Calls take(row) for its instruments.
  template <class Take>
  void for_each(std::uint32_t product, const Take& take) const noexcept {
    for (std::uint32_t row = first_[product]; row != 0; row = links_[row].next) take(row);
  }

 private:
  struct Link {
    std::uint32_t product = 0;
    std::uint32_t next = 0;    ///< Row; 0: none.
    std::uint32_t before = 0;  ///< The same.
  };
  std::uint32_t capacity_;
  std::uint32_t count_ = 0;
  KeyIndex index_;
  std::unique_ptr<std::uint32_t[]> first_;  ///< By product.
  std::unique_ptr<KeyBits[]> names_;        ///< By product.
  std::unique_ptr<Link[]> links_;           ///< By instrument.
};

}  // namespace stopbit::market
