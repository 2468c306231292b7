#include "microcode/gen/isa_page.hpp"

#include <array>
#include <string_view>

#include "microcode/base/hex.hpp"
#include "microcode/isa/isa.hpp"

namespace stopbit::gen {
namespace {

using isa::DataOp;
using isa::DataOpInfo;

constexpr std::string_view kIntroduction = R"(# Instruction set

Made from `opcodes.def` by `stopbit_isa_page`; do not edit. [`execution.md`](../../execution.md) defines how a program runs.

An instruction is a 64-bit word: a data-op that takes one field from the stream, and a control-op that says what happens beside it.

| bits | column | what |
|---|---|---|
| 0..7 | data-op | operator in bits 5..7, type in bits 1..4, presence in bit 0 (0 mandatory, 1 optional); special ops: operator 7 and a code below 4 in bits 0..4 |
| 8..15 | word | of the open block, where the value goes; 255 = none |
| 16..27 | slot | of the dictionary; PMAP: the most presence bits the segment can use; BIT: position * 64 + width of the field |
| 28..39 | constant | index of the constant table, 0 = none; PMAP: number of the segment |
| 40..43 | control-op | see below |
| 44..57 | target | address, block or table, as the control-op says |
| 58 | pair | may issue in the same cycle as the next instruction; software ignores it |
| 59..60 | known bit | of the presence bit that the instruction takes: 0 it is in the map, 1 it is clear, 2 it is set; 1 and 2 occur in profile programs only |
| 61 | predicate | a hint: the presence bit is hard to predict, so native code should not branch on it |
| 62..63 | | zero |

Columns that an instruction does not use are zero (word: 255).

| | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
| operator | NON none | CON constant | DEF default | COP copy | INC increment | DEL delta | TAI tail | BIT, special | | | | |
| type | U32 | S32 | U64 | S64 | IEXP | IMAN | DEXP | DMAN | ASCII | UNI | BYTES | BITS |

`IEXP`, `IMAN`: exponent and mantissa with operators of their own. `DEXP`, `DMAN`: of a decimal with one operator or none.
`BITS`: a bit group, one entity of as many bytes as the bits in its constant (`bits`) need. `BIT`, which has the operator code of the special ops but their
types only below U64, takes one of its fields.

## Data-ops

Columns: *code* of the data-op; *bit*, the presence bit it takes: its own, or its own if the exponent is present; *slot*, whether it uses one;
*constant*: a limit, an initial value (and a limit), or a value that must be there. The others say what hardware needs:
*window*, bytes taken from the input in one cycle; *dictionary* and *strings*, reads + writes of the dictionary and the string memory;
*next waits for*, what holds the next instruction; *cycles*, with the bytes on the *wire* and of the *result*.

| data-op | code | bit | slot | constant | window | dictionary | strings | next waits for | cycles | meaning |
|---|---|---|---|---|---|---|---|---|---|---|
)";

std::string_view text(isa::BitUse use) {
  switch (use) {
    case isa::BitUse::None: return "";
    case isa::BitUse::Own: return "own";
    case isa::BitUse::IfExponent: return "if exponent";
  }
  return "";
}

std::string_view text(isa::ConstantUse use) {
  switch (use) {
    case isa::ConstantUse::Never: return "";
    case isa::ConstantUse::LimitOnly: return "limit";
    case isa::ConstantUse::Initial: return "initial";
    case isa::ConstantUse::Value: return "value";
  }
  return "";
}

std::string_view text(isa::Wait wait) {
  switch (wait) {
    case isa::Wait::Nothing: return "";
    case isa::Wait::ExponentState: return "exponent's state";
    case isa::Wait::StringLength: return "string's length";
    case isa::Wait::StringCopy: return "string copied";
    case isa::Wait::VectorLength: return "vector's length";
    case isa::Wait::PresenceMap: return "presence map";
    case isa::Wait::Dispatch: return "dispatch";
  }
  return "";
}

std::string_view text(isa::TargetUse use) {
  switch (use) {
    case isa::TargetUse::None: return "";
    case isa::TargetUse::Address: return "address";
    case isa::TargetUse::Block: return "block";
    case isa::TargetUse::Table: return "table";
  }
  return "";
}

/// "1 + 0", or nothing if the instruction does neither.
std::string ports(unsigned reads, unsigned writes) {
  return reads + writes == 0 ? "" : std::to_string(reads) + " + " + std::to_string(writes);
}

void append_row(std::string& out, std::initializer_list<std::string> cells) {
  for (const std::string& cell : cells) {
    out += '|';
    if (!cell.empty()) out += ' ' + cell;
    out += ' ';
  }
  out += "|\n";
}

void append_data_ops(std::string& out) {
  for (unsigned code = 0; code < 256; ++code) {
    const DataOpInfo* op = isa::info(static_cast<DataOp>(code));
    if (op == nullptr) continue;
    const bool window = op->window_bytes != 0;
    append_row(out, {'`' + std::string(op->mnemonic) + '`', hex_text(code, 2), std::string(text(op->bit)),
                     op->uses_slot ? "yes" : "", std::string(text(op->constant)),
                     window ? std::to_string(op->window_bytes) : "", ports(op->dictionary_reads, op->dictionary_writes),
                     ports(op->string_reads, op->string_writes), std::string(text(op->wait)), std::string(op->cycles),
                     std::string(op->meaning)});
  }
}

void append_control_ops(std::string& out) {
  for (unsigned code = 0; code < 16; ++code) {
    const isa::ControlOpInfo* op = isa::info(static_cast<isa::ControlOp>(code));
    if (op == nullptr) continue;
    append_row(out, {'`' + std::string(op->mnemonic) + '`', std::to_string(code), std::string(text(op->target)),
                     std::string(op->cycles), std::string(op->meaning)});
  }
}

void append_capabilities(std::string& out) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::string_view name = isa::capability_name(std::uint64_t{1} << bit);
    if (!name.empty()) append_row(out, {std::to_string(bit), std::string(name)});
  }
}

}  // namespace

std::string isa_page() {
  std::string out(kIntroduction);
  append_data_ops(out);
  out += "\n## Control-ops\n\nCycles are those beyond the data-op's.\n\n";
  out += "| control-op | code | target | cycles | meaning |\n|---|---|---|---|---|\n";
  append_control_ops(out);
  out +=
      "\n## Capabilities\n\nAn image lists what it needs, a device what it can do. An image that needs more is "
      "refused.\n\n";
  out += "| bit | what |\n|---|---|\n";
  append_capabilities(out);
  return out;
}

}  // namespace stopbit::gen
