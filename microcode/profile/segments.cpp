#include "microcode/profile/segments.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "microcode/profile/straight_line.hpp"

namespace stopbit::profile {
namespace {

using isa::ControlOp;
using isa::DataOp;
using isa::Instruction;

class Namer {
 public:
  explicit Namer(const Program& program) : program_(program), parents_(program.nodes.size(), kNone) {
    for (std::size_t i = 0; i < program.nodes.size(); ++i) {
      const SchemaNode& node = program.nodes[i];
      for (std::size_t k = i + 1; k < node.end; k = program.nodes[k].end) parents_[k] = i;
      if (node.block == kNoBlock || node.word == isa::kNoWord) continue;
      // A group's word may be that of a field inside, which comes later and is more specific.
      owners_.insert_or_assign({node.block, node.word}, i);
      const bool is_decimal = node.kind == NodeKind::Field && node.type == FieldType::Decimal;
      if (is_decimal) owners_.insert_or_assign({node.block, node.word + 1U}, i);
    }
  }

  Names run() {
    const std::map<std::uint16_t, std::size_t> begins = segment_begins(program_);
    find_owners();
    for (const auto& [segment, begin] : begins) {
      if (segment >= ProfileEntry::kBody) {
        names_.segments.emplace(segment, unique(segments_, name(segment & ~ProfileEntry::kBody, {})));
      }
    }
    std::map<std::uint16_t, std::size_t> pmaps;  // segments by address of their PMAP
    for (const auto& [segment, begin] : begins) {
      if (segment < ProfileEntry::kBody) pmaps.emplace(static_cast<std::uint16_t>(begin - 1), segment);
    }
    for (std::size_t at = 2, size = general_size(program_); at < size; ++at) {
      const Instruction& in = program_.code[at];
      const auto address = static_cast<std::uint16_t>(at);
      if (const auto pmap = pmaps.find(address); pmap != pmaps.end()) {
        names_.segments.emplace(static_cast<std::uint16_t>(pmap->second),
                                unique(segments_, name(template_of_[at], path_of_map(at))));
      }
      if (owner_of_[at] == kNone) continue;
      if (in.control == ControlOp::Seq) {
        names_.sequences.emplace(address, unique(sequences_, name(template_of_[at], path(owner_of_[at]))));
      } else if (!isa::is_special(in.op) && isa::is_string(isa::type_of(in.op))) {
        names_.strings.emplace(address, unique(strings_, name(template_of_[at], path(owner_of_[at]))));
      }
    }
    return std::move(names_);
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  using Counts = std::map<Name, std::uint32_t>;

  /// The node and the template of every instruction. The order of addresses gives the open block.
  void find_owners() {
    const std::size_t size = general_size(program_);
    owner_of_.assign(size, kNone);
    template_of_.assign(size, 0);
    std::map<std::size_t, std::uint16_t> entries;
    for (const DispatchEntry& entry : program_.dispatch) entries.emplace(entry.entry, entry.template_index);
    std::uint16_t index = 0;
    std::uint16_t block = kNoBlock;
    for (std::size_t at = 0; at < size; ++at) {
      const Instruction& in = program_.code[at];
      if (const auto entry = entries.find(at); entry != entries.end()) {
        index = entry->second;
        block = program_.templates[index].root_block;
      }
      if (in.control == ControlOp::Block) block = in.target;
      template_of_[at] = index;
      if (in.word == isa::kNoWord) continue;
      const auto owner = owners_.find({block, in.word});
      if (owner != owners_.end()) owner_of_[at] = owner->second;
    }
  }

  /// Of an element: its sequence's. Of a group: what all fields inside have in common.
  [[nodiscard]] std::vector<std::string> path_of_map(std::size_t at) const {
    const Instruction& before = program_.code[at - 1];
    if (before.control == ControlOp::Seq) {
      return owner_of_[at - 1] == kNone ? std::vector<std::string>{} : path(owner_of_[at - 1]);
    }
    std::optional<std::vector<std::string>> common;
    for (std::size_t i = at, end = behind_group(program_, at); i < end; ++i) {
      if (owner_of_[i] == kNone) continue;
      std::vector<std::string> around = path(owner_of_[i]);
      const bool is_field = program_.nodes[owner_of_[i]].kind == NodeKind::Field;
      const bool is_length = program_.nodes[owner_of_[i]].kind == NodeKind::Sequence;
      if (is_field || is_length) around.pop_back();
      if (common) {
        const auto differ = std::mismatch(common->begin(), common->end(), around.begin(), around.end());
        common->erase(differ.first, common->end());
      } else {
        common = std::move(around);
      }
    }
    return common.value_or(std::vector<std::string>{});
  }

  [[nodiscard]] std::vector<std::string> path(std::size_t node) const {
    std::vector<std::string> out;
    for (; node != kNone; node = parents_[node]) out.emplace_back(program_.name(program_.nodes[node].name));
    std::reverse(out.begin(), out.end());
    return out;
  }

  [[nodiscard]] Name name(std::size_t template_index, std::vector<std::string> path) const {
    const Template& item = program_.templates[template_index];
    return {item.id, std::string(program_.name(item.name)), std::string(program_.name(item.name_space)),
            std::move(path), 0};
  }

  static Name unique(Counts& counts, Name name) {
    name.occurrence = counts[name]++;
    return name;
  }

  const Program& program_;
  std::vector<std::size_t> parents_;                                  ///< By node.
  std::map<std::pair<std::uint16_t, unsigned>, std::size_t> owners_;  ///< Nodes by block and word.
  std::vector<std::size_t> owner_of_;                                 ///< Node by address.
  std::vector<std::uint16_t> template_of_;
  Counts segments_;
  Counts sequences_;
  Counts strings_;
  Names names_;
};

}  // namespace

Names name_parts(const Program& program) {
  return Namer(program).run();
}

std::size_t behind_group(const Program& program, std::size_t pmap) {
  std::size_t depth = 1;
  std::size_t at = pmap + 1;
  for (const std::size_t size = general_size(program); at < size && depth != 0; ++at) {
    const Instruction& in = program.code[at];
    const bool is_element = program.code[at - 1].control == ControlOp::Seq;
    const bool is_identifier = at + 1 < program.code.size() && program.code[at + 1].op == DataOp::Tid;
    if (in.op == DataOp::Pmap && !is_element && !is_identifier) ++depth;
    if (in.control == ControlOp::Pop) --depth;
  }
  return at;
}

}  // namespace stopbit::profile
