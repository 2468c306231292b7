#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "assembler/assembler.hpp"
#include "assembler/line.hpp"
#include "assembler/vocabulary.hpp"
#include "microcode/isa/isa.hpp"

namespace stopbit::assembler {
namespace {

constexpr std::size_t kMaxErrors = 1'000;
constexpr std::uint64_t kMax8 = 0xFF;
constexpr std::uint64_t kMax16 = 0xFFFF;
constexpr std::uint64_t kMax32 = 0xFFFFFFFF;
constexpr std::uint64_t kMax64 = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMaxTarget = limits::kMaxInstructions - 1;  ///< 14 bits, whatever the target means.

/// Reads line after line into the tables of a program; labels are resolved at the end.
class Assembler {
 public:
  Assembler(std::shared_ptr<const SourceBuffer> source, Diagnostics& diagnostics)
      : source_(std::move(source)), diagnostics_(diagnostics) {}

  std::optional<Program> run() {
    const std::size_t errors_before = diagnostics_.errors();
    const std::string_view text = source_->text();
    if (text.size() > limits::kMaxTextBytes) {
      diagnostics_.error(ErrorCode::None, {source_, 0, 0},
                         "the file is longer than " + std::to_string(limits::kMaxTextBytes) + " bytes");
      return std::nullopt;
    }
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      Line line(source_, text.substr(at, end - at), at, diagnostics_);
      if (!line.failed() && !line.empty()) read_line(line);
      at = end + 1;
      if (diagnostics_.errors() - errors_before >= kMaxErrors) {
        diagnostics_.error(ErrorCode::None, {source_, at, 0}, "too many errors, the rest of the file is not read");
        return std::nullopt;
      }
    }
    close_braces();
    resolve_labels();
    if (diagnostics_.errors() != errors_before) return std::nullopt;
    return finish();
  }

 private:
  /// A `{` whose `}` is still to come.
  struct Brace {
    enum class Of : std::uint8_t { Template, Node, Type };
    Of of;
    std::size_t index;
    SourceRange range;
  };

  /// A place that waits for the address of a label.
  struct Use {
    enum class In : std::uint8_t { Code, Dispatch, Profiles };
    In in;
    std::size_t index;
    std::string label;
    SourceRange range;
  };

  struct Label {
    std::size_t address;
    SourceRange range;
  };

  // ---- Lines

  void read_line(Line& line) {
    while (line.peek() != nullptr && line.peek()->kind == Token::Kind::Word && line.peek()->value.starts_with(':')) {
      define_label(line, *line.next());
    }
    if (line.peek() == nullptr) return line.done();
    const Token& first = *line.peek();
    if (first.kind == Token::Kind::Word && first.value == "}") return read_close(line);
    if (first.kind == Token::Kind::Word && !first.value.starts_with('.')) return read_instruction(line);
    Token* directive = line.word("an instruction or a directive");
    if (directive == nullptr) return;
    const std::string_view name = directive->value;
    if (name == ".record_slots") return read_record_slots(line);
    if (name == ".source") return read_source(line);
    if (name == ".constant") return read_constant(line);
    if (name == ".slot") return read_slot(line);
    if (name == ".dispatch") return read_dispatch(line);
    if (name == ".profile") return read_profile(line);
    if (name == ".block") return read_block(line);
    if (name == ".template") return read_template(line, *directive);
    if (name == ".type") return read_type(line, *directive);
    if (name == ".element") return read_element(line);
    if (const auto kind = value_of<NodeKind>(kNodeDirectives, name)) return read_node(line, *kind, *directive);
    line.fail(*directive, "unknown directive '" + std::string(name) + "'");
  }

  void define_label(Line& line, const Token& token) {
    std::string name = token.value.substr(1);
    if (name.empty()) return line.fail(token, "the label has no name");
    const auto [at, is_new] = labels_.try_emplace(std::move(name), Label{program_.code.size(), line.range(token)});
    if (is_new || line.failed()) return;  // the note belongs to the line's one error
    line.fail(token, "label '" + at->first + "' is defined twice");
    diagnostics_.note(at->second.range, "it is defined here first");
  }

