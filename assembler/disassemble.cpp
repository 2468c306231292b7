#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "assembler/assembler.hpp"
#include "assembler/line.hpp"
#include "assembler/vocabulary.hpp"
#include "microcode/base/ascii.hpp"
#include "microcode/base/hex.hpp"
#include "microcode/isa/isa.hpp"

namespace stopbit::assembler {
namespace {

constexpr std::size_t kControlColumn = 37;
constexpr std::size_t kTargetColumn = 44;
constexpr std::size_t kHintColumn = 60;
constexpr std::size_t kCommentColumn = 64;

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

/// Large values are most often small negative ones.
std::string signed_number(std::uint64_t value) {
  return value >> 63 != 0 ? '-' + number(0 - value) : number(value);
}

void pad(std::string& line, std::size_t column) {
  line.append(line.size() < column ? column - line.size() : 1, ' ');
}

/// Writes the tables as directives and the code as four columns. Everything in a program appears, even what no verifier
/// would accept, so that any image survives the way there and back.
class Disassembler {
 public:
  explicit Disassembler(const Program& program) : program_(program), code_(program.code) {}

  std::string run() {
    out_ = "; Stopbit assembly: " + number(code_.size()) + " instructions, " + number(program_.templates.size()) +
           " templates. The language: assembler/language.md.\n\n";
    out_ += ".record_slots " + number(program_.max_record_slots) + '\n';
    write_sources();
    write_constants();
    write_slots();
    write_types();
    write_blocks();
    write_templates();
    name_labels();
    write_dispatch();
    write_code();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string text(TextRef ref) const { return quoted(program_.name(ref)); }

  void heading(std::string_view title) { out_ += "\n; ---- " + std::string(title) + "\n"; }

  // ---- Tables

  void write_sources() {
    if (program_.sources.empty()) return;
    heading("Template files");
    for (const Source& source : program_.sources) {
      out_ +=
          ".source " + text(source.name) + " bytes=" + number(source.bytes) + " hash=" + hex_text(source.hash) + '\n';
    }
  }

  void write_constants() {
    if (program_.constants.empty()) return;
    heading("Constants: initial values, and limits of field values");
    for (std::size_t i = 0; i < program_.constants.size(); ++i) {
      const Constant& constant = program_.constants[i];
      out_ += ".constant c" + number(i);
      switch (constant.kind) {
        case ValueKind::None:
          if (constant.value != 0) out_ += " raw=" + number(constant.value);
          break;
        case ValueKind::Integer: out_ += ' ' + signed_number(constant.value); break;
        case ValueKind::Bytes: out_ += ' ' + quoted(program_.constant_bytes(constant.bytes())); break;
      }
      if (constant.limit_kind != LimitKind::None || constant.limit != 0) {
        out_ += ' ' + std::string(word_of(kLimitKinds, constant.limit_kind)) + '=' + number(constant.limit);
      }
      out_ += '\n';
    }
  }

  void write_slots() {
    if (program_.slots.empty()) return;
    heading("Dictionary");
    for (std::size_t i = 0; i < program_.slots.size(); ++i) {
      const Slot& slot = program_.slots[i];
      out_ += ".slot d" + number(i) + ' ' + text(slot.name);
      if (slot.string_capacity != 0) out_ += " capacity=" + number(slot.string_capacity);
      out_ += '\n';
    }
  }

  /// True if each type's elements follow those of the type before, so that braces can say which they are.
  [[nodiscard]] bool types_follow() const {
    std::uint64_t next = 0;
    for (const TypeInfo& type : program_.type_infos) {
      if (type.first_element != next) return false;
      next += type.element_count;
    }
    return next == program_.elements.size();
  }

  void write_element(std::size_t index) {
    const Element& element = program_.elements[index];
    out_ += ".element " + text(element.name);
    if (element.label.length != 0) out_ += ' ' + text(element.label);
    out_ += '\n';
  }

  void write_types() {
    if (program_.type_infos.empty() && program_.elements.empty()) return;
    heading("Enumerations and sets");
    const bool braces = types_follow();
    for (std::size_t i = 0; i < program_.type_infos.size(); ++i) {
      const TypeInfo& type = program_.type_infos[i];
      out_ += ".type";
      if (type.name.length != 0) out_ += ' ' + text(type.name);
      if (!braces) {
        out_ += " first=" + number(type.first_element) + " count=" + number(type.element_count) + '\n';
        continue;
      }
      out_ += " {  ; " + number(i) + '\n';
      for (std::size_t k = 0; k < type.element_count; ++k) {
        out_ += "  ";
        write_element(type.first_element + k);
      }
      out_ += "}\n";
    }
    if (braces) return;
    for (std::size_t i = 0; i < program_.elements.size(); ++i) write_element(i);
  }

  void write_blocks() {
    if (program_.blocks.empty()) return;
    heading("Blocks: runs of words of a record");
    for (std::size_t i = 0; i < program_.blocks.size(); ++i) {
      const Block& block = program_.blocks[i];
      out_ += ".block b" + number(i) + ' ' + std::string(word_of(kBlockKinds, block.kind)) +
              " template=" + number(block.template_index) + " words=" + number(block.words) +
              " first=" + number(block.first_word);
      if (block.min_bytes != 0) out_ += " bytes=" + number(block.min_bytes);
      out_ += '\n';
    }
  }

  // ---- Schema

  /// True if the templates' nodes follow each other and every node ends inside its parent: then braces say it all.
  [[nodiscard]] bool nodes_nest() const {
    std::size_t next = 0;
    for (const Template& item : program_.templates) {
      if (item.first_node != next || item.end_node < next || item.end_node > program_.nodes.size()) return false;
      std::vector<std::size_t> ends{item.end_node};
      for (; next < item.end_node; ++next) {
        while (ends.size() > 1 && ends.back() == next) ends.pop_back();
        const std::size_t end = program_.nodes[next].end;
        if (end <= next || end > ends.back()) return false;
        ends.push_back(end);
      }
    }
    return next == program_.nodes.size();
  }

  void write_templates() {
    if (program_.templates.empty() && program_.nodes.empty()) return;
    heading("Templates: how to read their records");
    const bool braces = nodes_nest();
    for (std::size_t i = 0; i < program_.templates.size(); ++i) {
      write_template(i, braces);
      if (!braces) continue;
      write_nodes(program_.templates[i]);
      out_ += "}\n";
    }
    if (braces) return;
    for (const SchemaNode& node : program_.nodes) write_node(node, 0, " end=" + number(node.end));
  }

  template <class T>
  void write_position(const T& entry) {
    if (entry.line != 0 || entry.column != 0) out_ += " at=" + number(entry.line) + ':' + number(entry.column);
    if (entry.source != 0) out_ += " source=" + number(entry.source);
  }

  void write_template(std::size_t index, bool braces) {
    const Template& item = program_.templates[index];
    out_ += ".template " + text(item.name) + " id=" + number(item.id) + " root=b" + number(item.root_block) +
            " words=" + number(item.words);
    if (item.reset) out_ += " reset";
    if (item.supplied) out_ += " supplied";
    if (item.name_space.length != 0) out_ += " ns=" + text(item.name_space);
    write_position(item);
    out_ += braces ? " {" : " first=" + number(item.first_node) + " end=" + number(item.end_node);
    out_ += "  ; " + number(index) + '\n';
  }

  void write_nodes(const Template& item) {
    std::vector<std::size_t> ends;
    const auto close = [&](std::size_t at) {
      while (!ends.empty() && ends.back() == at) {
        ends.pop_back();
        out_.append(2 * ends.size() + 2, ' ');
        out_ += "}\n";
      }
    };
    for (std::size_t i = item.first_node; i < item.end_node; ++i) {
      const SchemaNode& node = program_.nodes[i];
      const bool opens = node.kind == NodeKind::Group || node.kind == NodeKind::Sequence || node.end != i + 1;
      write_node(node, ends.size() + 1, opens ? " {" : "");
      if (opens) ends.push_back(node.end);
      close(i + 1);
    }
  }

  void write_node(const SchemaNode& node, std::size_t depth, const std::string& ending) {
    const SchemaNode defaults;
    out_.append(2 * depth, ' ');
    out_ += std::string(word_of(kNodeDirectives, node.kind)) + ' ' + text(node.name);
    if (node.kind == NodeKind::Field) out_ += ' ' + std::string(word_of(kFieldTypes, node.type));
    if (node.optional) out_ += " optional";
    if (node.unstored) out_ += " unstored";
    if (node.block != kNoBlock || node.word != isa::kNoWord) {
      out_ += node.block == kNoBlock ? " -" : " b" + number(node.block);
      out_ += node.word == isa::kNoWord ? ".-" : '.' + number(node.word);
    }
    if (node.constant) out_ += " constant=c" + number(node.constant_index);
    if (!node.constant && node.constant_index != 0) out_ += " unused_constant=c" + number(node.constant_index);
    if (node.kind != NodeKind::Field && node.type != defaults.type) {
      out_ += " type=" + std::string(word_of(kFieldTypes, node.type));
    }
    if (node.unit != TimeUnit::None) out_ += " unit=" + std::string(word_of(kTimeUnits, node.unit));
    if (node.epoch.length != 0) out_ += " epoch=" + text(node.epoch);
    if (node.element_block != kNoBlock) out_ += " elements=b" + number(node.element_block);
    if (node.type_info != kNoTypeInfo) out_ += " elements_of=" + number(node.type_info);
    if (node.length_name.length != 0) out_ += " length=" + text(node.length_name);
    if (node.length_id != 0) out_ += " length_id=" + number(node.length_id);
    if (node.id != 0) out_ += " id=" + number(node.id);
    if (node.name_space.length != 0) out_ += " ns=" + text(node.name_space);
    write_position(node);
    out_ += ending + '\n';
  }

  // ---- Labels

  /// A template's name as a label; what a label cannot hold becomes an underscore.
  static std::string label_text(std::string_view name) {
    std::string out;
    for (const char c : name.substr(0, 60)) {
      const bool good = is_letter_or_digit(c) || c == '.' || c == '_';
      out += good ? c : '_';
    }
    return out.empty() ? "template" : out;
  }

  void name_labels() {
    std::set<std::string> taken;
    const auto name = [&](std::size_t address, std::string label) {
      if (address >= code_.size() || labels_.contains(address)) return;
      if (!taken.insert(label).second) {
        label += '.' + number(address);
        while (!taken.insert(label).second) label += '_';
      }
      labels_[address] = ':' + label;
    };
    for (const DispatchEntry& entry : program_.dispatch) {
      const bool known = entry.template_index < program_.templates.size();
      name(entry.entry, label_text(known ? program_.name(program_.templates[entry.template_index].name) : ""));
    }
    for (const ProfileEntry& profile : program_.profiles) name(profile.entry, "map." + map_text(profile));
    for (const isa::Instruction& in : code_) {
      if (isa::info(in.control)->target == isa::TargetUse::Address) name(in.target, 'L' + number(in.target));
    }
  }

  /// Segment and map, the first bit first: "12.1011", "body3.01".
  static std::string map_text(const ProfileEntry& profile) {
    const bool is_body = (profile.segment & ProfileEntry::kBody) != 0;
    std::string out = is_body ? "body" + number(profile.segment & ~ProfileEntry::kBody) : number(profile.segment);
    out += '.';
    std::uint64_t bits = profile.presence_bits;
    for (unsigned i = 0; bits != 0 || i == 0 || i < profile.taken; ++i, bits <<= 1) out += bits >> 63 != 0 ? '1' : '0';
    return out;
  }

  /// The label of the address, or the address.
  [[nodiscard]] std::string address(std::size_t target) const {
    const auto label = labels_.find(target);
    return label == labels_.end() ? number(target) : label->second;
  }

  void write_dispatch() {
    if (!program_.profiles.empty()) heading("Profiles: programs for frequent presence maps");
    for (const ProfileEntry& profile : program_.profiles) {
      out_ += ".profile segment=" +
              (profile.segment < ProfileEntry::kBody ? number(profile.segment) : hex_text(profile.segment)) +
              " bits=" + hex_text(profile.presence_bits) + " taken=" + number(profile.taken) +
              " entry=" + address(profile.entry) + '\n';
    }
    if (program_.dispatch.empty()) return;
    heading("Template tables: from identifiers to code");
    for (const DispatchEntry& entry : program_.dispatch) {
      out_ += ".dispatch t" + number(entry.table) + " id=" + number(entry.id) +
              " template=" + number(entry.template_index) + " entry=" + address(entry.entry) + '\n';
    }
  }

  // ---- Code

  /// The node that owns each word, by block and word. For comments only.
  void find_words() {
    for (const SchemaNode& node : program_.nodes) {
      if (node.block == kNoBlock || node.word == isa::kNoWord) continue;
      const auto place = [&](unsigned word) { return static_cast<std::uint32_t>(node.block) << 16 | word; };
      owners_.try_emplace(place(node.word), &node);
      if (node.kind == NodeKind::Field && node.type == FieldType::Decimal)
        owners_.try_emplace(place(node.word + 1U), &node);
    }
  }

  void write_code() {
    if (code_.empty()) return;
    find_words();
    std::map<std::size_t, std::uint16_t> entries;
    for (const DispatchEntry& entry : program_.dispatch) entries.try_emplace(entry.entry, entry.template_index);
    std::map<std::size_t, const ProfileEntry*> profiles;
    for (const ProfileEntry& profile : program_.profiles) profiles.try_emplace(profile.entry, &profile);
    std::map<std::uint16_t, std::uint16_t> block_of_segment = body_blocks();
    heading("Code");
    out_ += "; data-op          word slot constant  control-op and target   hints  address: what\n";
    std::uint16_t block = kNoBlock;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (const auto entry = entries.find(i); entry != entries.end()) block = begin_template(entry->second);
      if (const auto profile = profiles.find(i); profile != profiles.end()) {
        out_ += "\n; map " + map_text(*profile->second) + '\n';
        block = block_of_segment[profile->second->segment];
      }
      if (const auto label = labels_.find(i); label != labels_.end()) out_ += label->second + '\n';
      if (code_[i].control == isa::ControlOp::Block) block = code_[i].target;
      if (code_[i].op == isa::DataOp::Pmap) block_of_segment.try_emplace(code_[i].constant, block);
      write_instruction(i, block);
    }
  }

