#include "decoder/engine/steps.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "decoder/record/layout.hpp"
#include "templates/compiler.hpp"

namespace stopbit::engine::steps_test {

constexpr const char* kTemplates = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="M" id="1">
    <uInt32 name="A"><copy/></uInt32>
    <sequence name="S">
      <uInt32 name="B"><copy/></uInt32>
      <sequence name="T"><uInt32 name="C"><copy/></uInt32></sequence>
      <uInt32 name="D"/>
    </sequence>
    <group name="G" presence="optional"><uInt32 name="E"><copy/></uInt32></group>
    <uInt32 name="F"/>
  </template>
</templates>)";

TEST(Steps, say_how_deep_the_stacks_are) {
  Diagnostics diagnostics;
  const auto program = templates::compile({std::make_shared<const SourceBuffer>("test", kTemplates)}, {}, diagnostics);
  ASSERT_TRUE(program) << diagnostics.format();
  const std::vector<Step> steps = make_steps(*program, record::kHeaderWords);
  // As an engine would find out: one path through the program, each sequence with one element, each group present.
  Depth depth;
  unsigned deepest_maps = 0;
  unsigned deepest_loops = 0;
  std::vector<unsigned> maps_of_loops;
  for (std::size_t at = 0, size = general_size(*program); at < size; ++at) {
    const Step& in = steps[at];
    if (in.op == isa::DataOp::Pmap && at == 0) depth = {};
    EXPECT_EQ(in.depth.maps, depth.maps) << "instruction " << at;
    EXPECT_EQ(in.depth.loops, depth.loops) << "instruction " << at;
    if (in.op == isa::DataOp::Pmap) ++depth.maps;
    if (in.control == isa::ControlOp::Seq) {
      maps_of_loops.push_back(depth.maps);
      ++depth.loops;
    } else if (in.control == isa::ControlOp::Lend) {
      depth.maps = static_cast<std::uint8_t>(maps_of_loops.back());
      maps_of_loops.pop_back();
      --depth.loops;
    } else if (in.control == isa::ControlOp::Pop) {
      --depth.maps;
    } else if (in.control == isa::ControlOp::End) {
      depth = {.maps = 1};  // the next template
    }
    deepest_maps = std::max<unsigned>(deepest_maps, depth.maps);
    deepest_loops = std::max<unsigned>(deepest_loops, depth.loops);
  }
  EXPECT_EQ(deepest_maps, 3U);
  EXPECT_EQ(deepest_loops, 2U);
}

}  // namespace stopbit::engine::steps_test