  /// Adds the entry if the line was good and the table has room.
  template <class T>
  void add(Line& line, std::vector<T>& table, T entry, std::size_t most, std::string_view what) {
    line.done();
    if (line.failed()) return;
    if (table.size() == most) {
      line.fail("there are more than " + std::to_string(most) + " " + std::string(what));
      return;
    }
    table.push_back(std::move(entry));
  }

  /// "d17": numbers in the text let people read it, but they must be those that the entries get.
  template <class T>
  void expect_index(Line& line, char prefix, std::string_view what, const std::vector<T>& table) {
    const Token* token = line.peek();
    const std::uint64_t index = line.index(prefix, what, kMax32);
    if (!line.failed() && index != table.size()) {
      line.fail(*token, "the next one is " + std::string(1, prefix) + std::to_string(table.size()));
    }
  }

  TextRef text(std::string_view value) {
    if (value.empty()) return {};
    const TextRef ref{static_cast<std::uint32_t>(program_.names.size()), static_cast<std::uint32_t>(value.size())};
    program_.names += value;
    return ref;
  }

  template <class T>
  static T narrow(std::uint64_t value) {
    return static_cast<T>(value);
  }

  // ---- Tables

  void read_record_slots(Line& line) {
    const Token* token = line.word("a number of slots");
    const std::uint64_t slots = token == nullptr ? 0 : line.number(*token, kMax32);
    line.done();
    if (!line.failed()) program_.max_record_slots = narrow<std::uint32_t>(slots);
  }

  void read_source(Line& line) {
    Source source;
    source.name = text(line.string("the name of the file"));
    source.bytes = line.number_attribute("bytes", 0, kMax64);
    source.hash = line.number_attribute("hash", 0, kMax64);
    add(line, program_.sources, source, limits::kMaxFields, "sources");
  }

  void read_constant(Line& line) {
    expect_index(line, 'c', "a constant's number, as c1", program_.constants);
    Constant constant;
    if (const Token* value = line.failed() ? nullptr : line.next()) {
      if (value->kind == Token::Kind::String) {
        constant.kind = ValueKind::Bytes;
        constant.value = program_.constant_pool.size() | std::uint64_t{value->value.size()} << 32;
        program_.constant_pool += value->value;
      } else {
        constant.kind = ValueKind::Integer;
        constant.value = line.signed_number(*value);
      }
    } else {
      constant.value = line.number_attribute("raw", 0, kMax64);
    }
    for (std::size_t kind = 0; kind < kLimitKinds.size(); ++kind) {
      const Token* limit = line.attribute(kLimitKinds[kind]);
      if (limit == nullptr) continue;
      constant.limit_kind = static_cast<LimitKind>(kind);
      constant.limit = narrow<std::uint32_t>(line.number(*limit, kMax32));
      break;
    }
    add(line, program_.constants, constant, limits::kMaxConstants, "constants");
  }

  void read_slot(Line& line) {
    expect_index(line, 'd', "a slot's number, as d1", program_.slots);
    Slot slot;
    slot.name = text(line.string("the slot's name"));
    slot.string_capacity = narrow<std::uint16_t>(line.number_attribute("capacity", 0, kMax16));
    add(line, program_.slots, slot, limits::kMaxSlots, "slots");
  }

  void read_dispatch(Line& line) {
    DispatchEntry entry;
    entry.table = narrow<std::uint16_t>(line.index('t', "a table's number, as t0", kMax16));
    entry.id = narrow<std::uint32_t>(line.number_attribute("id", 0, kMax32));
    entry.template_index = narrow<std::uint16_t>(line.number_attribute("template", 0, kMax16));
    entry.entry = entry_attribute(line, Use::In::Dispatch, program_.dispatch.size());
    add(line, program_.dispatch, entry, limits::kMaxInstructions, "dispatch entries");
  }

