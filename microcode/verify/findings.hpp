#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "microcode/verify/verify.hpp"

namespace stopbit::verify {

/// "code[12]"
[[nodiscard]] inline std::string place(std::string_view table, std::size_t index) {
  return std::string(table) + '[' + std::to_string(index) + ']';
}

/// Collects broken rules. Keeps the first hundred: a hostile program breaks one in every entry.
class Findings {
 public:
  void add(std::string_view rule, std::string where, std::string message) {
    if (all_.size() < kMaxFindings) all_.push_back({rule, std::move(where), std::move(message)});
  }
  /// Adds the finding if `holds` is false; returns `holds`.
  bool require(bool holds, std::string_view rule, std::string_view table, std::size_t index, std::string_view message) {
    if (!holds) add(rule, place(table, index), std::string(message));
    return holds;
  }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] std::vector<Finding> take() { return std::move(all_); }

 private:
  static constexpr std::size_t kMaxFindings = 100;
  std::vector<Finding> all_;
};

/// Purpose of a word of a block, according to the schema.
enum class WordUse : std::uint8_t { Free, Field, Mantissa, Length, Witness };

struct WordClaim {
  WordUse use = WordUse::Free;
  std::uint16_t node = 0;
};

/// The claims of all words of all blocks, those that are not stored included.
class WordClaims {
 public:
  /// A node may be anything: what it claims outside the limits is refused later.
  explicit WordClaims(const Program& program) {
    std::vector<std::size_t> words;
    words.reserve(program.blocks.size());
    for (const Block& block : program.blocks) words.push_back(block.words);
    for (const SchemaNode& node : program.nodes) {
      if (node.block >= words.size() || node.word >= limits::kMaxBlockWords) continue;
      const bool is_decimal = node.kind == NodeKind::Field && node.type == FieldType::Decimal;
      const std::size_t end = node.word + (is_decimal ? std::size_t{2} : std::size_t{1});
      words[node.block] = std::max(words[node.block], std::min(end, limits::kMaxBlockWords));
    }
    first_.reserve(words.size() + 1);
    first_.push_back(0);
    for (const std::size_t count : words) first_.push_back(first_.back() + count);
    claims_.resize(first_.back());
  }
  /// Whether the word is within bounds.
  [[nodiscard]] bool covers(std::size_t block, std::size_t word) const {
    return word < first_[block + 1] - first_[block];
  }
  [[nodiscard]] WordClaim& at(std::size_t block, std::size_t word) { return claims_[first_[block] + word]; }
  [[nodiscard]] const WordClaim& at(std::size_t block, std::size_t word) const { return claims_[first_[block] + word]; }

 private:
  std::vector<std::size_t> first_;  ///< By block, and one more.
  std::vector<WordClaim> claims_;
};

// The phases. Each may rely on what those before it have checked; check() stops after the first that finds something.

/// Sizes, references into pools, and every table by itself.
void check_tables(const Program& program, Findings& findings);
/// The schema: trees of nodes, the words they claim.
void check_schema(const Program& program, WordClaims& claims, Findings& findings);
/// Every instruction by itself and with its neighbours.
void check_operands(const Program& program, Findings& findings);
/// Every path: stacks, blocks, words, bits, bytes. Fills `costs`.
void check_flow(const Program& program, const WordClaims& claims, std::vector<TemplateCost>& costs, Findings& findings);
/// Every profile program does what the general program does with its map.
void check_profile_programs(const Program& program, Findings& findings);

}  // namespace stopbit::verify
