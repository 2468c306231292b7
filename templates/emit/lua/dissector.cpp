#include "templates/emit/lua/dissector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "lua_dissector.hpp"
#include "lua_engine.hpp"
#include "lua_framing.hpp"
#include "lua_integer.hpp"
#include "lua_record.hpp"
#include "lua_text.hpp"
#include "microcode/base/error_code.hpp"
#include "microcode/isa/isa.hpp"
#include "microcode/template_terms.hpp"

namespace stopbit::emit {
namespace {

/// A string literal of Lua, of any bytes. Printable ASCII only, so that it can neither end early nor hide anything.
std::string lua_string(std::string_view bytes) {
  std::string out = "\"";
  for (const char c : bytes) {
    if (c >= 0x20 && c < 0x7F && c != '"' && c != '\\') {
      out += c;
    } else {
      out += fmt::format("\\{:03}", static_cast<unsigned char>(c));
    }
  }
  return out + '"';
}

/// A 64-bit value as integer.lua writes it.
std::string number(std::uint64_t bits, bool is_signed) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  const auto value = static_cast<std::int64_t>(bits);
  if (is_signed ? value >= -kExact && value < kExact : bits < static_cast<std::uint64_t>(kExact)) {
    return is_signed ? std::to_string(value) : std::to_string(bits);
  }
  const std::string high = is_signed ? std::to_string(value >> 32) : std::to_string(bits >> 32);
  return fmt::format("{{ {}, {} }}", high, bits & 0xFFFF'FFFF);
}

constexpr bool is_signed(isa::Type type) {
  return type != isa::Type::U32 && type != isa::Type::U64 && type != isa::Type::Bits;
}

constexpr bool is_signed(FieldType type) {
  switch (type) {
    case FieldType::Int8:
    case FieldType::Int16:
    case FieldType::Int32:
    case FieldType::Int64:
    case FieldType::Decimal:
    case FieldType::Timestamp: return true;
    default: return false;
  }
}

constexpr bool is_text(FieldType type) {
  return type == FieldType::Ascii || type == FieldType::Unicode || type == FieldType::ByteVector;
}

constexpr std::string_view kTypeNames[] = {
#define STOPBIT_FIELD_TYPE(enumerator, assembly, records, lua) lua,
#include "microcode/field_types.def"
};

constexpr std::string_view type_name(FieldType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(kTypeNames) ? kTypeNames[index] : "U64";
}

constexpr std::string_view limit_name(LimitKind kind) {
  switch (kind) {
    case LimitKind::None: break;
    case LimitKind::Unsigned: return "unsigned";
    case LimitKind::Signed: return "signed";
    case LimitKind::Enum: return "enum";
    case LimitKind::Set: return "set";
    case LimitKind::Bits: return "bits";
  }
  return {};
}

constexpr std::string_view kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::Field: return "field";
    case NodeKind::Group: return "group";
    case NodeKind::Sequence: return "sequence";
    case NodeKind::Reference: return "reference";
  }
  return "field";
}

constexpr std::string_view reset_name(DissectorFraming::Reset reset) {
  switch (reset) {
    case DissectorFraming::Reset::Packet: return "packet";
    case DissectorFraming::Reset::Template: return "template";
    case DissectorFraming::Reset::Never: return "never";
  }
  return "packet";
}

constexpr std::string_view framing_name(DissectorFraming::Kind kind) {
  switch (kind) {
    case DissectorFraming::Kind::Fixed: return "fixed";
    case DissectorFraming::Kind::B3: return "b3";
    case DissectorFraming::Kind::T7: return "t7";
  }
  return "fixed";
}

class Writer {
 public:
  Writer(const Program& program, const DissectorOptions& options)
      : program_(program), options_(options), names_(filter_names(program)) {}

  std::string run() {
    head();
    line("local feed = {{");
    settings();
    code();
    tables();
    templates();
    line("}}\n");
    module("integer", kLuaInteger);
    module("text", kLuaText);
    module("engine", kLuaEngine);
    module("record", kLuaRecord);
    module("framing", kLuaFraming);
    out_ += kLuaDissector;
    return std::move(out_);
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
    out_ += '\n';
  }

  void module(std::string_view name, std::string_view text) {
    line("local {} = (function()", name);
    out_ += text;
    line("end)()\n");
  }

  void head() {
    line("-- Wireshark dissector of the FAST feed '{}', made by `stopbit dissector`. Do not edit; generate it again.",
         options_.name);
    line("--");
    line("-- Put this file into the folder of personal Lua plugins (Wireshark: Help, About, Folders), or run");
    line("--   wireshark -X lua_script:THIS_FILE");
    line("-- Filters: {0}.Template.Field, for example {0}.{1}", options_.name,
         names_.nodes.empty() || names_.nodes[0].empty() ? "template" : names_.nodes[0]);
    line("-- Ports, framing and reset rule can be changed in the preferences of the protocol.\n");
  }