  /// entry=:label or entry=17
  std::uint16_t entry_attribute(Line& line, Use::In table, std::size_t index) {
    const Token* target = line.attribute("entry");
    if (target == nullptr) {
      line.fail("the entry's address is missing");
    } else if (!target->quoted && target->value.starts_with(':')) {
      uses_.push_back({table, index, target->value.substr(1), line.range(*target)});
    } else {
      return narrow<std::uint16_t>(line.number(*target, kMax16));
    }
    return 0;
  }

  void read_profile(Line& line) {
    ProfileEntry profile;
    profile.segment = narrow<std::uint16_t>(line.number_attribute("segment", 0, kMax16));
    profile.presence_bits = line.number_attribute("bits", 0, kMax64);
    profile.taken = narrow<std::uint8_t>(line.number_attribute("taken", 0, kMax8));
    profile.entry = entry_attribute(line, Use::In::Profiles, program_.profiles.size());
    add(line, program_.profiles, profile, limits::kMaxInstructions, "profiles");
  }

  void read_block(Line& line) {
    expect_index(line, 'b', "a block's number, as b1", program_.blocks);
    Block block;
    if (const Token* kind = line.word("root, element or after")) {
      const auto value = value_of<BlockKind>(kBlockKinds, kind->value);
      if (!value) line.fail(*kind, "expected root, element or after");
      block.kind = value.value_or(BlockKind::Root);
    }
    block.template_index = narrow<std::uint16_t>(line.number_attribute("template", 0, kMax16));
    block.words = narrow<std::uint8_t>(line.number_attribute("words", 0, 0xFF));
    block.first_word = narrow<std::uint16_t>(line.number_attribute("first", 0, kMax16));
    block.min_bytes = narrow<std::uint16_t>(line.number_attribute("bytes", 0, kMax16));
    add(line, program_.blocks, block, limits::kMaxBlocks, "blocks");
  }

  void read_type(Line& line, const Token& directive) {
    TypeInfo type;
    const SourceRange range = line.range(directive);
    if (line.peek() != nullptr && line.peek()->kind == Token::Kind::String) type.name = text(line.string("a name"));
    const bool opens = line.flag("{");
    type.first_element = narrow<std::uint32_t>(line.number_attribute("first", program_.elements.size(), kMax32));
    type.element_count = narrow<std::uint32_t>(line.number_attribute("count", 0, kMax32));
    if (opens) open_brace(line, Brace::Of::Type, program_.type_infos.size(), range);
    add(line, program_.type_infos, type, limits::kMaxFields, "types");
  }

  void read_element(Line& line) {
    Element element;
    element.name = text(line.string("the element's value"));
    if (line.peek() != nullptr) element.label = text(line.string("the element's label"));
    add(line, program_.elements, element, limits::kMaxTypeElements, "elements");
  }

  void read_template(Line& line, const Token& directive) {
    Template item;
    const SourceRange range = line.range(directive);
    item.name = text(line.string("the template's name"));
    item.name_space = text(line.string_attribute("ns"));
    item.id = narrow<std::uint32_t>(line.number_attribute("id", 0, kMax32));
    item.root_block = narrow<std::uint16_t>(line.index_attribute("root", 'b', 0, kMax16));
    item.words = narrow<std::uint16_t>(line.number_attribute("words", 0, kMax16));
    item.first_node = narrow<std::uint16_t>(line.number_attribute("first", program_.nodes.size(), kMax16));
    item.end_node = narrow<std::uint16_t>(line.number_attribute("end", program_.nodes.size(), kMax16));
    item.reset = line.flag("reset");
    item.supplied = line.flag("supplied");
    read_position(line, item);
    if (line.flag("{")) open_brace(line, Brace::Of::Template, program_.templates.size(), range);
    add(line, program_.templates, item, limits::kMaxTemplates, "templates");
  }

