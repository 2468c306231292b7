#include "host/nic/protocol/package.hpp"

#include <cctype>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace stopbit::nic::protocol {
namespace {

struct Constant {
  std::string_view name;
  unsigned value;
  std::string_view meaning;
};
struct Operation {
  std::string_view group;
  std::string_view name;
  unsigned code;
  std::string_view meaning;
};
struct Field {
  std::string_view name;
  unsigned high;
  unsigned low;
  std::string_view meaning;
};
struct Layout {
  std::string_view name;
  unsigned bits;
  std::string_view meaning;
  std::vector<Field> fields{};
};

constexpr Constant kSizes[] = {
#define STOPBIT_NIC_SIZE(name, value, meaning) {#name, value, meaning},
#include "host/nic/protocol/sizes.def"
#undef STOPBIT_NIC_SIZE
};
constexpr Operation kOperations[] = {
#define STOPBIT_NIC_OPERATION(group, enumerator, code, meaning) {#group, #enumerator, code, meaning},
#include "host/nic/protocol/operations.def"
#undef STOPBIT_NIC_OPERATION
};
constexpr Constant kErrors[] = {
#define STOPBIT_NIC_ERROR(enumerator, code, name, meaning) {name, code, meaning},
#include "host/nic/error.def"
#undef STOPBIT_NIC_ERROR
};
/// Codes of remote memory access are bytes of its packets; the others are between units only.
constexpr unsigned operation_bits(std::string_view group) {
  return group == "Rma" || group == "Teller" ? 8 : 3;
}
constexpr unsigned kErrorBits = 5;

std::vector<Layout> layouts() {
  std::vector<Layout> all;
#define STOPBIT_NIC_LAYOUT(name, bits, meaning) all.push_back({#name, bits, meaning});
#define STOPBIT_NIC_FIELD(name, field, high, low, meaning) all.back().fields.push_back({#field, high, low, meaning});
#include "host/nic/protocol/layouts.def"
#undef STOPBIT_NIC_FIELD
#undef STOPBIT_NIC_LAYOUT
  return all;
}

/// "FlushRequest" as "flush_request".
std::string snake(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !out.empty()) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string member(unsigned bits, std::string_view name, std::string_view meaning) {
  std::string out = "    logic " + (bits == 1 ? std::string() : '[' + std::to_string(bits - 1) + ":0] ");
  out.append(name).append(";");
  if (!meaning.empty()) out.append("  // ").append(meaning);
  return out + '\n';
}

std::string constant(std::string_view name, unsigned bits, unsigned value, std::string_view meaning) {
  std::string out = "  localparam logic [" + std::to_string(bits - 1) + ":0] ";
  out.append(name).append(" = ").append(std::to_string(bits)).append("'d").append(std::to_string(value));
  return out.append(";  // ").append(meaning).append("\n");
}

std::string structure(const Layout& layout) {
  std::string out = "\n  // ";
  out.append(layout.meaning).append("\n  typedef struct packed {\n");
  unsigned next = layout.bits;  // bits from here up have their member
  unsigned gaps = 0;
  const auto gap = [&](unsigned high) {
    if (next > high + 1) out += member(next - high - 1, "zero" + std::to_string(gaps++), "");
  };
  for (const Field& field : layout.fields) {
    gap(field.high);
    out += member(field.high - field.low + 1, snake(field.name), field.meaning);
    next = field.low;
  }
  if (next > 0) out += member(next, "zero" + std::to_string(gaps), "");
  return out + "  } " + snake(layout.name) + "_t;\n";
}

}  // namespace

std::string package() {
  std::string out =
      "/// What units share with the software. Made from host/nic/protocol/*.def and host/nic/error.def by "
      "`stopbit_nic_package`;\n/// do not edit.\npackage stopbit_nic_pkg;\n";
  for (const Constant& size : kSizes) {
    out.append("  localparam int unsigned ").append(size.name).append(" = ").append(std::to_string(size.value));
    out.append(";  // ").append(size.meaning).append("\n");
  }
  out += "\n  // Operations of messages.\n";
  for (const Operation& operation : kOperations) {
    out += constant(upper(snake(operation.group) + '_' + snake(operation.name)), operation_bits(operation.group),
                    operation.code, operation.meaning);
  }
  out += "\n  // Codes of errors.\n";
  for (const Constant& error : kErrors) out += constant(error.name, kErrorBits, error.value, error.meaning);
  for (const Layout& layout : layouts()) out += structure(layout);
  return out + "endpackage\n";
}

std::optional<std::string> problem() {
  std::set<std::pair<std::string_view, unsigned>> codes;
  for (const Operation& operation : kOperations) {
    if (operation.code >> operation_bits(operation.group) != 0 ||
        !codes.emplace(operation.group, operation.code).second) {
      return "the code of " + std::string(operation.name) + " comes twice, or is too large";
    }
  }
  std::set<std::string_view> names;
  for (const Layout& layout : layouts()) {
    if (!names.insert(layout.name).second || layout.bits == 0 || layout.bits > 64) {
      return "the layout " + std::string(layout.name) + " comes twice, or has no size";
    }
    unsigned next = layout.bits;
    for (const Field& field : layout.fields) {
      if (field.high >= next || field.low > field.high) {
        return "the field " + std::string(field.name) + " of " + std::string(layout.name) + " is not in its place";
      }
      next = field.low;
    }
  }
  return std::nullopt;
}

}  // namespace stopbit::nic::protocol
