#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fpga/sim/cosim/lockstep.hpp"
#include "host/device/firmware/device.hpp"
#include "tests/lib/byte_notation.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/workloads/workload.hpp"
#include "tests/runner/case_program.hpp"
#include "tests/runner/run_case.hpp"

/// Core and interpreter instruction by instruction; and what it says if one instruction of the core is another.
namespace stopbit::sim {
namespace {

using Bytes = std::vector<std::byte>;

constexpr const char* kTemplates = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Book" id="1">
    <uInt32 name="Number"><increment/></uInt32>
    <decimal name="Price" presence="optional"><delta/></decimal>
    <string name="Symbol"><copy/></string>
    <sequence name="Levels">
      <length name="NoLevels"/>
      <int64 name="Size"><delta/></int64>
      <uInt32 name="Kind" presence="optional"><default value="3"/></uInt32>
    </sequence>
    <group name="Extra" presence="optional"><uInt64 name="Id"/></group>
    <uInt32 name="Last"/>
  </template>
</templates>)";

Program book() {
  return bench::compile_text("book.xml", kTemplates).value();
}

std::vector<Bytes> messages() {
  Diagnostics diagnostics;
  const auto steps = cases::parse_bytes(R"(
    pmap(1 1 1 1) u32(1) u32(7) delta?(-2) delta(1234) ascii("EURUSD") u32(2) pmap(1) delta(100) u32?(5)
      pmap(0) delta(-3) u64(77) u32(9)
    pmap(0 0 0 0) delta?(null) u32(1) pmap(0) delta(2) u32(10)
    packet
    pmap(1 1 1 0) u32(1) u32(8) delta?(1) delta(5) ascii("GBP") u32(0) u32(11)
  )",
                                        diagnostics);
  EXPECT_TRUE(steps) << diagnostics.format();
  std::vector<Bytes> out;
  for (const cases::Step& step : *steps) out.push_back(step.bytes);
  return out;
}

/// Where the program has the mnemonic, `skip` of them passed over.
std::uint16_t find(const Program& program, std::string_view mnemonic, int skip = 0) {
  for (std::size_t i = 2; i < program.code.size(); ++i) {
    if (isa::info(program.code[i].op)->mnemonic == mnemonic && skip-- == 0) return static_cast<std::uint16_t>(i);
  }
  ADD_FAILURE() << "no " << mnemonic;
  return 0;
}

/// The report when an instruction is changed in the core only.
std::optional<Divergence> turned(const Program& program, std::uint16_t address,
                                 const std::function<void(isa::Instruction&)>& turn) {
  Program other = program;
  turn(other.code[address]);
  for (const std::uint32_t stall : {0U, 40U}) {
    LockStep lock_step(program, {}, {.seed = 5, .input_stall = stall, .output_stall = stall}, &other);
    for (const Bytes& bytes : messages()) {
      if (auto found = lock_step.decode({bytes, {}})) return found;
    }
  }
  return std::nullopt;
}

TEST(LockStep, the_same_program_does_the_same) {
  const Program program = book();
  const auto found = turned(program, 2, [](isa::Instruction&) {});
  EXPECT_FALSE(found) << found->text;
}

TEST(LockStep, names_the_instruction_that_is_turned) {
  const Program program = book();
  const auto expect = [&](std::uint16_t address, const char* what, const std::function<void(isa::Instruction&)>& turn) {
    const auto found = turned(program, address, turn);
    ASSERT_TRUE(found) << what;
    EXPECT_EQ(found->address, address) << what << ": " << found->text;
  };
  const auto to = [](isa::DataOp op) { return [op](isa::Instruction& in) { in.op = op; }; };
  const auto op = [](std::string_view mnemonic) { return isa::data_op_from_mnemonic(mnemonic).value(); };
  expect(find(program, "INC_U32_MAN"), "copy for increment", to(op("COP_U32_MAN")));
  expect(find(program, "DEL_DMAN_MAN"), "another slot", [](isa::Instruction& in) { in.slot = 0; });
  expect(find(program, "COP_ASCII_MAN"), "no operator", to(op("NON_ASCII_MAN")));
  expect(find(program, "DEL_S64_MAN"), "no operator", to(op("NON_S64_MAN")));
  expect(find(program, "DEF_U32_OPT"), "another initial value", [](isa::Instruction& in) { in.constant = 0; });
  expect(find(program, "NON_U32_MAN"), "a nullable length", to(op("NON_U32_OPT")));
  expect(find(program, "NON_U64_MAN"), "a string", to(op("NON_ASCII_MAN")));
  // Where to go on: the group is left out of the core's program.
  for (std::size_t i = 2; i < program.code.size(); ++i) {
    if (program.code[i].control != isa::ControlOp::Skip) continue;
    expect(static_cast<std::uint16_t>(i), "another target", [](isa::Instruction& in) { ++in.target; });
  }
}

