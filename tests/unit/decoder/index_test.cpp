#include "decoder/wire/index.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace stopbit::wire::index_test {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kLongest = 300;  ///< Every way through a kernel and more than four blocks.

/// Two pages between protected pages.
class GuardedPages {
 public:
  GuardedPages() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const all = mmap(nullptr, 4 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return;
    begin_ = static_cast<std::uint8_t*>(all);
    is_usable_ = mprotect(begin(), 2 * page_, PROT_READ | PROT_WRITE) == 0;
  }
  ~GuardedPages() {
    if (begin_ != nullptr) munmap(begin_, 4 * page_);
  }
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  [[nodiscard]] bool is_usable() const { return is_usable_; }
  [[nodiscard]] std::uint8_t* begin() const { return begin_ + page_; }
  [[nodiscard]] std::uint8_t* end() const { return begin_ + 3 * page_; }

 private:
  std::size_t page_;
  std::uint8_t* begin_ = nullptr;
  bool is_usable_ = false;
};

std::span<const std::byte> datagram(const std::uint8_t* begin, std::size_t size) {
  return std::as_bytes(std::span(begin, size));
}

void fill(std::uint8_t* to, std::size_t size, std::mt19937& random) {
  for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<std::uint8_t>(random());
}

/// Whether everything that an index promises about these bytes is so.
void expect_indexed(const Index& index, std::span<const std::uint8_t> bytes) {
  ASSERT_EQ(index.size(), bytes.size());
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(index.data()) % kIndexBlock, 0U);
  ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), index.data()));
  for (std::size_t i = 0; i < kIndexBlock; ++i) {
    ASSERT_EQ(index.data()[bytes.size() + i], 0) << "after the end: " << i;
    ASSERT_EQ((index.data() - kIndexBlock)[i], 0) << "before the begin: " << i;
  }
  const std::size_t words = (bytes.size() + kIndexBlock - 1) / kIndexBlock;
  Bytes stops;
  for (std::size_t i = 0; i < words * kIndexBlock; ++i) {
    stops.push_back(index.stops()[i / kIndexBlock] >> i % kIndexBlock & 1U);
    ASSERT_EQ(stops.back(), i < bytes.size() ? bytes[i] >> 7 : 0) << "byte " << i;
  }
  ASSERT_EQ(index.stops()[words], 0U) << "behind the last word";
  stops.resize(stops.size() + 2 * kIndexBlock, 0);
  for (std::size_t position = 0; position <= bytes.size(); ++position) {
    const std::uint64_t mask = index.stops_from(position);
    for (std::size_t i = 0; i < Index::kNearBytes; ++i) {
      ASSERT_EQ(mask >> i & 1U, stops[position + i]) << "from " << position << ", byte " << i;
    }
  }
}

class IndexOfKernel : public testing::TestWithParam<IndexKernel> {};

TEST_P(IndexOfKernel, is_right_for_every_length_and_alignment) {
  std::mt19937 random(1);
  Index index(kLongest, GetParam());
  for (std::size_t size = 0; size <= kLongest; ++size) {
    for (std::size_t alignment = 0; alignment < kIndexBlock; alignment += size < 2 * kIndexBlock ? 1 : 7) {
      // To the byte as large as needed, so that a sanitizer sees a read past the end.
      const auto memory = std::make_unique<std::uint8_t[]>(alignment + size);
      std::uint8_t* const begin = memory.get() + alignment;
      fill(begin, size, random);
      index.build(datagram(begin, size));
      ASSERT_NO_FATAL_FAILURE(expect_indexed(index, {begin, size})) << size << " bytes at alignment " << alignment;
    }
  }
}

TEST_P(IndexOfKernel, reads_nothing_outside_the_datagram) {
  const GuardedPages pages;
  ASSERT_TRUE(pages.is_usable());
  std::mt19937 random(2);
  fill(pages.begin(), static_cast<std::size_t>(pages.end() - pages.begin()), random);
  Index index(kLongest, GetParam());
  for (std::size_t size = 0; size <= kLongest; ++size) {
    for (const std::uint8_t* begin : {pages.begin() + 0, pages.end() - size}) {
      index.build(datagram(begin, size));
      ASSERT_NO_FATAL_FAILURE(expect_indexed(index, {begin, size})) << size << " bytes";
    }
  }
}

