#include "tests/fuzz/fixed_templates.hpp"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/checks.hpp"

namespace stopbit::fuzz {
namespace {

constexpr const char* kBook = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1" dictionary="book">
  <template name="Incremental" id="1">
    <string name="Sender" id="49"><constant value="FUZZ"/></string>
    <uInt32 name="SeqNum" id="34"/>
    <uInt64 name="SendingTime" id="52"><delta/></uInt64>
    <sequence name="Entries">
      <length name="NoEntries" id="268"/>
      <uInt32 name="Action" id="279"><copy value="1"/></uInt32>
      <string name="Type" id="269"><copy value="0"/></string>
      <uInt32 name="SecurityID" id="48"><delta/></uInt32>
      <uInt32 name="RptSeq" id="83"><increment/></uInt32>
      <decimal name="Px" id="270" presence="optional">
        <exponent><default value="-2"/></exponent>
        <mantissa><delta/></mantissa>
      </decimal>
      <int32 name="Size" id="271" presence="optional"><delta/></int32>
      <string name="Symbol" id="55" presence="optional"><tail/></string>
      <sequence name="Parties" presence="optional"><string name="Party"/><uInt32 name="Role"><default value="3"/></uInt32></sequence>
    </sequence>
    <uInt32 name="Count" presence="optional"><copy/></uInt32>
  </template>
  <template name="Snapshot" id="2" reset="yes">
    <string name="Symbol"><copy/></string>
    <sequence name="Levels"><length><increment value="1"/></length><decimal name="Px"><delta/></decimal><uInt64 name="Size"><copy/></uInt64></sequence>
  </template>
</templates>)";

constexpr const char* kReferenceData = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.2">
  <define name="Side"><enum><element name="B" id="Buy"/><element name="S" id="Sell"/><element name="X"/></enum></define>
  <define name="Flags"><set><element name="a"/><element name="b"/><element name="c"/><element name="d"/></set></define>
  <template name="Instrument" id="70">
    <field name="Side" presence="optional"><type name="Side"><copy/></type></field>
    <field name="Flags"><type name="Flags"><default value="3"/></type></field>
    <boolean name="Active" presence="optional"/>
    <timestamp name="Time" unit="nanosecond"><delta/></timestamp>
    <uInt8 name="Small"><increment value="250"/></uInt8>
    <int16 name="Medium" presence="optional"><delta/></int16>
    <group name="Rule" presence="optional">
      <string name="Name" charset="unicode"/>
      <uInt32 name="Kind" presence="optional"><constant value="4"/></uInt32>
      <sequence name="Ticks"><length><constant value="2"/></length><decimal name="From"/><decimal name="Tick"/></sequence>
    </group>
    <group name="Empty" presence="optional"><uInt32 name="Maybe" presence="optional"/></group>
    <byteVector name="Raw" presence="optional"><copy/></byteVector>
  </template>
  <template name="Reset" id="120" reset="yes"/>
</templates>)";

constexpr const char* kReferences =
    R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1" dictionary="template">
  <template name="Header"><uInt32 name="Seq"><increment value="1"/></uInt32><string name="Who" presence="optional"><delta/></string></template>
  <template name="Outer" id="1">
    <templateRef name="Header"/>
    <templateRef/>
    <group name="More" presence="optional"><sequence name="Refs" presence="optional"><uInt32 name="N"><copy/></uInt32><templateRef/></sequence></group>
    <uInt32 name="End"><default value="1"/></uInt32>
  </template>
  <template name="Leaf" id="2"><string name="S"><copy/></string><decimal name="D"><exponent><copy value="0"/></exponent><mantissa><increment value="5"/></mantissa></decimal></template>
  <template name="Chain" id="3"><group name="Next" presence="optional"><templateRef/></group></template>
  <template name="Nothing" id="4"/>
  <template name="Zero" id="5"><sequence name="Z"><uInt32 name="C"><constant value="7"/></uInt32></sequence></template>
</templates>)";

