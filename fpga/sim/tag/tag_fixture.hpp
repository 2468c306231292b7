#pragma once

#include <Vstopbit_tag_unit.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tag_driver.hpp"

namespace stopbit::sim::tag {

using nic::TagHeader;
using nic::TagMask;
using nic::TagReceive;
using nic::TagRecord;
using Unit = Driver<Vstopbit_tag_unit>;

inline constexpr unsigned kBucketBits = 10;

/// As stopbit_tag_hash: equal buckets make long chains.
[[nodiscard]] inline unsigned bucket_of(const TagHeader& header, const TagMask& mask) {
  const TagHeader key = nic::masked(header, mask);
  unsigned bucket = 0;
  for (unsigned i = 0; i < 64; ++i) bucket ^= static_cast<unsigned>(key.value >> i & 1) << i % kBucketBits;
  for (unsigned i = 0; i < 32; ++i) {
    bucket ^= (key.template_id >> i & 1) << (i + kBucketBits / 3) % kBucketBits;
    bucket ^= (key.channel >> i & 1) << (i + 2 * kBucketBits / 3) % kBucketBits;
  }
  return bucket;
}
/// Value `i` of those that are in bucket 0, with the other fields 0.
[[nodiscard]] constexpr std::uint64_t colliding(std::uint64_t i) {
  return i | i << kBucketBits;
}

[[nodiscard]] inline std::uint64_t seed() {
  const char* const said = std::getenv("STOPBIT_SEED");
  return said == nullptr ? 1 : std::strtoull(said, nullptr, 10);
}

class TagTest : public ::testing::Test {
 protected:
  TagTest() : unit_(seed()) {}

  /// A receive for one value of one channel.
  static TagReceive receive(std::uint64_t id, std::uint64_t value, bool is_persistent = false) {
    return {{1, 2, value}, {}, is_persistent, id};
  }
  static TagRecord record(std::uint64_t id, std::uint64_t value) { return {{1, 2, value}, id}; }

  Answer post(const TagReceive& receive) { return unit_.run(command_of(protocol::kTagPost, receive)).back(); }
  Answer arrive(const TagRecord& record) { return unit_.run(command_of(protocol::kTagArrive, record)).back(); }
  Answer simple(std::uint64_t operation, std::uint64_t id = 0) {
    Command command;
    command.operation = operation;
    command.id = id;
    return unit_.run(command).back();
  }

  Unit unit_;
};

}  // namespace stopbit::sim::tag
