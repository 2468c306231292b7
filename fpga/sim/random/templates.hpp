#pragma once

#include <string>

#include "tests/lib/workloads/workload.hpp"

namespace stopbit::sim {

/// Templates of what the device decodes, one of each kind of field.
inline Result<Program> bench_program() {
  return bench::compile_text("bench.xml", R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Trade" id="1">
    <uInt32 name="Number" id="1"><increment/></uInt32>
    <string name="Symbol" id="2"><copy/></string>
    <decimal name="Price" id="3" presence="optional"><delta/></decimal>
    <sequence name="Legs"><length name="Count" id="4"/>
      <int64 name="Size" id="5" presence="optional"><default value="-3"/></int64>
      <string name="Side" id="6" presence="optional"/>
    </sequence>
    <byteVector name="Raw" id="7" presence="optional"/>
  </template>
  <template name="Quote" id="2">
    <uInt64 name="Time" id="8"><copy/></uInt64>
    <group name="Side" presence="optional"><int32 name="Bid" id="9"><delta/></int32></group>
  </template>
</templates>)");
}

}  // namespace stopbit::sim
