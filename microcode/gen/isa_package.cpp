#include "microcode/gen/isa_package.hpp"

#include <cctype>
#include <string_view>

#include "microcode/base/error_code.hpp"
#include "microcode/isa/isa.hpp"

namespace stopbit::gen {
namespace {

constexpr std::string_view kHead =
    R"(/// The instruction set. Made from microcode/isa/opcodes.def and microcode/base/error_code.def by `stopbit_isa_package`;
/// do not edit.
package stopbit_isa_pkg;
  // An instruction: microcode/isa/generated/isa.md.
  typedef struct packed {
    logic [1:0]  zero;
    logic        predicate;
    logic [1:0]  known;
    logic        pair;
    logic [13:0] target;
    logic [3:0]  control;
    logic [11:0] constant;
    logic [11:0] slot;
    logic [7:0]  word;
    logic [7:0]  op;
  } insn_t;

)";

std::string constant(std::string_view prefix, std::string_view name, unsigned bits, unsigned value) {
  std::string out = "  localparam logic [" + std::to_string(bits - 1) + ":0] ";
  out.append(prefix).append(name);
  return out + " = " + std::to_string(bits) + "'d" + std::to_string(value) + ";\n";
}

/// A function of the data-op that is true for a set of them.
template <class Predicate>
std::string test(std::string_view name, std::string_view meaning, Predicate holds) {
  std::string rows;
  for (unsigned code = 0; code < 256; ++code) {
    const isa::DataOpInfo* op = isa::info(static_cast<isa::DataOp>(code));
    if (op == nullptr || !holds(*op)) continue;
    rows.append(rows.empty() ? "      OP_" : ",\n      OP_").append(op->mnemonic);
  }
  std::string out = "  // ";
  out.append(meaning).append("\n  function automatic logic ").append(name).append("(logic [7:0] op);\n    case (op)\n");
  out.append(rows).append(": return 1'b1;\n      default: return 1'b0;\n    endcase\n  endfunction\n\n");
  return out;
}

}  // namespace

std::string isa_package() {
  std::string out(kHead);
  out += "  // Operators: bits 7:5 of a data-op.\n";
  constexpr std::string_view kOperators[] = {"NON", "CON", "DEF", "COP", "INC", "DEL", "TAI", "SPECIAL"};
  for (unsigned i = 0; i < std::size(kOperators); ++i) out += constant("OPERATOR_", kOperators[i], 3, i);
  out += "\n  // Types: bits 4:1 of a data-op.\n";
  constexpr std::string_view kTypes[] = {"U32",  "S32",  "U64",   "S64", "IEXP",  "IMAN",
                                         "DEXP", "DMAN", "ASCII", "UNI", "BYTES", "BITS"};
  for (unsigned i = 0; i < std::size(kTypes); ++i) out += constant("TYPE_", kTypes[i], 4, i);
  out += "\n  // Data-ops.\n";
  for (unsigned code = 0; code < 256; ++code) {
    const isa::DataOpInfo* op = isa::info(static_cast<isa::DataOp>(code));
    if (op != nullptr) out += constant("OP_", op->mnemonic, 8, code);
  }
  out += "\n  // Control-ops.\n";
  for (unsigned code = 0; code < 16; ++code) {
    const isa::ControlOpInfo* op = isa::info(static_cast<isa::ControlOp>(code));
    if (op != nullptr) out += constant("CONTROL_", op->mnemonic == "-" ? "NEXT" : op->mnemonic, 4, code);
  }
  out += "\n  // Codes of errors.\n";
  for (unsigned code = 0; !code_text(static_cast<ErrorCode>(code)).empty() || code == 0; ++code) {
    out += constant("ERROR_", code == 0 ? "NONE" : code_text(static_cast<ErrorCode>(code)), 8, code);
  }
  out += "\n  // Capabilities: the bit of each.\n";
  for (unsigned bit = 0; bit < 64; ++bit) {
    std::string name(isa::capability_name(std::uint64_t{1} << bit));
    if (name.empty()) continue;
    for (char& c : name) c = c == ' ' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    out += "  localparam int unsigned CAPABILITY_" + name + " = " + std::to_string(bit) + ";\n";
  }
  out += '\n';
  out += test("takes_own_bit", "Whether the data-op takes a presence bit.",
              [](const isa::DataOpInfo& op) { return op.bit == isa::BitUse::Own; });
  out += test("takes_bit_if_exponent", "Whether it takes one if the exponent before it is present.",
              [](const isa::DataOpInfo& op) { return op.bit == isa::BitUse::IfExponent; });
  out += test("uses_slot", "Whether its slot column names a dictionary slot.",
              [](const isa::DataOpInfo& op) { return op.uses_slot; });
  out.pop_back();
  return out + "endpackage\n";
}

}  // namespace stopbit::gen
