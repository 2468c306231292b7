#include <gtest/gtest.h>

#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <string>

#include "host/device/xrt/xrt_device.hpp"
#include "tests/lib/file_text.hpp"

// What the leaf of XRT refuses; card_test.cpp has what it does.

namespace stopbit::device {
namespace {

TEST(Xrt, refuses_cards_that_are_not_there) {
  EXPECT_FALSE(open_xrt({.card = 7, .xclbin = STOPBIT_XCLBIN, .kernel = 0, .memory = 0}).ok());
  EXPECT_FALSE(open_xrt({.card = 0, .xclbin = STOPBIT_XCLBIN, .kernel = 3, .memory = 0}).ok());
}

TEST(Xrt, refuses_files_that_would_make_the_library_crash) {
  const std::string whole = testing::file_text(STOPBIT_XCLBIN);
  ASSERT_GT(whole.size(), 500U);
  const std::string path = "./xrt_bad_" + std::to_string(::getpid()) + ".xclbin";
  const auto refused = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    const Result<std::unique_ptr<Device>> device = open_xrt({.card = 0, .xclbin = path, .kernel = 0, .memory = 0});
    return device.ok() ? std::string() : device.message();
  };
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{7}, std::size_t{455}, std::size_t{600}, whole.size() - 1}) {
    EXPECT_NE(refused(whole.substr(0, bytes)).find("is not an xclbin"), std::string::npos) << bytes << " bytes";
  }
  std::string other = whole;
  other[0] = 'X';
  EXPECT_NE(refused(other).find("does not begin with"), std::string::npos);
  other = whole;
  constexpr std::size_t kFirstSectionSize = 456 + 32;
  other[kFirstSectionSize + 3] = 0x7F;
  EXPECT_NE(refused(other).find("ends after the end of the file"), std::string::npos);
  other = whole;
  constexpr std::size_t kSections = 448;
  other[kSections + 3] = 0x7F;
  EXPECT_NE(refused(other).find("cannot hold"), std::string::npos);
  ::unlink(path.c_str());
  EXPECT_NE(refused("").size(), 0U);
  ::unlink(path.c_str());
  const Result<std::unique_ptr<Device>> absent =
      open_xrt({.card = 0, .xclbin = "./not-there", .kernel = 0, .memory = 0});
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.message().find("cannot open"), std::string::npos);
}

}  // namespace
}  // namespace stopbit::device