  void settings() {
    line("  name = {},", lua_string(options_.name));
    line("  title = {},", lua_string("FAST feed " + options_.name));
    std::string ports;
    for (const std::uint16_t port : options_.ports) ports += (ports.empty() ? "" : ",") + std::to_string(port);
    line("  ports = {},", lua_string(ports));
    line("  framing = {{ {} }},", framing_text(options_.framing));
    line("  presets = {{");
    for (const auto& [name, framing] : options_.presets) {
      line("    {{ name = {}, {} }},", lua_string(name), framing_text(framing));
    }
    line("  }},");
    line("  strict = {},", options_.strict);
    line("  limits = {{ datagram_bytes = {}, elements = {}, empty_elements = {}, nesting = {}, string_bytes = {} }},",
         options_.limits.datagram_bytes, options_.limits.elements, options_.limits.empty_elements,
         options_.limits.nesting, options_.limits.string_bytes);
    line("  max_record_slots = {},", program_.max_record_slots);
    line("  errors = {{");
#define STOPBIT_ERROR(enumerator, code, meaning) error(ErrorCode::enumerator);
#include "microcode/base/error_code.def"
#undef STOPBIT_ERROR
    line("  }},");
  }

  static std::string framing_text(const DissectorFraming& framing) {
    std::string out = fmt::format("kind = {}, skip = {}, reset = {}", lua_string(framing_name(framing.kind)),
                                  framing.skip, lua_string(reset_name(framing.reset)));
    const auto field = [&](std::string_view name, const DissectorFraming::Field& at) {
      if (at.bytes == 0) return;
      out += fmt::format(", {} = {{ {}, {}, {} }}", name, at.offset, at.bytes, lua_string(at.big_endian ? "be" : "le"));
    };
    field("sequence", framing.sequence);
    field("length", framing.length);
    if (framing.blocks) out += ", blocks = true";
    return out;
  }

  /// Those that a datagram can provoke.
  void error(ErrorCode code) {
    const std::string_view text = code_text(code);
    if (text.starts_with('D') || text.starts_with('X') || text.starts_with('R')) {
      line("    {} = {},", text, lua_string(code_meaning(code)));
    }
  }

  void code() {
    line("  -- The program: microcode/isa/generated/isa.md.");
    const std::size_t size = general_size(program_);
    line("  instructions = {},", size);
    line("  code = {{");
    for (std::size_t i = 0; i < size; ++i) {
      line("    [{}] = {{ {} }},", i, row(program_.code[i]));
    }
    line("  }},");
  }

  std::string row(const isa::Instruction& in) const {
    const isa::DataOpInfo& op = *isa::info(in.op);
    const isa::ControlOpInfo& control = *isa::info(in.control);
    std::string out = lua_string(op.mnemonic);
    if (in.word != isa::kNoWord) out += fmt::format(", word = {}", in.word);
    if (op.uses_slot || in.op == isa::DataOp::Tid) out += fmt::format(", slot = {}", in.slot);
    if (isa::is_bit(in.op)) {
      const isa::BitField field = isa::BitField::of(in.slot);
      out += fmt::format(", position = {}, width = {}", field.position, field.width);
    }
    if (op.constant != isa::ConstantUse::Never && !isa::is_special(in.op)) out += constant(in);
    if (in.control != isa::ControlOp::Next) out += fmt::format(", control = {}", lua_string(control.mnemonic));
    if (control.target != isa::TargetUse::None) out += fmt::format(", target = {}", in.target);
    return out;
  }

  std::string constant(const isa::Instruction& in) const {
    const Constant& entry = program_.constants[in.constant];
    std::string out;
    if (entry.kind == ValueKind::Integer) {
      out += ", initial = " + number(entry.value, is_signed(isa::type_of(in.op)));
    } else if (entry.kind == ValueKind::Bytes) {
      out += ", initial = " + lua_string(program_.constant_bytes(entry.bytes()));
    }
    if (entry.limit_kind != LimitKind::None) {
      out += fmt::format(", limit_kind = {}, limit = {}", lua_string(limit_name(entry.limit_kind)), entry.limit);
    }
    return out;
  }

  void tables() {
    line("  slots = {{ -- longest string of a dictionary entry");
    for (std::size_t i = 0; i < program_.slots.size(); ++i)
      line("    [{}] = {},", i, program_.slots[i].string_capacity);
    line("  }},");
    line("  blocks = {{");
    for (std::size_t i = 0; i < program_.blocks.size(); ++i) {
      line("    [{}] = {{ words = {}, min_bytes = {} }},", i, program_.blocks[i].words, program_.blocks[i].min_bytes);
    }
    line("  }},");
    line("  dispatch = {{ -- table, identifier = template, address");
    for (std::size_t i = 0; i < program_.dispatch.size(); ++i) {
      const DispatchEntry& entry = program_.dispatch[i];
      const bool begins = i == 0 || program_.dispatch[i - 1].table != entry.table;
      if (begins && i != 0) line("    }},");
      if (begins) line("    [{}] = {{", entry.table);
      line("      [{}] = {{ {}, {} }},", entry.id, entry.template_index, entry.entry);
    }
    line("{}  }},", program_.dispatch.empty() ? "" : "    },\n");
    line("  types = {{");
    for (std::size_t i = 0; i < program_.type_infos.size(); ++i) type(i);
    line("  }},");
    line("  sources = {{");
    for (std::size_t i = 0; i < program_.sources.size(); ++i) {
      line("    [{}] = {},", i, lua_string(program_.name(program_.sources[i].name)));
    }
    line("  }},");
  }