  /// at=line:column source=n
  template <class T>
  void read_position(Line& line, T& entry) {
    entry.source = narrow<std::uint16_t>(line.number_attribute("source", 0, kMax16));
    Token* at = line.attribute("at");
    if (at == nullptr) return;
    const std::string both = at->value;
    const std::size_t colon = both.find(':');
    if (colon == std::string::npos || at->quoted) return line.fail(*at, "at needs line:column");
    at->value = both.substr(0, colon);
    entry.line = narrow<std::uint32_t>(line.number(*at, kMax32));
    at->value = both.substr(colon + 1);
    entry.column = narrow<std::uint32_t>(line.number(*at, kMax32));
  }

  void read_node(Line& line, NodeKind kind, const Token& directive) {
    SchemaNode node;
    node.kind = kind;
    const SourceRange range = line.range(directive);
    node.name = text(line.string("the node's name"));
    if (kind == NodeKind::Field) node.type = read_field_type(line, line.word("the field's type"));
    node.optional = line.flag("optional");
    node.unstored = line.flag("unstored");
    const bool opens = line.flag("{");
    read_place(line, node);
    if (Token* type = line.attribute("type")) node.type = read_field_type(line, type);
    if (const Token* unit = line.attribute("unit")) {
      const auto value = value_of<TimeUnit>(kTimeUnits, unit->value);
      if (!value) line.fail(*unit, "unknown unit of time");
      node.unit = value.value_or(TimeUnit::None);
    }
    node.epoch = text(line.string_attribute("epoch"));
    node.element_block = narrow<std::uint16_t>(line.index_attribute("elements", 'b', kNoBlock, kMax16));
    node.constant_index = narrow<std::uint16_t>(line.index_attribute("unused_constant", 'c', 0, kMax16));
    if (const Token* constant = line.attribute("constant")) {
      node.constant = true;
      node.constant_index = constant->value.starts_with('c')
                                ? narrow<std::uint16_t>(number_after(line, *constant, 1, kMax16))
                                : (line.fail(*constant, "constant needs c and a number"), std::uint16_t{0});
    }
    node.type_info = narrow<std::uint16_t>(line.number_attribute("elements_of", kNoTypeInfo, kMax16));
    node.end = narrow<std::uint16_t>(line.number_attribute("end", program_.nodes.size() + 1, kMax16));
    node.id = narrow<std::uint32_t>(line.number_attribute("id", 0, kMax32));
    node.name_space = text(line.string_attribute("ns"));
    node.length_name = text(line.string_attribute("length"));
    node.length_id = narrow<std::uint32_t>(line.number_attribute("length_id", 0, kMax32));
    read_position(line, node);
    if (opens) open_brace(line, Brace::Of::Node, program_.nodes.size(), range);
    add(line, program_.nodes, node, limits::kMaxFields, "nodes");
  }

  static FieldType read_field_type(Line& line, const Token* token) {
    if (token == nullptr) return FieldType::UInt32;
    const auto type = value_of<FieldType>(kFieldTypes, token->value);
    if (!type) line.fail(*token, "unknown type '" + token->value + "'");
    return type.value_or(FieldType::UInt32);
  }

  /// at most one of: b0.5 (block and word), b0.- and -.5 (one of them)
  void read_place(Line& line, SchemaNode& node) {
    Token* place = line.failed() ? nullptr : line.next();
    if (place == nullptr) return;
    const std::string both = place->value;
    const std::size_t dot = both.find('.');
    if (dot == std::string::npos || place->kind != Token::Kind::Word) {
      return line.fail(*place, "expected block and word, as b0.5");
    }
    const std::string block = both.substr(0, dot);
    const std::string word = both.substr(dot + 1);
    if (block != "-") {
      if (!block.starts_with('b')) return line.fail(*place, "expected block and word, as b0.5");
      place->value = block.substr(1);
      node.block = narrow<std::uint16_t>(line.number(*place, kMax16));
    }
    if (word != "-") {
      place->value = word;
      node.word = narrow<std::uint8_t>(line.number(*place, isa::kNoWord));
    }
  }

  static std::uint64_t number_after(Line& line, const Token& token, std::size_t prefix, std::uint64_t most) {
    Token number = token;
    number.value.erase(0, prefix);
    return line.number(number, most);
  }

