#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "decoder/record/builder.hpp"
#include "decoder/record/json_value.hpp"
#include "decoder/record/reader.hpp"
#include "decoder/record/schema.hpp"
#include "microcode/isa/isa.hpp"

namespace stopbit::record {

/// Reads lines as JsonPrinter prints them, or as people write them, into records.
///
/// - Keys in any order; null means the same as no key. "template" or "id" may be missing, not both. A
///   "header", with the time and place at which the message was received, is left alone.
/// - Mandatory constants may be left out; if given, they must be right.
/// - Where a template has a name twice in one place, so may the line.
/// - Values as JsonPrinter prints them, or values that the rules of FAST 1.1 convert:
///   numbers to strings and back, decimals without a fraction to integers.
///   Enumerations also by number.
/// - A line with the key "error" or "event" is an event, which cannot be sent: it is recognised, not read.
///
/// Lines are not trusted: memory and work are bounded and in proportion to the line. The schema's program must outlive
/// the reader. One thread per reader.
class JsonReader {
 public:
  enum class Line : std::uint8_t { Message, Event, Error };
  struct Problem {
    ErrorCode code = ErrorCode::None;  ///< None if the line is not JSON or does not have the form above.
    std::string message;               ///< One sentence without a full stop; with template, field and XML line.
    std::size_t offset = 0;            ///< Byte of the line.
  };

  explicit JsonReader(const Schema& schema);

  /// `sink` receives the record of a message. `line` is without its line end.
  [[nodiscard]] Line read(std::string_view line, RecordSink& sink);

  /// After Line::Error.
  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }

  /// Valid after Line::Message. Returns the byte of the line from which a word of the record was read, given the slot
  /// in which its block begins; if the line has no such value (or `word` is kNoWord), the byte of the object for which
  /// the block was opened. Used to locate errors that a caller finds in the record.
  [[nodiscard]] std::size_t offset_of(std::size_t slot, std::uint8_t word) const noexcept;

 private:
  /// Nodes with the same parent: those of a template, a group or an element.
  struct Scope {
    struct Nodes {
      std::uint32_t first = 0;
      std::uint32_t last = 0;
    };
    std::unordered_map<std::string, Nodes> by_key;  ///< same_key_ leads from the first to the last.
    std::uint32_t children = 0;
  };
  /// The line's value for a child of an open scope.
  struct Member {
    std::uint32_t value = 0;      ///< Index of the value; 0 = none.
    std::uint32_t next_node = 0;  ///< Of the first node of a key: the node that the key means next.
  };
  /// Where a word of the record comes from.
  struct Origin {
    std::uint32_t slot = 0;            ///< In which its block begins.
    std::uint32_t offset = 0;          ///< Byte of the line.
    std::uint8_t word = isa::kNoWord;  ///< kNoWord: the block itself.
  };
  using Elements = std::unordered_map<std::string_view, std::uint32_t>;

  bool message(std::size_t object, const Template*& item);
  const Template* find_template(std::size_t object, std::size_t name, std::size_t id);
  void add_scopes(const Template& item, const std::vector<std::string>& keys);
  [[nodiscard]] const Scope& scope_of(const SchemaNode& node) const {
    return scopes_[schema_.program().templates.size() + schema_.index_of(node)];
  }
  [[nodiscard]] std::uint16_t template_index(const Template& item) const {
    return static_cast<std::uint16_t>(&item - schema_.program().templates.data());
  }
  bool fields(const Scope& scope, std::size_t first, std::size_t end, std::size_t object);
  bool match(const Scope& scope, std::size_t object, std::size_t frame);
  bool node(const SchemaNode& node, std::size_t value, std::size_t around);
  bool group(const SchemaNode& node, std::size_t value, std::size_t around);
  bool sequence(const SchemaNode& node, std::size_t value, std::size_t around);
  bool reference(const SchemaNode& node, std::size_t value);
  bool field(const SchemaNode& node, std::size_t value, std::size_t around);
  bool constant(const SchemaNode& node, std::size_t value);

  /// The value in the type of the node; the bytes of a text are in text_.
  bool convert(const SchemaNode& node, std::size_t value, Value& out);
  bool convert_number(const SchemaNode& node, std::size_t value, Value& out);
  bool convert_text(const SchemaNode& node, std::size_t value, Value& out);
  bool convert_enum(const SchemaNode& node, std::size_t value, Value& out);
  bool convert_set(const SchemaNode& node, std::size_t value, Value& out);
  const Elements& elements(const SchemaNode& node);

  bool open_root(const Template& item, bool is_reference, std::size_t value);
  bool open_block(std::uint16_t block, std::size_t base, std::size_t value);
  /// The block of the node's word, if it is not the open one.
  bool open_block_of(const SchemaNode& node, std::size_t value) {
    return node.block == open_block_ || open_block(node.block, 0, value);
  }
  [[nodiscard]] WordPlace place(const SchemaNode& node, std::size_t word) const {
    return WordPlace::of(schema_.block(node.block), base_, static_cast<std::uint8_t>(word));
  }

  void remember_origin(std::uint8_t word, std::size_t value) {
    origins_.push_back({block_slot_, json_.at(value).offset, word});
  }

  /// All return false. A message about a node includes its template and line.
  bool fail(std::size_t offset, ErrorCode code, std::string message);
  bool fail(std::size_t offset, const std::string& what_template);
  bool fail(std::size_t value, const SchemaNode& node, ErrorCode code, std::string_view detail = {});

  Schema schema_;
  std::vector<Scope> scopes_;            ///< Of the templates, then of the nodes.
  std::vector<std::uint32_t> same_key_;  ///< By node: the next with its key in its scope; 0 = none.
  std::vector<std::uint32_t> child_;     ///< By node: its number among the children of its parent.
  std::vector<bool> has_own_word_;       ///< By node: an optional group whose witness is no field's word.
  std::unordered_map<std::uint32_t, std::uint16_t> template_of_id_;
  std::unordered_map<std::string_view, std::uint16_t> template_of_name_;
  std::unordered_map<std::uint16_t, Elements> elements_;  ///< By type_info, as they are met.

  JsonLine json_;
  Builder builder_;
  std::vector<Member> members_;  ///< Of the open scopes, by child.
  std::string text_;
  std::string key_;
  const Template* template_ = nullptr;  ///< Around the value that is read.
  std::uint16_t open_block_ = kNoBlock;
  std::size_t base_ = 0;
  std::uint32_t block_slot_ = 0;  ///< In which the open block begins.
  std::vector<Origin> origins_;   ///< By slot.
  std::size_t references_ = 0;
  Problem problem_;
};

}  // namespace stopbit::record
