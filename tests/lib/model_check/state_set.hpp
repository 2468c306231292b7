#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace stopbit::model_check {

/// States that were met, told apart by 128 bits of a hash: 16 bytes each, at most three quarters of them full.
class StateSet {
 public:
  /// False: it was in the set already.
  bool insert(std::span<const std::byte> state) {
    if ((count_ + 1) * 4 > keys_.size() * 3) grow();
    const Key key = key_of(state);
    Key& place = find(key);
    if (place == key) return false;
    place = key;
    ++count_;
    return true;
  }
  [[nodiscard]] std::uint64_t size() const { return count_; }

 private:
  struct Key {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    bool operator==(const Key&) const = default;
  };

  static Key key_of(std::span<const std::byte> state) {
    Key key{0x9E37'79B9'7F4A'7C15U + state.size(), 0xC2B2'AE3D'27D4'EB4FU};
    for (std::size_t at = 0; at < state.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, state.data() + at, std::min(sizeof(word), state.size() - at));
      key.a = (key.a ^ word) * 0xFF51'AFD7'ED55'8CCDU;
      key.a ^= key.a >> 29U;
      key.b = (key.b + word) * 0xC4CE'B9FE'1A85'EC53U;
      key.b ^= key.b >> 31U;
    }
    if (key == Key{}) key.a = 1;  // zeros are a free place
    return key;
  }
  Key& find(const Key& key) {
    std::size_t at = key.a & (keys_.size() - 1);
    while (keys_[at] != Key{} && keys_[at] != key) at = (at + 1) & (keys_.size() - 1);
    return keys_[at];
  }
  void grow() {
    std::vector<Key> old(keys_.size() * 2);
    old.swap(keys_);
    for (const Key& key : old) {
      if (key != Key{}) find(key) = key;
    }
  }

  std::vector<Key> keys_ = std::vector<Key>(1024);
  std::uint64_t count_ = 0;
};

}  // namespace stopbit::model_check
