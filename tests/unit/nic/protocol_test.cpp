#include "host/nic/protocol/protocol.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "host/nic/atu/atu.hpp"
#include "host/nic/protocol/package.hpp"

namespace stopbit::nic::protocol::protocol_test {

TEST(Protocol, the_package_of_the_hardware_is_the_one_made_from_the_lists) {
  std::ifstream file(STOPBIT_SOURCE_DIR "/fpga/rtl/pkg/generated/stopbit_nic_pkg.sv");
  ASSERT_TRUE(file) << "fpga/rtl/pkg/generated/stopbit_nic_pkg.sv is missing";
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), package()) << "run: stopbit_nic_package > fpga/rtl/pkg/generated/stopbit_nic_pkg.sv";
}

TEST(Protocol, fields_neither_overlap_nor_leave_their_layout_and_no_code_comes_twice) {
  EXPECT_EQ(problem(), std::nullopt);
}

TEST(Protocol, fields_hold_their_bits_and_no_others) {
  EXPECT_EQ(kGatEntryOwner.put(0xFFFF), 0xFFFF'0000'0000'0000U);
  EXPECT_EQ(kGatEntryNumber.put(~std::uint64_t{0}), 0x0000'07FF'FFFF'FFF8U);
  EXPECT_EQ(kGatEntryPresent.put(3), 1U);
  EXPECT_EQ(kGatEntryNumber.of(kGatEntryNumber.put(12345) | ~kGatEntryNumber.put(~std::uint64_t{0})), 12345U);
  EXPECT_EQ((BitField{63, 0}.of(~std::uint64_t{0})), ~std::uint64_t{0});
}

TEST(Protocol, sizes_are_those_of_an_address) {
  EXPECT_EQ(kTableBits + kEntryBits, kNlaPageBits);
  EXPECT_EQ(kNlaPageBits + kPageBits, kNlaBits);
  EXPECT_EQ(kPageBytes, std::size_t{1} << kPageBits);
  EXPECT_EQ(kTranslateRequestPage.mask() + 1, std::uint64_t{1} << kNlaPageBits);
  EXPECT_EQ(kGatEntryNumber.mask() + 1, std::uint64_t{1} << kNumberBits);
  EXPECT_EQ(nic::kUnits, std::size_t{kUnits});
}

}  // namespace stopbit::nic::protocol::protocol_test