  void type(std::size_t index) {
    const TypeInfo& info = program_.type_infos[index];
    line("    [{}] = {{", index);
    line("      count = {},", info.element_count);
    for (std::uint32_t i = 0; i < info.element_count; ++i) {
      const Element& element = program_.elements[info.first_element + i];
      const std::string_view label = program_.name(element.label);
      line("      [{}] = {{ name = {}{} }},", i, lua_string(program_.name(element.name)),
           label.empty() ? "" : ", label = " + lua_string(label));
    }
    line("    }},");
  }

  void templates() {
    line("  template_count = {},", program_.templates.size());
    line("  templates = {{");
    for (std::size_t i = 0; i < program_.templates.size(); ++i) {
      const Template& item = program_.templates[i];
      line("    [{}] = {{", i);
      line("      name = {}, id = {}, filter = {}, root = {}, source = {},{}{}", lua_string(program_.name(item.name)),
           item.id, lua_string(names_.templates[i]), item.root_block, item.source,
           item.line != 0 ? fmt::format(" line = {},", item.line) : "", item.reset ? " reset = true," : "");
      nodes(item.first_node, item.end_node, 3);
      line("    }},");
    }
    line("  }},");
  }

  /// Nodes [first, end) and those inside them. The verifier bounds the depth.
  void nodes(std::size_t first, std::size_t end, std::size_t depth) {
    const std::string indent(2 * depth, ' ');
    for (std::size_t i = first; i < end; i = program_.nodes[i].end) {
      const SchemaNode& node = program_.nodes[i];
      const bool has_nodes = node.end > i + 1;
      line("{}{{ {}{}", indent, attributes(i), has_nodes ? "" : " },");
      if (!has_nodes) continue;
      nodes(i + 1, node.end, depth + 1);
      line("{}}},", indent);
    }
  }

  std::string attributes(std::size_t index) {
    const SchemaNode& node = program_.nodes[index];
    const std::string_view name =
        node.kind == NodeKind::Reference ? std::string_view("templateRef") : program_.name(node.name);
    std::string out = fmt::format("kind = {}, name = {}, filter = {},", lua_string(kind_name(node.kind)),
                                  lua_string(name), lua_string(names_.nodes[index]));
    if (node.kind == NodeKind::Field) out += fmt::format(" type = {},", lua_string(type_name(node.type)));
    if (node.optional) out += " optional = true,";
    if (node.block != kNoBlock && node.word != isa::kNoWord) {
      out += fmt::format(" block = {}, word = {},", node.block, node.word);
    }
    if (node.kind == NodeKind::Sequence) {
      out += fmt::format(" element_block = {},", node.element_block);
      if (node.length_name.length != 0)
        out += fmt::format(" length_name = {},", lua_string(program_.name(node.length_name)));
      const bool has_one_node = node.end == index + 2;
      if (has_one_node && program_.nodes[index + 1].name.length == 0 &&
          program_.nodes[index + 1].kind == NodeKind::Field) {
        out += " is_vector = true,";
      }
    }
    if (node.kind == NodeKind::Field && node.type_info != kNoTypeInfo) {
      out += fmt::format(" elements = {},", node.type_info);
    }
    if (node.kind == NodeKind::Field && node.type == FieldType::Timestamp) {
      out += fmt::format(" unit = {}, epoch = {},", lua_string(unit_name(node.unit)),
                         lua_string(program_.name(node.epoch)));
    }
    if (node.kind == NodeKind::Field && node.constant) out += constant_value(node);
    if (node.line != 0) out += fmt::format(" source = {}, line = {},", node.source, node.line);
    return out;
  }

  std::string constant_value(const SchemaNode& node) const {
    const Constant& first = program_.constants[node.constant_index];
    if (is_text(node.type)) return " value = " + lua_string(program_.constant_bytes(first.bytes())) + ",";
    std::string out = " value = " + number(first.value, is_signed(node.type)) + ",";
    if (node.type == FieldType::Decimal) {
      const Constant& mantissa = program_.constants[node.constant_index + std::size_t{1}];
      out += " mantissa = " + number(mantissa.value, true) + ",";
    }
    return out;
  }

  const Program& program_;
  const DissectorOptions& options_;
  FilterNames names_;
  std::string out_;
};

}  // namespace

std::string lua_dissector(const Program& program, const DissectorOptions& options) {
  return Writer(program, options).run();
}

}  // namespace stopbit::emit
