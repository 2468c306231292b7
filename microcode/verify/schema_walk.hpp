#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "microcode/verify/findings.hpp"

namespace stopbit::verify {

/// The actions of a reader of records at the nodes, in the order in which it walks a template's tree. Code must do the
/// same in the same order, or records would not be what the schema says.
struct SchemaStep {
  enum class Kind : std::uint8_t {
    Value,  ///< Takes the word of a field (of a decimal, the exponent).
    Mantissa,
    Length,  ///< Takes the length of a sequence; its elements follow, up to LoopEnd.
    LoopEnd,
    Witness,  ///< Takes the own word of an optional group; the group follows, up to GroupEnd.
    Group,    ///< The same for a group whose word belongs to a field inside.
    GroupEnd,
    Reference,
  };
  Kind kind = Kind::Value;
  std::uint16_t node = 0;
  bool operator==(const SchemaStep&) const = default;
};

/// The steps of every template, and a cursor over those of one. Relies on check_schema.
class SchemaWalk {
 public:
  SchemaWalk(const Program& program, const WordClaims& claims);

  /// Goes to the first step of the template.
  void begin(std::size_t template_index) {
    at_ = first_[template_index];
    end_ = first_[template_index + 1];
  }
  /// Null after the last step.
  [[nodiscard]] const SchemaStep* next() const { return at_ < end_ ? &steps_[at_] : nullptr; }
  /// The next step at something that is stored, or null: what is not stored is passed over, and its end is too.
  [[nodiscard]] const SchemaStep* next_stored() const {
    return at_ < end_ && next_stored_[at_] < end_ ? &steps_[next_stored_[at_]] : nullptr;
  }
  /// Goes on if the next step is this one.
  bool take(SchemaStep step) {
    if (next() == nullptr || *next() != step) return false;
    ++at_;
    return true;
  }

 private:
  void add_template(const Program& program, const WordClaims& claims, const Template& item);

  std::vector<SchemaStep> steps_;
  std::vector<std::size_t> next_stored_;  ///< By step: the first one from there at a node that is stored.
  std::vector<std::size_t> first_;        ///< By template, and one more.
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace stopbit::verify
