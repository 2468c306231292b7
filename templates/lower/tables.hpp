#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "microcode/program.hpp"
#include "templates/ast/ast.hpp"
#include "templates/report.hpp"

/// The tables of a program that hold each thing once. An excess is reported once (T1).
namespace stopbit::templates::lower {

/// Names of schema and slots.
class NameTable {
 public:
  TextRef intern(std::string_view text);
  [[nodiscard]] std::string take() { return std::move(pool_); }
  [[nodiscard]] std::size_t bytes() const { return pool_.size(); }

 private:
  std::string pool_;
  std::map<std::string, TextRef, std::less<>> places_;
};

/// Initial values, constants and limits.
class ConstantTable {
 public:
  ConstantTable() : constants_(1) {}

  /// Index of the entry; 0 if it would be empty.
  std::uint16_t add(const Constant& constant);
  /// Adds `bytes` to the pool; `constant` gets the position.
  std::uint16_t add_bytes(Constant constant, std::string_view bytes);
  /// Index of the first of two adjacent entries, for a decimal.
  std::uint16_t add_pair(const Constant& exponent, const Constant& mantissa);

  [[nodiscard]] std::size_t size() const { return constants_.size(); }
  [[nodiscard]] std::size_t bytes() const { return pool_.size(); }
  void move_to(Program& program);

 private:
  using Key = std::tuple<std::uint64_t, ValueKind, LimitKind, std::uint32_t>;
  static Key key(const Constant& constant) {
    return {constant.value, constant.kind, constant.limit_kind, constant.limit};
  }

  std::vector<Constant> constants_;
  std::string pool_;
  std::map<std::string, std::uint64_t, std::less<>> byte_places_;
  std::map<Key, std::uint16_t> index_;
  std::map<std::pair<Key, Key>, std::uint16_t> pairs_;
};

/// Dictionary slots, one per dictionary and key. Numbers are given at the end, by `number_slots`.
class SlotTable {
 public:
  enum class Part : std::uint8_t { Whole, Exponent, Mantissa, WholeMantissa, Length };

  struct Key {
    std::string dictionary;  ///< "global", "template:A", "type:B", "user:C"; unique, whatever the names hold.
    std::string dictionary_space;
    ast::Name name;
    Part part = Part::Whole;
    auto operator<=>(const Key&) const = default;
  };

  struct Entry {
    Key key;
    bool holds_string = false;
  };

  /// Number of the slot in order of first use, counted from 1: slot 0 is the template identifier's.
  std::uint16_t find(const Key& key, bool holds_string);
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
  std::map<Key, std::uint16_t> index_;
};

/// Renumbers the slots of `code` so that neighbouring integer and decimal instructions get different parity where that
/// is possible, and sets the pair bits. @returns for each slot number but 0, the number it had before.
std::vector<std::uint16_t> number_slots(std::vector<isa::Instruction>& code, std::size_t slots);

}  // namespace stopbit::templates::lower
