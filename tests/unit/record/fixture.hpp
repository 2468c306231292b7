#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/builder.hpp"
#include "microcode/program.hpp"

namespace stopbit::record::test {

/// Makes the schema of a program by hand: templates with their trees, blocks in the order of their calls.
class ProgramMaker {
 public:
  ProgramMaker() { program_.constants.emplace_back(); }

  TextRef text(std::string_view value) {
    const TextRef ref{static_cast<std::uint32_t>(program_.names.size()), static_cast<std::uint32_t>(value.size())};
    program_.names += value;
    return ref;
  }

  std::uint16_t block(BlockKind kind, std::uint8_t words, std::uint16_t first_word = 0) {
    Block block;
    block.kind = kind;
    block.template_index = static_cast<std::uint16_t>(program_.templates.size());
    block.words = words;
    block.first_word = first_word;
    program_.blocks.push_back(block);
    return static_cast<std::uint16_t>(program_.blocks.size() - 1);
  }

  std::uint16_t make_template(std::string_view name, std::uint32_t id, std::uint16_t root,
                              const std::function<void()>& body) {
    Template item;
    item.name = text(name);
    item.id = id;
    item.root_block = root;
    item.first_node = node_count();
    body();
    item.end_node = node_count();
    program_.templates.push_back(item);
    return static_cast<std::uint16_t>(program_.templates.size() - 1);
  }

  SchemaNode& field(std::string_view name, FieldType type, std::uint16_t block, std::uint8_t word,
                    bool optional = false) {
    SchemaNode node;
    node.type = type;
    node.block = block;
    node.word = word;
    node.optional = optional;
    return add(name, node);
  }

  SchemaNode& constant(std::string_view name, FieldType type, std::uint64_t value, std::uint64_t second = 0) {
    SchemaNode node;
    node.type = type;
    node.constant = true;
    node.constant_index = static_cast<std::uint16_t>(program_.constants.size());
    program_.constants.push_back({value, ValueKind::Integer, LimitKind::None, 0});
    if (type == FieldType::Decimal) program_.constants.push_back({second, ValueKind::Integer, LimitKind::None, 0});
    return add(name, node);
  }

  SchemaNode& constant(std::string_view name, FieldType type, std::string_view value) {
    SchemaNode node;
    node.type = type;
    node.constant = true;
    node.constant_index = static_cast<std::uint16_t>(program_.constants.size());
    program_.constants.push_back({program_.constant_pool.size() | static_cast<std::uint64_t>(value.size()) << 32,
                                  ValueKind::Bytes, LimitKind::None, 0});
    program_.constant_pool += value;
    return add(name, node);
  }

  SchemaNode& elements(SchemaNode& node, const std::vector<std::string>& names) {
    node.type_info = static_cast<std::uint16_t>(program_.type_infos.size());
    program_.type_infos.push_back(
        {{}, static_cast<std::uint32_t>(program_.elements.size()), static_cast<std::uint32_t>(names.size())});
    for (const std::string& name : names) program_.elements.push_back({text(name), {}});
    return node;
  }

  void group(std::string_view name, const std::function<void()>& body) { inner(NodeKind::Group, name, {}, body); }

  void optional_group(std::string_view name, std::uint16_t block, std::uint8_t witness,
                      const std::function<void()>& body) {
    SchemaNode node;
    node.optional = true;
    node.block = block;
    node.word = witness;
    inner(NodeKind::Group, name, node, body);
  }

  void sequence(std::string_view name, std::uint16_t block, std::uint8_t word, std::uint16_t element_block,
                const std::function<void()>& body, bool optional = false, std::string_view length_name = {}) {
    SchemaNode node;
    node.optional = optional;
    node.block = block;
    node.word = word;
    node.element_block = element_block;
    node.length_name = text(length_name);
    inner(NodeKind::Sequence, name, node, body);
  }

  void reference() {
    SchemaNode node;
    node.kind = NodeKind::Reference;
    add("", node);
  }

  [[nodiscard]] Program& program() { return program_; }

 private:
  [[nodiscard]] std::uint16_t node_count() const { return static_cast<std::uint16_t>(program_.nodes.size()); }

  SchemaNode& add(std::string_view name, SchemaNode node) {
    node.name = text(name);
    program_.nodes.push_back(node);
    program_.nodes.back().end = node_count();
    return program_.nodes.back();
  }

  void inner(NodeKind kind, std::string_view name, SchemaNode node, const std::function<void()>& body) {
    node.kind = kind;
    const std::size_t index = program_.nodes.size();
    add(name, node);
    body();
    program_.nodes[index].end = node_count();
  }

  Program program_;
};

/// Records of a program, made by the builder that engines use.
class RecordMaker {
 public:
  explicit RecordMaker(const Program& program)
      : program_(program), builder_(program), sink_(program.max_record_slots, Keep{&record_}) {
    builder_.begin(sink_, words_);
  }

  RecordMaker& open(std::uint16_t block, std::size_t base = 0) {
    block_ = block;
    base_ = base;
    ok_ = builder_.open_block(program_.blocks[block], base) && ok_;
    return *this;
  }
  RecordMaker& open_root(std::uint16_t template_index) {
    template_index_ = template_index;
    return open(program_.templates[template_index].root_block, kHeaderWords);
  }
  RecordMaker& reference(std::uint16_t template_index) {
    block_ = program_.templates[template_index].root_block;
    base_ = kReferenceWords;
    ok_ = builder_.open_reference(program_.blocks[block_], template_index) && ok_;
    return *this;
  }
  RecordMaker& put(std::uint8_t word, std::uint64_t value) {
    builder_.store(place(word), value);
    return *this;
  }
  RecordMaker& put(std::uint8_t word, std::string_view value) {
    ok_ = builder_.store(place(word), value) && ok_;
    return *this;
  }
  RecordMaker& put_decimal(std::uint8_t word, std::int64_t mantissa, std::int64_t exponent) {
    builder_.store(place(word), static_cast<std::uint64_t>(exponent));
    builder_.store(place(static_cast<std::uint8_t>(word + 1)), static_cast<std::uint64_t>(mantissa));
    return *this;
  }
  /// Counts until the record is committed.
  Header& header() { return header_; }

  /// Empty if the record did not fit.
  std::vector<Slot> commit() {
    words_ = header_.words();
    if (!ok_ || !builder_.commit(template_index_, 0, 0)) return {};
    return record_;
  }
  std::vector<Slot> commit_event(const Event& event) {
    builder_.write_event(sink_, header_, event, 0);
    return record_;
  }

 private:
  struct Keep {
    std::vector<Slot>* record;
    void operator()(std::span<const Slot> slots) const { record->assign(slots.begin(), slots.end()); }
  };

  [[nodiscard]] WordPlace place(std::uint8_t word) const { return WordPlace::of(program_.blocks[block_], base_, word); }

  const Program& program_;
  Header header_;
  Header::Words words_;
  Builder builder_;
  std::vector<Slot> record_;
  BufferSink<Keep> sink_;
  std::uint16_t template_index_ = 0;
  std::uint16_t block_ = 0;
  std::size_t base_ = 0;
  bool ok_ = true;
};

}  // namespace stopbit::record::test
