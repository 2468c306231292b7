#pragma once

#include <cstdint>
#include <string_view>

/// What a register is, as the lists of register trees say it (fpga/registers/README.md).
namespace stopbit::device {

enum class RegisterKind : std::uint8_t { Constant, Read, Kept, Write, Command, Sticky, Counter, Table };

/// Which access sets a counter to 0.
enum class RegisterClear : std::uint8_t { Never, Read, Write };

/// One register of one block. The text lives as long as the program.
struct RegisterRow {
  std::string_view block;
  std::uint32_t index = 0;  ///< Of the block, among those of its name.
  std::string_view name;
  std::uint32_t address = 0;  ///< Bytes; the upper half of a 64-bit register is 4 bytes further.
  std::uint8_t bits = 32;     ///< 32 or 64, as it is read and written.
  std::uint8_t width = 32;    ///< Of these, from bit 0 on, those that it has; the others read as 0.
  RegisterKind kind = RegisterKind::Read;
  bool saturates = false;  ///< Counter: stays at its highest value.
  bool snapshot = false;   ///< Counter: reads as of the last snapshot. Command: takes it.
  RegisterClear clear = RegisterClear::Never;
  std::uint32_t value = 0;  ///< Constant.
  std::uint32_t words = 1;  ///< Table: words of 32 bits, one after the other.
};

}  // namespace stopbit::device