  [[nodiscard]] std::map<std::uint16_t, std::uint16_t> body_blocks() const {
    std::map<std::uint16_t, std::uint16_t> out;
    for (std::size_t i = 0; i < std::min<std::size_t>(program_.templates.size(), ProfileEntry::kBody); ++i) {
      out.emplace(static_cast<std::uint16_t>(ProfileEntry::kBody | i), program_.templates[i].root_block);
    }
    return out;
  }

  /// A heading; gives the root block.
  std::uint16_t begin_template(std::uint16_t index) {
    if (index >= program_.templates.size()) return kNoBlock;
    const Template& item = program_.templates[index];
    out_ += "\n; template " + text(item.name) + ", id " + number(item.id);
    if (item.source < program_.sources.size() && item.line != 0) {
      out_ += ", " + text(program_.sources[item.source].name) + " line " + number(item.line);
    }
    out_ += '\n';
    return item.root_block;
  }

  void write_instruction(std::size_t at, std::uint16_t block) {
    const isa::Instruction& in = code_[at];
    const isa::DataOpInfo& op = *isa::info(in.op);
    const isa::ControlOpInfo& control = *isa::info(in.control);
    std::string line = "  " + std::string(op.mnemonic);
    pad(line, 19);
    line += in.word == isa::kNoWord ? "-" : number(in.word);
    if (in.op == isa::DataOp::Pmap) {
      line += " bits=" + number(in.slot) + " segment=" + number(in.constant);
    } else {
      if (isa::is_bit(in.op)) {
        const isa::BitField field = isa::BitField::of(in.slot);
        line += " bits=" + number(field.position) + ':' + number(field.width);
      } else if (op.uses_slot || in.slot != 0)
        line += " d" + number(in.slot);
      if (in.constant != 0) line += " c" + number(in.constant);
    }
    pad(line, kControlColumn);
    line += control.mnemonic;
    if (control.target != isa::TargetUse::None || in.target != 0) {
      pad(line, kTargetColumn);
      switch (control.target) {
        case isa::TargetUse::Address: line += address(in.target); break;
        case isa::TargetUse::Block: line += 'b' + number(in.target); break;
        case isa::TargetUse::Table: line += 't' + number(in.target); break;
        case isa::TargetUse::None: line += number(in.target); break;
      }
    }
    if (const std::string text = hints(in); !text.empty()) {
      pad(line, kHintColumn);
      line += text;
    }
    pad(line, kCommentColumn);
    out_ += line + "; " + number(at) + comment(in, block) + '\n';
  }

