#include "tests/property/projection.hpp"

#include <memory>
#include <set>
#include <string_view>

#include "decoder/record/reader.hpp"
#include "decoder/record/text.hpp"
#include "tests/lib/engines.hpp"
#include "tests/lib/recording_sink.hpp"

namespace stopbit::cases {
namespace {

/// Both programs have the same nodes, so that the number of its node identifies a value.
class Shown : public record::Visitor {
 public:
  Shown(const record::Schema& schema, const Program& projected) : schema_(schema), projected_(projected) {}

  void field(const SchemaNode& node, const record::Value& value) {
    if (!is_stored(node)) return;
    name("value", node);
    record::append_unsigned(text_, value.bits);
    text_ += '/';
    record::append_signed(text_, value.exponent);
    text_ += '/';
    text_ += value.bytes;
  }
  void begin_group(const SchemaNode& node) { show("group", node); }
  void end_group(const SchemaNode& node) { show("end of group", node); }
  void begin_sequence(const SchemaNode& node, std::uint32_t count) {
    if (!is_stored(node)) return;
    name("sequence", node);
    record::append_unsigned(text_, count);
  }
  void begin_element(const SchemaNode& node, std::uint32_t /*index*/) { show("element", node); }
  void end_sequence(const SchemaNode& node) { show("end of sequence", node); }
  void begin_reference(const SchemaNode& node, const Template& item) {
    show("reference", node);
    text_ += schema_.name(item.name);
  }
  void end_reference(const SchemaNode& node) { show("end of reference", node); }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  [[nodiscard]] bool is_stored(const SchemaNode& node) const {
    return !projected_.nodes[schema_.index_of(node)].unstored;
  }
  void name(std::string_view what, const SchemaNode& node) {
    text_ += '\n';
    text_ += what;
    text_ += ' ';
    record::append_unsigned(text_, schema_.index_of(node));
    text_ += ' ';
  }
  void show(std::string_view what, const SchemaNode& node) {
    if (is_stored(node)) name(what, node);
  }

  const record::Schema& schema_;
  const Program& projected_;
  std::string text_;
};

std::string shown(const record::Schema& schema, const Program& projected, const Record& record) {
  const record::HeaderView header(record[0]);
  std::string text = "template " + std::to_string(header.template_index());
  if (header.is_event()) return text;  // compared by the outcome
  Shown visitor(schema, projected);
  record::Reader reader(schema);
  if (const record::ReadError error = reader.read(record, visitor); error != record::ReadError::None) {
    return "not readable: " + std::string(record::error_text(error));
  }
  return text + " flags " + std::to_string(header.flags()) + visitor.text();
}

/// A record that is shorter meets the limits of records later.
bool is_of_length(ErrorCode code) {
  return code == ErrorCode::X4 || code == ErrorCode::X8;
}

std::string place(const record::Schema& schema, const Outcome& outcome) {
  std::string text = std::string(code_text(outcome.error)) + " at " + std::to_string(outcome.offset_bytes) + " after " +
                     std::to_string(outcome.messages) + " messages, in template " +
                     std::to_string(outcome.template_index);
  const SchemaNode* const owner = schema.owner(outcome.template_index, outcome.block, outcome.word);
  if (owner != nullptr) text += ", node " + std::to_string(schema.index_of(*owner));
  if (outcome.dropped) text += ", dropped";
  return text;
}

struct Side {
  record::Schema schema;
  std::unique_ptr<Engine> engine;
  RecordingSink sink;
  std::size_t seen = 0;
};

/// What the datagram's records have in common, a text per record.
std::vector<std::string> take(Side& side, const Program& projected) {
  std::vector<std::string> texts;
  const std::vector<Record>& records = side.sink.records();
  for (; side.seen < records.size(); ++side.seen) texts.push_back(shown(side.schema, projected, records[side.seen]));
  return texts;
}

}  // namespace

std::string random_fields(const Program& whole, Random& random) {
  std::vector<std::string> names;
  std::vector<std::string> path;
  for (const Template& item : whole.templates) {
    std::vector<std::size_t> open;
    const auto add = [&](std::string_view name, std::uint32_t id) {
      if (name.empty()) return;
      names.emplace_back(name);
      std::string full(random.chance(20) ? "*" : random.chance(20) ? std::to_string(item.id) : whole.name(item.name));
      for (const std::size_t around : open) {
        full += '/';
        full += random.chance(20) ? "*" : whole.name(whole.nodes[around].name);
      }
      names.push_back(full + '/' + std::string(name));
      if (id != 0) names.push_back(std::to_string(id));
    };
    for (std::size_t i = item.first_node; i < item.end_node; ++i) {
      while (!open.empty() && whole.nodes[open.back()].end == i) open.pop_back();
      const SchemaNode& node = whole.nodes[i];
      add(whole.name(node.name), node.id);
      if (node.kind == NodeKind::Sequence) add(whole.name(node.length_name), node.length_id);
      if (node.kind == NodeKind::Group || node.kind == NodeKind::Sequence) open.push_back(i);
    }
  }
  if (names.empty()) return {};
  const auto percent = static_cast<unsigned>(random.below(60));
  std::string list = random.pick(names);
  for (const std::string& name : names) {
    if (random.chance(percent)) list += ',' + name;
  }
  return list;
}

std::string projection_problem(const Program& whole, const Program& projected, const EngineOptions& options,
                               const std::vector<std::vector<std::byte>>& datagrams) {
  const Result<record::Schema> schema_of_whole = record::Schema::make(whole);
  const Result<record::Schema> schema_of_projected = record::Schema::make(projected);
  if (!schema_of_whole || !schema_of_projected) return "a schema is refused";
  std::vector<TestedEngine> engines_of_whole = make_engines(whole, options);
  std::vector<TestedEngine> engines_of_projected = make_engines(projected, options);
  for (std::size_t kind = 0; kind < engines_of_whole.size(); ++kind) {
    Side left{schema_of_whole.value(), std::move(engines_of_whole[kind].engine), RecordingSink(whole)};
    Side right{schema_of_projected.value(), std::move(engines_of_projected[kind].engine), RecordingSink(projected)};
    for (std::size_t i = 0; i < datagrams.size(); ++i) {
      PacketInfo info;
      info.number = i + 1;
      const Outcome a = left.engine->decode(datagrams[i], info, left.sink);
      if (is_of_length(a.error)) break;  // from here on the dictionaries may differ
      const Outcome b = right.engine->decode(datagrams[i], info, right.sink);
      const std::string where = std::string(engines_of_whole[kind].name) + ", datagram " + std::to_string(i + 1) + ": ";
      const std::string expected = place(left.schema, a);
      const std::string found = place(right.schema, b);
      if (expected != found) return where + expected + "\n  with fields left out: " + found;
      if (a.fields != b.fields) return where + "the numbers of fields differ";
      const std::vector<std::string> values = take(left, projected);
      const std::vector<std::string> stored = take(right, projected);
      if (values.size() != stored.size()) return where + "the numbers of records differ";
      for (std::size_t k = 0; k < values.size(); ++k) {
        if (values[k] != stored[k]) return where + values[k] + "\n--- with fields left out ---\n" + stored[k];
      }
    }
    if (!right.sink.problems().empty()) return right.sink.problems().front();
  }
  return {};
}

}  // namespace stopbit::cases
