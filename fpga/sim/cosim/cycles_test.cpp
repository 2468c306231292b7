#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "fpga/sim/cosim/core.hpp"
#include "host/device/firmware/device.hpp"
#include "tests/lib/profiled.hpp"
#include "tests/lib/workloads/workload.hpp"

/// What messages cost in the decode core, to the cycle: what is foreseen, fetched ahead or done at once changes no
/// record, so that only this test sees it fail. The rules: fpga/rtl/engine/modules.md.
namespace stopbit::sim {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::initializer_list<unsigned> values) {
  Bytes out;
  for (const unsigned value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

Bytes operator*(const Bytes& bytes, unsigned times) {
  Bytes out;
  for (; times > 0; --times) out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

Program compile(std::string_view templates) {
  Result<Program> program = bench::compile_text(
      "cycles",
      fmt::format(R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">{}</templates>)", templates));
  if (!program.ok()) throw std::runtime_error(program.message());
  return std::move(program.value());
}

/// Cycles of the datagrams, one after another, from the first beat to the last slot. The records are the
/// interpreter's.
class Meter {
 public:
  Meter(const Program& program, const CoreOptions& options, const EngineOptions& engine = {})
      : reference_(program, engine), core_(program, engine, options) {}

  std::uint64_t cycles(const std::vector<Bytes>& datagrams) {
    std::vector<Datagram> list;
    for (const Bytes& bytes : datagrams) list.push_back({bytes, {}});
    const std::uint64_t before = core_.figures().cycles;
    EXPECT_EQ(difference(reference_.decode(list), core_.decode(list)), "");
    return core_.figures().cycles - before;
  }

 private:
  Reference reference_;
  Core core_;
};

struct Cost {
  std::string_view name;
  std::string_view templates;
  Bytes message;
  std::uint64_t first;     ///< The message alone, whose template was not fetched ahead.
  std::uint64_t again;     ///< The same message once more.
  std::uint64_t ten;       ///< Ten of it in a datagram.
  std::uint64_t in_a_row;  ///< Ten datagrams of it.
  std::uint64_t single;    ///< Ten of it in a datagram, one instruction at a time.
};

std::string text_of(const Cost& cost) {
  return fmt::format("{}, {}, {}, {}, {}", cost.first, cost.again, cost.ten, cost.in_a_row, cost.single);
}

TEST(CosimCycles, messages_take_as_many_as_they_did) {
  constexpr std::string_view kInts =
      R"(<template name="T" id="1"><uInt32 name="A"/><uInt32 name="B"/><uInt32 name="C"/></template>)";
  constexpr std::string_view kSequence =
      R"(<template name="T" id="1"><sequence name="S"><uInt32 name="A"/><uInt32 name="B"/></sequence></template>)";
  constexpr std::string_view kMaps =
      R"(<template name="T" id="1"><sequence name="S"><uInt32 name="A"><copy/></uInt32><uInt32 name="B"><copy/></uInt32></sequence></template>)";
  constexpr std::string_view kGroup =
      R"(<template name="T" id="1"><group name="G" presence="optional"><uInt32 name="A"/></group><uInt32 name="B"/></template>)";
  constexpr std::string_view kString = R"(<template name="T" id="1"><string name="A"/><uInt32 name="B"/></template>)";
  constexpr std::string_view kVector =
      R"(<template name="T" id="1"><byteVector name="A"/><uInt32 name="B"/></template>)";
  constexpr std::string_view kTwo =
      R"(<template name="T" id="1"><uInt32 name="A"/></template><template name="U" id="2"><uInt32 name="A"/></template>)";
  constexpr std::string_view kReference =
      R"(<template name="T" id="1"><templateRef/><uInt32 name="A"/></template><template name="U" id="2"><uInt32 name="B"/></template>)";
  const Cost costs[] = {
      {"integers", kInts, bytes_of({0xC0, 0x81, 0x82, 0x01, 0x83, 0x84}), 13, 11, 47, 47, 57},
      {"integer of twelve bytes", kInts, bytes_of({0xC0, 0x81, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x81, 0x82, 0x83}), 17,
       15, 78, 78, 88},
      {"identifier in three bytes", kInts, bytes_of({0xC0, 0x00, 0x00, 0x81, 0x82, 0x83, 0x84}), 17, 17, 99, 98, 109},
      {"presence map of ten bytes", kInts, bytes_of({0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x81, 0x82, 0x83, 0x84}), 19,
       19, 120, 118, 130},
      {"sequence", kSequence, bytes_of({0xC0, 0x81, 0x83, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86}), 18, 16, 97, 97, 97},
      {"empty sequence", kSequence, bytes_of({0xC0, 0x81, 0x80}), 14, 12, 48, 48, 48},
      {"sequence, length in three bytes", kSequence, bytes_of({0xC0, 0x81, 0x00, 0x00, 0x81, 0x82, 0x83}), 17, 15, 78,
       78, 78},
      {"sequence with presence maps", kMaps, bytes_of({0xC0, 0x81, 0x82, 0xE0, 0x81, 0x82, 0xC0, 0x83}), 16, 14, 77, 77,
       97},
      {"group with its fields", kGroup, bytes_of({0xE0, 0x81, 0x82, 0x83}), 13, 11, 38, 38, 48},
      {"group that is not there", kGroup, bytes_of({0xC0, 0x81, 0x83}), 14, 12, 48, 48, 48},
      {"string of eight bytes", kString, bytes_of({0xC0, 0x81, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0xC8, 0x82}),
       13, 11, 47, 47, 47},
      {"string of nine bytes", kString,
       bytes_of({0xC0, 0x81, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0xC9, 0x82}), 16, 14, 68, 68, 68},
      {"empty string after a preamble", kString, bytes_of({0xC0, 0x81, 0x00, 0xC1, 0x82}), 15, 13, 58, 58, 58},
      {"vector of eight bytes", kVector, bytes_of({0xC0, 0x81, 0x88, 1, 2, 3, 4, 5, 6, 7, 8, 0x82}), 16, 14, 68, 68,
       68},
      {"two templates in turn", kTwo, bytes_of({0xC0, 0x81, 0x81, 0xC0, 0x82, 0x81}), 16, 16, 88, 88, 88},
      {"dynamic reference", kReference, bytes_of({0xC0, 0x81, 0xC0, 0x82, 0x83, 0x84}), 20, 18, 108, 108, 108},
  };
  std::uint64_t seed = 0;
  for (const Cost& cost : costs) {
    SCOPED_TRACE(cost.name);
    const Program program = compile(cost.templates);
    Cost met = cost;
    {
      Meter meter(program, {.seed = ++seed});
      met.first = meter.cycles({cost.message});
      met.again = meter.cycles({cost.message});
      met.ten = meter.cycles({cost.message * 10});
      met.in_a_row = meter.cycles(std::vector<Bytes>(10, cost.message));
    }
    Meter meter(program, {.seed = ++seed, .device = {.pairs = false}});  // one core at a time: Verilator wants it so
    (void)meter.cycles({cost.message});
    met.single = meter.cycles({cost.message * 10});
    EXPECT_EQ(text_of(met), text_of(cost));
  }
}

TEST(CosimCycles, presence_maps_with_profile_programs_take_as_many_as_they_did) {
  const Program program = compile(
      R"(<template name="T" id="1"><sequence name="S"><uInt32 name="A"><copy/></uInt32><uInt32 name="B"><copy/></uInt32>)"
      R"(</sequence></template>)");
  // Four elements each: with the same map, with two maps in turn.
  const Bytes same =
      bytes_of({0xC0, 0x81, 0x84, 0xE0, 0x81, 0x82, 0xE0, 0x83, 0x84, 0xE0, 0x85, 0x86, 0xE0, 0x87, 0x88});
  const Bytes turns = bytes_of({0xC0, 0x81, 0x84, 0xE0, 0x81, 0x82, 0xC0, 0x83, 0xE0, 0x85, 0x86, 0xC0, 0x87});
  const Program profiled = cases::with_profiles(program, {}, {{same, 0}, {turns, 0}});
  ASSERT_FALSE(profiled.profiles.empty());
  std::string met;
  for (const bool profiles : {true, false}) {
    Meter meter(profiled, {.device = {.profiles = profiles, .least_saved = 0}});
    (void)meter.cycles({same});
    const std::uint64_t same_cycles = meter.cycles({same});
    met += fmt::format("{} {} ", same_cycles, meter.cycles({turns}));
  }
  EXPECT_EQ(met, "20 26 18 18 ");
}

}  // namespace
}  // namespace stopbit::sim