  /// Facts about the presence bit, and instructions that may issue together.
  static std::string hints(const isa::Instruction& in) {
    std::string out;
    if (in.known != isa::KnownBit::No) out += in.known == isa::KnownBit::Set ? "?1" : "?0";
    if (in.predicate) out += out.empty() ? "~" : " ~";
    if (in.pair) out += out.empty() ? "||" : " ||";
    return out;
  }

  /// The field the instruction takes, with the line of its declaration.
  [[nodiscard]] std::string comment(const isa::Instruction& in, std::uint16_t block) const {
    if (in.word == isa::kNoWord) return {};
    const auto owner = owners_.find(static_cast<std::uint32_t>(block) << 16 | in.word);
    if (owner == owners_.end()) return {};
    const SchemaNode& node = *owner->second;
    std::string out = ": " + text(node.name);
    const bool special = isa::is_special(in.op);
    if (node.kind == NodeKind::Sequence) out += " length";
    if (node.kind == NodeKind::Group) out += " present";
    if (!special && isa::is_exponent(isa::type_of(in.op))) out += " exponent";
    if (!special && isa::is_mantissa(isa::type_of(in.op))) out += " mantissa";
    if (node.line != 0) out += ", line " + number(node.line);
    return out;
  }

  const Program& program_;
  const std::vector<isa::Instruction>& code_;
  std::map<std::size_t, std::string> labels_;
  std::unordered_map<std::uint32_t, const SchemaNode*> owners_;
  std::string out_;
};

}  // namespace

std::string disassemble(const Program& program) {
  return Disassembler(program).run();
}

}  // namespace stopbit::assembler
