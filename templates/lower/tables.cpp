#include "templates/lower/tables.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stopbit::templates::lower {
namespace {

using isa::Instruction;

/// Instructions that may issue in one cycle with a neighbour: integers and decimals.
bool is_single_cycle(const Instruction& instruction) {
  return !isa::is_special(instruction.op) && !isa::is_string(isa::type_of(instruction.op)) &&
         !isa::is_bits(instruction.op) && !isa::is_bit(instruction.op);
}

bool uses_slot(const Instruction& instruction) {
  const isa::DataOpInfo* info = isa::info(instruction.op);
  return info != nullptr && info->uses_slot;
}

}  // namespace

TextRef NameTable::intern(std::string_view text) {
  if (text.empty()) return {};
  const auto found = places_.find(text);
  if (found != places_.end()) return found->second;
  const TextRef ref{static_cast<std::uint32_t>(pool_.size()), static_cast<std::uint32_t>(text.size())};
  pool_ += text;
  places_.emplace(text, ref);
  return ref;
}

std::uint16_t ConstantTable::add(const Constant& constant) {
  if (constant == Constant()) return isa::kNoConstant;
  const auto [place, is_new] = index_.try_emplace(key(constant), static_cast<std::uint16_t>(constants_.size()));
  if (is_new) constants_.push_back(constant);
  return place->second;
}

std::uint16_t ConstantTable::add_bytes(Constant constant, std::string_view bytes) {
  auto found = byte_places_.find(bytes);
  if (found == byte_places_.end()) {
    const std::uint64_t offset = bytes.empty() ? 0 : pool_.size();
    found = byte_places_.emplace(bytes, offset | static_cast<std::uint64_t>(bytes.size()) << 32).first;
    pool_ += bytes;
  }
  constant.kind = ValueKind::Bytes;
  constant.value = found->second;
  return add(constant);
}

std::uint16_t ConstantTable::add_pair(const Constant& exponent, const Constant& mantissa) {
  const auto [place, is_new] =
      pairs_.try_emplace({key(exponent), key(mantissa)}, static_cast<std::uint16_t>(constants_.size()));
  if (is_new) {
    constants_.push_back(exponent);
    constants_.push_back(mantissa);
  }
  return place->second;
}

void ConstantTable::move_to(Program& program) {
  program.constants = std::move(constants_);
  program.constant_pool = std::move(pool_);
}

std::uint16_t SlotTable::find(const Key& key, bool holds_string) {
  const auto [place, is_new] = index_.try_emplace(key, static_cast<std::uint16_t>(entries_.size() + 1));
  if (is_new) entries_.push_back({key, false});
  Entry& entry = entries_[place->second - 1U];
  entry.holds_string = entry.holds_string || holds_string;
  return place->second;
}

std::vector<std::uint16_t> number_slots(std::vector<Instruction>& code, std::size_t slots) {
  // Colour: each slot the other one than its neighbour before, or the one used less.
  constexpr int kNone = -1;
  std::vector<int> colour(slots + 1, kNone);
  std::array<std::vector<std::uint16_t>, 2> by_colour;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!uses_slot(code[i]) || code[i].slot > slots || code[i].slot == 0 || colour[code[i].slot] != kNone) continue;
    int choice = by_colour[1].size() <= by_colour[0].size() ? 1 : 0;
    if (i > 0 && is_single_cycle(code[i]) && is_single_cycle(code[i - 1]) && uses_slot(code[i - 1])) {
      choice = 1 - colour[code[i - 1].slot];
    }
    colour[code[i].slot] = choice;
    by_colour[static_cast<std::size_t>(choice)].push_back(code[i].slot);
  }

  // Number: odd ones are 1, 3, ...; when one colour is used up, the rest of the other fills the table.
  std::vector<std::uint16_t> old_number(slots + 1, 0);
  std::vector<std::uint16_t> new_number(slots + 1, 0);
  std::array<std::size_t, 2> next = {0, 0};
  for (std::size_t number = 1; number <= slots; ++number) {
    std::size_t wanted = number % 2;
    if (next[wanted] == by_colour[wanted].size()) wanted = 1 - wanted;
    if (next[wanted] == by_colour[wanted].size()) break;
    const std::uint16_t old = by_colour[wanted][next[wanted]++];
    old_number[number] = old;
    new_number[old] = static_cast<std::uint16_t>(number);
  }
  for (Instruction& instruction : code) {
    if (uses_slot(instruction)) instruction.slot = new_number[instruction.slot];
  }
  for (std::size_t i = 0; i + 1 < code.size(); ++i) {
    code[i].pair = (i == 0 || !code[i - 1].pair) && isa::may_pair(code[i], code[i + 1]);
  }
  return old_number;
}

}  // namespace stopbit::templates::lower
