#include "microcode/isa/isa.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "microcode/gen/isa_package.hpp"
#include "microcode/gen/isa_page.hpp"

namespace stopbit::isa::isa_test {

TEST(IsaPage, is_the_one_made_from_the_list) {
  std::ifstream file(STOPBIT_SOURCE_DIR "/microcode/isa/generated/isa.md");
  ASSERT_TRUE(file) << "microcode/isa/generated/isa.md is missing";
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), gen::isa_page()) << "run: stopbit_isa_page > microcode/isa/generated/isa.md";
}

TEST(IsaPackage, is_the_one_made_from_the_list) {
  std::ifstream file(STOPBIT_SOURCE_DIR "/fpga/rtl/pkg/generated/stopbit_isa_pkg.sv");
  ASSERT_TRUE(file) << "fpga/rtl/pkg/generated/stopbit_isa_pkg.sv is missing";
  std::stringstream package;
  package << file.rdbuf();
  EXPECT_EQ(package.str(), gen::isa_package())
      << "run: stopbit_isa_package > fpga/rtl/pkg/generated/stopbit_isa_pkg.sv";
}

/// Rows of the list: two of one code would leave fewer instructions than rows.
constexpr std::size_t kRows = 0
#define STOPBIT_DATA_OP(...) +1
#define STOPBIT_SPECIAL_OP(...) +1
#include "microcode/isa/opcodes.def"
    ;

TEST(Isa, every_instruction_has_its_own_code_and_mnemonic) {
  std::size_t count = 0;
  for (unsigned code = 0; code < 256; ++code) {
    const DataOpInfo* row = info(static_cast<DataOp>(code));
    if (row == nullptr) continue;
    ++count;
    EXPECT_EQ(static_cast<unsigned>(row->op), code);
    EXPECT_EQ(data_op_from_mnemonic(row->mnemonic), row->op);
  }
  EXPECT_EQ(count, kRows);
  EXPECT_FALSE(data_op_from_mnemonic("NON_U32"));
  EXPECT_FALSE(data_op_from_mnemonic(""));
}

TEST(Isa, mnemonics_say_operator_type_and_presence) {
  constexpr std::string_view kOperators[] = {"NON", "CON", "DEF", "COP", "INC", "DEL", "TAI", "BIT"};
  constexpr std::string_view kTypes[] = {"U32",  "S32",  "U64",   "S64", "IEXP",  "IMAN",
                                         "DEXP", "DMAN", "ASCII", "UNI", "BYTES", "BITS"};
  for (unsigned code = 0; code < 256; ++code) {
    const auto op = static_cast<DataOp>(code);
    const DataOpInfo* row = info(op);
    if (row == nullptr || is_special(op)) continue;
    const std::string wanted = std::string(kOperators[static_cast<std::size_t>(operator_of(op))]) + '_' +
                               std::string(kTypes[static_cast<std::size_t>(type_of(op))]) +
                               (is_optional(op) ? "_OPT" : "_MAN");
    EXPECT_EQ(row->mnemonic, wanted);
    EXPECT_EQ(row->op_class, operator_of(op));
    EXPECT_EQ(row->type, type_of(op));
    EXPECT_EQ(row->presence == Presence::Opt, is_optional(op));
  }
}

TEST(Isa, encoding_puts_each_column_at_its_bits) {
  Instruction in;
  in.op = DataOp::CopU32Man;
  in.word = 3;
  in.slot = 0xABC;
  in.constant = 0x123;
  in.control = ControlOp::Lend;
  in.target = 0x3FFE;
  in.pair = true;
  const std::uint64_t word = encode(in);
  EXPECT_EQ(word & 0xFF, 3U << 5);
  EXPECT_EQ(word >> 8 & 0xFF, 3U);
  EXPECT_EQ(word >> 16 & 0xFFF, 0xABCU);
  EXPECT_EQ(word >> 28 & 0xFFF, 0x123U);
  EXPECT_EQ(word >> 40 & 0xF, 3U);
  EXPECT_EQ(word >> 44 & 0x3FFF, 0x3FFEU);
  EXPECT_EQ(word >> 58, 1U);
  in.known = KnownBit::Set;
  in.predicate = true;
  EXPECT_EQ(encode(in) >> 58, 0b1101U);
  ASSERT_TRUE(decode(encode(in)));
  EXPECT_EQ(*decode(encode(in)), in);
  in.known = KnownBit::No;
  in.predicate = false;
  ASSERT_TRUE(decode(word));
  EXPECT_EQ(*decode(word), in);
}

TEST(Isa, decoding_refuses_unknown_ops_and_spare_bits) {
  const std::uint64_t nop = encode({});
  EXPECT_TRUE(decode(nop));
  for (int bit = 62; bit < 64; ++bit) EXPECT_FALSE(decode(nop | std::uint64_t{1} << bit)) << bit;
  EXPECT_FALSE(decode(nop | std::uint64_t{3} << 59)) << "a bit cannot be clear and set";
  EXPECT_FALSE(decode(nop | std::uint64_t{10} << 40));
  EXPECT_FALSE(decode(nop | 0x1F));
}

TEST(Isa, capabilities_have_names) {
  EXPECT_EQ(capability_name(static_cast<std::uint64_t>(Capability::Integers)), "integers");
  EXPECT_EQ(capability_name(static_cast<std::uint64_t>(Capability::References)), "dynamic references");
  EXPECT_EQ(capability_name(0), "");
  EXPECT_EQ(capability_name(3), "");
  EXPECT_EQ(capability_name(std::uint64_t{1} << 63), "");
  EXPECT_EQ(capability(DataOp::DelUniOpt, ControlOp::Next), static_cast<std::uint64_t>(Capability::StringDeltas));
  EXPECT_EQ(capability(DataOp::Nop, ControlOp::End), 0U);
}

}  // namespace stopbit::isa::isa_test
