#include "microcode/program.hpp"

#include <algorithm>
#include <unordered_map>

#include "microcode/base/hash.hpp"
#include "microcode/name_references.hpp"

namespace stopbit {
namespace {

/// FNV-1a, 64 bits. Numbers enter as eight little-endian bytes, texts with their length, so that no two values run
/// together.
class Hasher {
 public:
  void number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(value >> shift));
  }
  template <class E>
  void enumerator(E value) {
    number(static_cast<std::uint64_t>(value));
  }
  void text(std::string_view value) {
    number(value.size());
    for (const char c : value) byte(static_cast<std::uint8_t>(c));
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  void byte(std::uint8_t value) { hash_ = fnv1a(hash_, value); }

  std::uint64_t hash_ = kFnv1aBegin;
};

/// Puts each text once into a new pool, in the order in which the texts are first met.
class Pool {
 public:
  void intern(TextRef& ref, std::string_view text) {
    if (text.empty()) {
      ref = {};
      return;
    }
    const auto [place, is_new] = places_.try_emplace(text, static_cast<std::uint32_t>(bytes_.size()));
    if (is_new) bytes_ += text;
    ref = {place->second, static_cast<std::uint32_t>(text.size())};
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::unordered_map<std::string_view, std::uint32_t> places_;  ///< Keys point into the old pool.
  std::string bytes_;
};

std::vector<std::uint64_t> type_digests(const Program& program) {
  std::vector<std::uint64_t> elements;
  elements.reserve(program.elements.size());
  for (const Element& element : program.elements) {
    Hasher hash;
    hash.text(program.name(element.name));
    hash.text(program.name(element.label));
    elements.push_back(hash.value());
  }
  std::vector<std::uint64_t> types;
  types.reserve(program.type_infos.size());
  for (const TypeInfo& type : program.type_infos) {
    Hasher hash;
    hash.text(program.name(type.name));
    hash.number(type.element_count);
    const std::uint64_t end = std::uint64_t{type.first_element} + type.element_count;
    for (std::uint64_t i = type.first_element; i < end && i < elements.size(); ++i) hash.number(elements[i]);
    types.push_back(hash.value());
  }
  return types;
}

void hash_constant(Hasher& hash, const Program& program, std::size_t index) {
  if (index >= program.constants.size()) return;
  const Constant& constant = program.constants[index];
  hash.enumerator(constant.kind);
  if (constant.kind == ValueKind::Bytes) {
    hash.text(program.constant_bytes(constant.bytes()));
  } else {
    hash.number(constant.value);
  }
}

void hash_node(Hasher& hash, const Program& program, const std::vector<std::uint64_t>& types, const SchemaNode& node) {
  hash.enumerator(node.kind);
  hash.enumerator(node.type);
  hash.number(node.optional);
  hash.enumerator(node.unit);
  hash.text(program.name(node.epoch));
  hash.number(node.block);
  hash.number(node.word);
  hash.number(node.element_block);
  hash.number(node.end);
  hash.number(node.id);
  hash.text(program.name(node.name));
  hash.text(program.name(node.name_space));
  hash.text(program.name(node.length_name));
  hash.number(node.length_id);
  hash.number((node.constant ? 1U : 0U) | (node.unstored ? 2U : 0U));
  if (node.constant) {
    hash_constant(hash, program, node.constant_index);
    if (node.type == FieldType::Decimal) hash_constant(hash, program, std::size_t{node.constant_index} + 1);
  }
  if (node.type_info < types.size()) hash.number(types[node.type_info]);
}

}  // namespace

std::size_t general_size(const Program& program) noexcept {
  std::size_t size = program.code.size();
  for (const ProfileEntry& profile : program.profiles) size = std::min<std::size_t>(size, profile.entry);
  return size;
}

std::uint64_t required_capabilities(const Program& program) noexcept {
  std::uint64_t bits = 0;
  for (const isa::Instruction& instruction : program.code) bits |= isa::capability(instruction.op, instruction.control);
  return bits;
}

bool is_projected(const Program& program) noexcept {
  return std::any_of(program.nodes.begin(), program.nodes.end(), [](const SchemaNode& node) { return node.unstored; });
}

std::uint64_t layout_hash(const Program& program) {
  const std::vector<std::uint64_t> types = type_digests(program);
  Hasher hash;
  hash.text("stopbit record schema 1");
  hash.number(program.blocks.size());
  for (const Block& block : program.blocks) {
    hash.enumerator(block.kind);
    hash.number(block.template_index);
    hash.number(block.words);
    hash.number(block.first_word);
  }
  hash.number(program.templates.size());
  for (const Template& item : program.templates) {
    hash.number(item.id);
    hash.text(program.name(item.name));
    hash.text(program.name(item.name_space));
    hash.number(item.root_block);
    hash.number(item.words);
    hash.number(item.first_node);
    hash.number(item.end_node);
  }
  hash.number(program.nodes.size());
  for (const SchemaNode& node : program.nodes) hash_node(hash, program, types, node);
  return hash.value();
}

Program canonical(const Program& program) {
  Program out = program;
  Pool names;
  for_each_name(out, [&](auto, std::size_t, auto, TextRef& ref) { names.intern(ref, program.name(ref)); });
  out.names = names.take();

  Pool constants;
  for (Constant& constant : out.constants) {
    if (constant.kind != ValueKind::Bytes) continue;
    TextRef ref = constant.bytes();
    constants.intern(ref, program.constant_bytes(ref));
    constant.value = std::uint64_t{ref.offset} | std::uint64_t{ref.length} << 32;
  }
  out.constant_pool = constants.take();
  return out;
}

std::uint64_t schema_work(const Program& program) {
  std::uint64_t work = 0;
  for_each_name(program, [&](auto, std::size_t, auto, TextRef ref) { work += ref.length; });
  for (const TypeInfo& type : program.type_infos) work += type.element_count;
  for (const Constant& constant : program.constants) {
    if (constant.kind == ValueKind::Bytes) work += constant.bytes().length;
  }
  for (const SchemaNode& node : program.nodes) {
    if (!node.constant || node.constant_index >= program.constants.size()) continue;
    const Constant& constant = program.constants[node.constant_index];
    if (constant.kind == ValueKind::Bytes) work += constant.bytes().length;
  }
  return work;
}

}  // namespace stopbit
