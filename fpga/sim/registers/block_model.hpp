#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "host/device/generated/network_registers.hpp"

namespace stopbit::sim {

/// The registers of a block as fpga/registers/README.md describes them, a cycle at a time: a reference that is written
/// without the generator, from the list of registers alone. Addresses are those of the block's first instance.
class BlockModel {
 public:
  using Row = device::RegisterRow;
  using Kind = device::RegisterKind;

  struct Access {
    bool write = false;
    std::uint32_t address = 0;
    std::uint32_t data = 0;
  };
  /// What the unit gives in a cycle, by address; a register that is left out gives nothing (Kept) or 0.
  using Inputs = std::map<std::uint32_t, std::uint64_t>;
  struct Command {
    std::uint32_t address = 0;
    std::uint32_t index = 0;
    std::uint64_t data = 0;
  };
  struct Answer {
    bool refused = false;
    std::optional<std::uint32_t> data;  ///< Nothing if it may be anything.
  };

  explicit BlockModel(std::string_view block) {
    for (const Row& row : device::network_registers::kRegisters) {
      if (row.block == block && row.index == 0) rows_.push_back(&row);
    }
  }

  [[nodiscard]] const std::vector<const Row*>& rows() const { return rows_; }
  [[nodiscard]] std::uint64_t written(const Row& row) const { return value(values_, row.address); }

  /// As if so much had been counted.
  void set_counter(std::uint32_t address, std::uint64_t value) { values_[address] = value; }
  /// Everything but tables.
  void reset() {
    values_.clear();
    held_.clear();
    lows_.clear();
  }

  /// What leaves the block in the cycle of an access.
  [[nodiscard]] std::optional<Command> command(const Access& access) const {
    const Row* row = find(access.address);
    if (!access.write || row == nullptr || (row->kind != Kind::Command && row->kind != Kind::Table)) return {};
    return Command{row->address, (access.address - row->address) / 4, access.data & mask(row->width)};
  }

  /// A cycle with or without an access.
  std::optional<Answer> cycle(const std::optional<Access>& access, const Inputs& inputs) {
    std::optional<Answer> answer;
    const Row* at = access ? find(access->address) : nullptr;
    if (access) answer = access->write ? Answer{!is_writable(at), {}} : read(at, access->address, inputs);
    const bool snaps = access && access->write && at != nullptr && at->kind == Kind::Command && at->snapshot;
    for (const Row* row : rows_) {
      const bool is_here = row == at && access->address == row->address;
      const bool writes = is_here && access->write;
      const bool reads = is_here && !access->write;
      std::uint64_t& now = values_[row->address];
      const std::uint64_t in = value(inputs, row->address);
      switch (row->kind) {
        case Kind::Counter: {
          if (row->snapshot && snaps) held_[row->address] = now;
          const bool clears =
              row->clear == device::RegisterClear::Read ? reads : row->clear == device::RegisterClear::Write && writes;
          const std::uint64_t before = clears ? 0 : now;
          const std::uint64_t room = mask(row->width) - before;
          now = row->saturates && in > room ? mask(row->width) : (before + in) & mask(row->width);
          break;
        }
        case Kind::Sticky:
          if (writes) now &= ~std::uint64_t{access->data};
          now |= in;
          break;
        case Kind::Kept:
          if (inputs.contains(row->address)) now = in;
          break;
        default: break;
      }
    }
    if (access && access->write && at != nullptr) write(*at, *access);
    return answer;
  }

 private:
  [[nodiscard]] static std::uint64_t mask(unsigned width) {
    return width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  }
  [[nodiscard]] static std::uint64_t value(const std::map<std::uint32_t, std::uint64_t>& of, std::uint32_t address) {
    const auto found = of.find(address);
    return found == of.end() ? 0 : found->second;
  }
  [[nodiscard]] const Row* find(std::uint32_t address) const {
    for (const Row* row : rows_) {
      if (address % 4 == 0 && address >= row->address && address < row->address + row->bits / 8 * row->words)
        return row;
    }
    return nullptr;
  }
  [[nodiscard]] static bool is_writable(const Row* row) {
    if (row == nullptr) return false;
    switch (row->kind) {
      case Kind::Constant:
      case Kind::Read:
      case Kind::Kept: return false;
      case Kind::Counter: return row->clear == device::RegisterClear::Write;
      default: return true;
    }
  }
  Answer read(const Row* row, std::uint32_t address, const Inputs& inputs) {
    if (row == nullptr) return {true, 0};
    if (row->kind == Kind::Constant) return {false, row->value};
    if (row->kind == Kind::Command) return {false, 0};
    if (row->kind == Kind::Table) {
      const auto found = words_.find(address);
      return {false, found == words_.end() ? std::nullopt : std::optional(found->second)};
    }
    if (address != row->address) return {false, kept_};
    std::uint64_t now = row->kind == Kind::Read ? value(inputs, row->address) : value(values_, row->address);
    if (row->snapshot) now = value(held_, row->address);
    if (row->bits == 64) kept_ = static_cast<std::uint32_t>(now >> 32);
    return {false, static_cast<std::uint32_t>(now)};
  }
  void write(const Row& row, const Access& access) {
    if (row.kind == Kind::Table) words_[access.address] = access.data & static_cast<std::uint32_t>(mask(row.width));
    if (row.kind != Kind::Write) return;
    if (row.bits == 32) {
      values_[row.address] = access.data & mask(row.width);
    } else if (access.address == row.address) {
      lows_[row.address] = access.data;
    } else {
      values_[row.address] = (std::uint64_t{access.data} << 32 | value(lows_, row.address)) & mask(row.width);
    }
  }

  std::vector<const Row*> rows_;
  std::map<std::uint32_t, std::uint64_t> values_;
  std::map<std::uint32_t, std::uint64_t> held_;
  std::map<std::uint32_t, std::uint64_t> lows_;
  std::map<std::uint32_t, std::uint32_t> words_;
  std::optional<std::uint32_t> kept_;  ///< Upper half of what was read last.
};

}  // namespace stopbit::sim