  // ---- Braces

  void open_brace(const Line& line, Brace::Of of, std::size_t index, SourceRange range) {
    if (!line.failed()) braces_.push_back({of, index, std::move(range)});
  }

  void read_close(Line& line) {
    const Token* token = line.next();
    if (braces_.empty()) return line.fail(*token, "this } has no {");
    const Brace brace = braces_.back();
    braces_.pop_back();
    line.done();
    // The entry is missing if its table was full; that has been reported.
    const auto nodes = narrow<std::uint16_t>(program_.nodes.size());
    switch (brace.of) {
      case Brace::Of::Template:
        if (brace.index < program_.templates.size()) program_.templates[brace.index].end_node = nodes;
        return;
      case Brace::Of::Node:
        if (brace.index < program_.nodes.size()) program_.nodes[brace.index].end = nodes;
        return;
      case Brace::Of::Type: {
        if (brace.index >= program_.type_infos.size()) return;
        TypeInfo& type = program_.type_infos[brace.index];
        type.element_count = narrow<std::uint32_t>(program_.elements.size() - type.first_element);
        return;
      }
    }
  }

  void close_braces() {
    for (const Brace& brace : braces_) diagnostics_.error(ErrorCode::None, brace.range, "this { has no }");
  }

  // ---- Code

  void read_instruction(Line& line) {
    isa::Instruction in;
    const Token* mnemonic = line.word("an instruction");
    const auto op = mnemonic == nullptr ? std::nullopt : isa::data_op_from_mnemonic(mnemonic->value);
    if (mnemonic != nullptr && !op) line.fail(*mnemonic, "unknown instruction '" + mnemonic->value + "'");
    in.op = op.value_or(isa::DataOp::Nop);
    in.pair = line.flag("||");
    in.known = line.flag("?0") ? isa::KnownBit::Clear : line.flag("?1") ? isa::KnownBit::Set : isa::KnownBit::No;
    in.predicate = line.flag("~");
    read_operands(line, in);
    read_control(line, in);
    add(line, program_.code, in, limits::kMaxInstructions, "instructions");
  }

  /// word d17 c2; of PMAP: bits=6 segment=1; of BIT: bits=0:4 instead of the slot
  void read_operands(Line& line, isa::Instruction& in) {
    const Token* word = line.word("a word, or - for none");
    if (word != nullptr && word->value != "-") in.word = narrow<std::uint8_t>(line.number(*word, isa::kNoWord - 1));
    constexpr std::uint64_t kMaxSlot = limits::kMaxSlots - 1;
    constexpr std::uint64_t kMaxConstant = limits::kMaxConstants - 1;
    if (in.op == isa::DataOp::Pmap) {
      in.slot = narrow<std::uint16_t>(line.number_attribute("bits", 0, kMaxSlot));
      in.constant = narrow<std::uint16_t>(line.number_attribute("segment", 0, kMaxConstant));
      return;
    }
    if (isa::is_bit(in.op)) read_bit_field(line, in);
    if (next_begins_with(line, 'd')) in.slot = narrow<std::uint16_t>(line.index('d', "a slot", kMaxSlot));
    if (next_begins_with(line, 'c')) in.constant = narrow<std::uint16_t>(line.index('c', "a constant", kMaxConstant));
  }

  /// bits=position:width
  static void read_bit_field(Line& line, isa::Instruction& in) {
    Token* bits = line.attribute("bits");
    if (bits == nullptr) return;
    const std::string both = bits->value;
    const std::size_t colon = both.find(':');
    if (colon == std::string::npos || bits->quoted) return line.fail(*bits, "bits needs position:width");
    isa::BitField field;
    bits->value = both.substr(0, colon);
    field.position = narrow<std::uint8_t>(line.number(*bits, isa::kMaxGroupBits));
    bits->value = both.substr(colon + 1);
    field.width = narrow<std::uint8_t>(line.number(*bits, isa::kMaxGroupBits));
    in.slot = field.column();
  }