TEST_P(IndexOfKernel, is_right_for_the_largest_datagram) {
  std::mt19937 random(3);
  Index index(limits::kMaxDatagramBytes, GetParam());
  for (std::size_t size = limits::kMaxDatagramBytes - 65; size <= limits::kMaxDatagramBytes; size += 13) {
    const auto memory = std::make_unique<std::uint8_t[]>(size);
    fill(memory.get(), size, random);
    index.build(datagram(memory.get(), size));
    ASSERT_NO_FATAL_FAILURE(expect_indexed(index, {memory.get(), size})) << size << " bytes";
  }
}

TEST_P(IndexOfKernel, does_not_depend_on_the_datagrams_before) {
  const Bytes before(kLongest, 0xFF);
  for (std::size_t size = 0; size < kLongest; ++size) {
    const Bytes bytes(size, static_cast<std::uint8_t>(size));
    Index index(kLongest, GetParam());
    index.build(datagram(before.data(), before.size()));
    index.build(datagram(bytes.data(), bytes.size()));
    ASSERT_NO_FATAL_FAILURE(expect_indexed(index, bytes)) << size << " bytes";
  }
}

TEST_P(IndexOfKernel, does_not_change_with_the_original) {
  Bytes bytes(kLongest, 0x2A);
  Index index(kLongest, GetParam());
  index.build(datagram(bytes.data(), bytes.size()));
  bytes.assign(kLongest, 0xFF);
  expect_indexed(index, Bytes(kLongest, 0x2A));
}

TEST_P(IndexOfKernel, takes_no_more_than_it_has_room_for) {
  const Bytes bytes(kLongest, 0x81);
  for (const std::size_t room : {0U, 1U, 63U, 64U, 65U, 127U, 128U}) {
    Index index(room, GetParam());
    index.build(datagram(bytes.data(), bytes.size()));
    expect_indexed(index, Bytes(room, 0x81));
  }
}

TEST_P(IndexOfKernel, of_a_moved_index_is_the_same) {
  const Bytes bytes(kLongest, 0x81);
  Index index(kLongest, GetParam());
  index.build(datagram(bytes.data(), bytes.size()));
  const Index other = std::move(index);
  expect_indexed(other, bytes);
}

INSTANTIATE_TEST_SUITE_P(Kernels, IndexOfKernel, testing::ValuesIn(index_kernels().begin(), index_kernels().end()),
                         [](const testing::TestParamInfo<IndexKernel>& one) { return std::string(one.param.name); });

TEST(IndexKernels, begin_with_the_portable_one_and_are_found_by_name) {
  ASSERT_EQ(index_kernels().front().name, "portable");
  for (const IndexKernel& kernel : index_kernels()) {
    const Result<IndexKernel> found = find_index_kernel(std::string(kernel.name).c_str());
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found.value().build, kernel.build);
  }
  EXPECT_EQ(find_index_kernel(nullptr).value().name, index_kernels().back().name);
}

TEST(IndexKernels, an_unknown_name_is_an_error_that_says_what_there_is) {
  for (const char* name : {"", "neon", "AVX2", "avx"}) {
    const Result<IndexKernel> found = find_index_kernel(name);
    ASSERT_FALSE(found.ok());
    EXPECT_NE(found.message().find('\'' + std::string(name) + '\''), std::string::npos) << found.message();
    EXPECT_NE(found.message().find("it has portable"), std::string::npos) << found.message();
  }
}

/// ctest runs it with several values of the variable.
TEST(IndexKernels, the_environment_chooses) {
  const char* const name = std::getenv("STOPBIT_KERNEL");
  const Result<IndexKernel> wanted = find_index_kernel(name);
  const Result<IndexKernel>& chosen = chosen_index_kernel();
  ASSERT_EQ(chosen.ok(), wanted.ok());
  if (wanted) {
    EXPECT_EQ(chosen.value().build, wanted.value().build);
  } else {
    EXPECT_EQ(chosen.message(), "STOPBIT_KERNEL: " + wanted.message());
  }
}

}  // namespace stopbit::wire::index_test