TEST(LockStep, tells_the_instruction_the_bytes_and_the_dictionary) {
  const Program program = book();
  const std::uint16_t address = find(program, "DEL_S64_MAN");
  const auto found =
      turned(program, address, [](isa::Instruction& in) { in.op = isa::data_op_from_mnemonic("NON_S64_MAN").value(); });
  ASSERT_TRUE(found);
  for (const char* part :
       {"DEL_S64_MAN", "template 'Book'", "field 'Size'", "the values differ", "interpreter  byte ",
        "core         byte ", "dictionary assigned, 100 (0x64)", "gives 97 (0x61), from the stream"}) {
    EXPECT_NE(found->text.find(part), std::string::npos) << part << "\n" << found->text;
  }
  EXPECT_EQ(found->text.find(std::to_string(address) + ": "), 0U) << found->text;
}

TEST(LockStep, cases_do_the_same_instruction_by_instruction) {
  int ran = 0;
  for (const std::filesystem::path& path : cases::find_cases(STOPBIT_DECODE_CASES)) {
    SCOPED_TRACE(path.string());
    Diagnostics diagnostics;
    const auto source = std::make_shared<const SourceBuffer>(path.string(), stopbit::testing::file_text(path));
    const auto file = cases::CaseFile::parse(source, diagnostics);
    ASSERT_TRUE(file);
    const cases::Section* bytes = file->find("bytes");
    if (bytes == nullptr) continue;
    cases::Report report(*file);
    const cases::CaseOptions options = cases::read_options(*file, report);
    const auto program = cases::program_of(*file, options);
    if (!program || !firmware::obstacles(*program, options.engine).empty()) continue;
    const auto steps = cases::parse_bytes(source, bytes->begin, bytes->end, diagnostics);
    ASSERT_TRUE(steps);
    ++ran;
    LockStep lock_step(*program, options.engine, {.seed = 3, .input_stall = 20, .output_stall = 20});
    PacketInfo info;
    for (const cases::Step& step : *steps) {
      if (step.kind == cases::Step::Kind::Reset) {
        lock_step.reset(step.channel);
        continue;
      }
      ++info.number;
      info.channel = step.channel;
      const auto found = lock_step.decode({step.bytes, info});
      EXPECT_FALSE(found) << "datagram " << info.number << ": " << found->text;
    }
  }
  std::printf("%d cases ran\n", ran);
  EXPECT_GT(ran, 100);
}

TEST(LockStep, captures_do_the_same_instruction_by_instruction) {
  constexpr std::size_t kDatagrams = 60;
  for (const bench::WorkloadSource& source : bench::workload_sources()) {
    SCOPED_TRACE(source.name);
    auto made = source.make();
    ASSERT_TRUE(made.ok()) << made.message();
    const bench::Workload& work = *made.value();
    if (!firmware::obstacles(work.program, work.options).empty()) continue;
    LockStep lock_step(work.program, work.options, {.seed = 4, .input_stall = 10, .output_stall = 10});
    for (std::size_t i = 0; i < std::min(kDatagrams, work.datagrams.size()); ++i) {
      const auto found = lock_step.decode({work.datagram(i), work.datagrams[i].info});
      ASSERT_FALSE(found) << "datagram " << i << ": " << found->text;
    }
  }
}

}  // namespace
}  // namespace stopbit::sim