  static bool next_begins_with(Line& line, char prefix) {
    const Token* token = line.peek();
    return token != nullptr && token->kind == Token::Kind::Word && token->value.starts_with(prefix);
  }

  void read_control(Line& line, isa::Instruction& in) {
    if (line.failed() || line.peek() == nullptr) return;
    const Token* mnemonic = line.word("a control-op");
    if (mnemonic == nullptr) return;
    const auto control = isa::control_op_from_mnemonic(mnemonic->value);
    if (!control) return line.fail(*mnemonic, "unknown control-op '" + mnemonic->value + "'");
    in.control = *control;
    const isa::TargetUse use = isa::info(*control)->target;
    if (line.peek() == nullptr) {
      if (use != isa::TargetUse::None) line.fail("the target is missing");
      return;
    }
    const Token* target = line.word("a target");
    if (target != nullptr) in.target = read_target(line, *target, use);
  }

  /// :label, absolute 17, relative +8 or -3; b4; t0.
  std::uint16_t read_target(Line& line, const Token& token, isa::TargetUse use) {
    const std::string_view text = token.value;
    const char first = text.front();
    if (use == isa::TargetUse::Block && first == 'b')
      return narrow<std::uint16_t>(number_after(line, token, 1, kMaxTarget));
    if (use == isa::TargetUse::Table && first == 't')
      return narrow<std::uint16_t>(number_after(line, token, 1, kMaxTarget));
    if (use == isa::TargetUse::Address && first == ':') {
      uses_.push_back({Use::In::Code, program_.code.size(), std::string(text.substr(1)), line.range(token)});
      return 0;
    }
    if (use == isa::TargetUse::Address && (first == '+' || first == '-')) {
      const std::uint64_t distance = number_after(line, token, 1, kMaxTarget);
      const std::uint64_t here = program_.code.size();
      const std::uint64_t target = first == '+' ? here + distance : here - distance;
      if (target > kMaxTarget) line.fail(token, "the target is outside the code");
      return narrow<std::uint16_t>(std::min(target, kMaxTarget));
    }
    return narrow<std::uint16_t>(line.number(token, kMaxTarget));
  }

  void resolve_labels() {
    for (const Use& use : uses_) {
      const auto label = labels_.find(use.label);
      if (label == labels_.end()) {
        diagnostics_.error(ErrorCode::None, use.range, "unknown label '" + use.label + "'");
        continue;
      }
      const std::size_t address = label->second.address;
      if (address > kMaxTarget) {
        diagnostics_.error(ErrorCode::None, use.range, "label '" + use.label + "' is beyond the largest address");
      } else if (use.in == Use::In::Code && use.index < program_.code.size()) {
        program_.code[use.index].target = narrow<std::uint16_t>(address);
      } else if (use.in == Use::In::Dispatch && use.index < program_.dispatch.size()) {
        program_.dispatch[use.index].entry = narrow<std::uint16_t>(address);
      } else if (use.in == Use::In::Profiles && use.index < program_.profiles.size()) {
        program_.profiles[use.index].entry = narrow<std::uint16_t>(address);
      }
    }
  }

  std::optional<Program> finish() {
    Program program = canonical(program_);
    if (program.names.size() > limits::kMaxStringPoolBytes ||
        program.constant_pool.size() > limits::kMaxStringPoolBytes) {
      diagnostics_.error(
          ErrorCode::None, {source_, 0, 0},
          "the names or the string constants exceed " + std::to_string(limits::kMaxStringPoolBytes) + " bytes");
      return std::nullopt;
    }
    return program;
  }

  std::shared_ptr<const SourceBuffer> source_;
  Diagnostics& diagnostics_;
  Program program_;
  std::vector<Brace> braces_;
  std::vector<Use> uses_;
  std::unordered_map<std::string, Label> labels_;
};

}  // namespace

std::optional<Program> assemble(std::shared_ptr<const SourceBuffer> source, Diagnostics& diagnostics) {
  return Assembler(std::move(source), diagnostics).run();
}

}  // namespace stopbit::assembler
