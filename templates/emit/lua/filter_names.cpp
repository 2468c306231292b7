#include <map>
#include <set>
#include <tuple>

#include "microcode/base/ascii.hpp"
#include "templates/emit/lua/dissector.hpp"

namespace stopbit::emit {
namespace {

constexpr std::size_t kMaxNameBytes = 40;

/// Names of dissector.lua's own fields and experts of the protocol.
const std::set<std::string> kOwnNames = {"sequence",  "chunk",   "chunks",     "sender",    "sending_time",
                                         "pmap",      "error",   "template",   "undecoded", "template_id",
                                         "malformed", "dropped", "incomplete", "not_shown", "cut"};

constexpr bool is_plain(char c) {
  return is_letter_or_digit(c) || c == '_';
}

std::string sanitised(std::string_view name) {
  std::string out;
  for (const char c : name) out += is_plain(c) ? c : '_';
  return out.empty() ? "unnamed" : out;
}

/// Properties by which two fields of Wireshark are the same.
using FieldKind = std::tuple<NodeKind, FieldType, std::uint16_t>;

FieldKind kind_of(const SchemaNode& node) {
  if (node.kind != NodeKind::Field) return {node.kind, FieldType{}, kNoTypeInfo};
  return {node.kind, node.type, node.type == FieldType::Enum ? node.type_info : kNoTypeInfo};
}

/// The names of one template. Names with a number are taken, too, so that none is given twice.
class TemplateNames {
 public:
  std::string name_of(const std::string& wanted, const FieldKind& kind) {
    std::string name = wanted;
    for (unsigned number = 2;; ++number) {
      const auto [place, is_new] = kinds_.emplace(name, kind);
      if (is_new || place->second == kind) return name;
      name = wanted + "_" + std::to_string(number);
    }
  }

 private:
  std::map<std::string, FieldKind> kinds_;
};

}  // namespace

bool is_protocol_name(std::string_view name) {
  constexpr std::size_t kMinNameBytes = 2;  // Wireshark demands it
  if (name.size() < kMinNameBytes || name.size() > kMaxNameBytes || name.front() < 'a' || name.front() > 'z')
    return false;
  for (const char c : name) {
    if (!is_plain(c) || (c >= 'A' && c <= 'Z')) return false;
  }
  return true;
}

FilterNames filter_names(const Program& program) {
  FilterNames names;
  names.nodes.resize(program.nodes.size());
  std::set<std::string> taken = kOwnNames;
  for (const Template& item : program.templates) {
    const std::string wanted = sanitised(program.name(item.name));
    std::string& name = names.templates.emplace_back(wanted);
    for (unsigned number = 2; !taken.insert(name).second; ++number) name = wanted + "_" + std::to_string(number);

    TemplateNames inside;
    for (std::size_t i = item.first_node; i < item.end_node; ++i) {
      const SchemaNode& node = program.nodes[i];
      const std::string_view text =
          node.kind == NodeKind::Reference ? std::string_view("templateRef") : program.name(node.name);
      // The values of a vector of integers have no name; their filter follows that of the vector, the previous node.
      const bool is_vector_value = node.kind == NodeKind::Field && text.empty() && i > item.first_node;
      names.nodes[i] =
          is_vector_value ? names.nodes[i - 1] + ".value" : name + "." + inside.name_of(sanitised(text), kind_of(node));
    }
  }
  return names;
}

}  // namespace stopbit::emit