constexpr const char* kPacked = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.2">
  <template name="Packed" id="1">
    <bitGroup name="Plain"><boolean name="B" presence="optional"/><int3 name="I"/><uInt7 name="U" presence="optional"/>
      <enum name="E"><element name="a"/><element name="b"/><element name="c"/></enum></bitGroup>
    <bitGroup name="Copied" presence="optional"><set name="S" presence="optional"><element name="x"/><element name="y"/></set><uInt1 name="L"/><copy/></bitGroup>
    <bitGroup name="Counted"><uInt5 name="N"/><int2 name="M" presence="optional"/><increment value="1"/></bitGroup>
    <bitGroup name="Moved"><int7 name="N"/><int7 name="M"/><delta/></bitGroup>
    <bitGroup name="Usual"><uInt4 name="N"/><default value="9"/></bitGroup>
    <uInt32Vector name="V"/>
    <int64Vector name="W" presence="optional"/>
    <sequence name="Rows" presence="optional"><bitGroup name="R" presence="optional"><uInt3 name="N"/><copy value="5"/></bitGroup><int32Vector name="X"/></sequence>
  </template>
</templates>)";

/// Every operator on every type, mandatory and optional, with and without an initial value; keys shared between types.
std::string every_operator() {
  struct Type {
    const char* open;
    const char* close;
    const char* value;
    bool is_integer;
    bool is_text;
  };
  constexpr std::array<Type, 8> kTypes = {{
      {"<uInt32", "</uInt32>", "4294967290", true, false},
      {"<int32", "</int32>", "-3", true, false},
      {"<uInt64", "</uInt64>", "18446744073709551610", true, false},
      {"<int64", "</int64>", "9223372036854775800", true, false},
      {"<decimal", "</decimal>", "12000", false, false},
      {"<string", "</string>", "GEH6", false, true},
      {"<string charset=\"unicode\"", "</string>", "Z", false, true},
      {"<byteVector", "</byteVector>", "0102", false, true},
  }};
  constexpr std::array<const char*, 6> kOperators = {"constant", "default", "copy", "increment", "delta", "tail"};
  std::string text = "<templates xmlns=\"http://www.fixprotocol.org/ns/fast/td/1.1\">\n";
  int id = 0;
  for (const Type& type : kTypes) {
    ++id;
    text += "<template name=\"T" + std::to_string(id) + "\" id=\"" + std::to_string(id) + "\">\n";
    int field = 0;
    for (const std::string presence : {"mandatory", "optional"}) {
      const std::string open = std::string(type.open) + " presence=\"" + presence + "\" name=\"";
      text += open + "F" + std::to_string(++field) + "\">" + type.close + "\n";
      for (const std::string op : kOperators) {
        if ((op == "increment" && !type.is_integer) || (op == "tail" && !type.is_text)) continue;
        for (const bool has_value : {true, false}) {
          if (!has_value && (op == "constant" || (op == "default" && presence == "mandatory"))) continue;
          const std::string value = has_value ? std::string(" value=\"") + type.value + "\"" : "";
          const std::string key = op == "constant" || op == "default" || field % 3 != 0 ? "" : " key=\"shared\"";
          text += open + "F" + std::to_string(++field) + "\"><" + op + value + key + "/>" + type.close + "\n";
        }
      }
    }
    text += "</template>\n";
  }
  return text + "</templates>";
}

std::vector<Program> compile_all() {
  std::vector<Program> programs;
  for (const std::string& text : fixed_template_texts()) {
    Diagnostics diagnostics;
    auto program =
        templates::compile({std::make_shared<SourceBuffer>("fixed.xml", text)}, fixed_compile_options(), diagnostics);
    require(program.has_value(), "our templates are good", diagnostics.format());
    programs.push_back(std::move(*program));
  }
  return programs;
}

}  // namespace

const std::vector<std::string>& fixed_template_texts() {
  static const std::vector<std::string> texts = {kBook, kReferenceData, every_operator(), kReferences, kPacked};
  return texts;
}

templates::CompileOptions fixed_compile_options() {
  templates::CompileOptions options;
  options.string_capacity = 24;  // small limits are met more often
  options.max_record_slots = 200;
  return options;
}

const Program& fixed_program(std::uint8_t index) {
  static const std::vector<Program> programs = compile_all();
  return programs[index % programs.size()];
}

}  // namespace stopbit::fuzz
