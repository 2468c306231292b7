#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stopbit::multicast {

/// The newest packets of an epoch, by number. Of fixed size: the oldest make room for new ones. One thread. Allocates
/// when it is made.
class History {
 public:
  /// Room for `bytes` of packets, at least one of the longest; 0: none is kept.
  explicit History(std::size_t bytes);

  /// Numbers follow each other; another one than the next forgets all.
  void add(std::uint64_t sequence, std::span<const std::byte> packet) noexcept;
  /// The packet with the number; empty: it is not kept. Valid until the next add.
  [[nodiscard]] std::span<const std::byte> find(std::uint64_t sequence) const noexcept;
  /// The packets from oldest() up to next() are kept.
  [[nodiscard]] std::uint64_t oldest() const noexcept { return oldest_; }
  [[nodiscard]] std::uint64_t next() const noexcept { return next_; }

 private:
  struct Entry {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] Entry& entry(std::uint64_t sequence) noexcept { return entries_[sequence & (entries_.size() - 1)]; }

  std::vector<std::byte> room_;
  std::vector<Entry> entries_;  ///< A power of two.
  std::size_t at_ = 0;          ///< Where the next packet goes.
  std::uint64_t oldest_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace stopbit::multicast
