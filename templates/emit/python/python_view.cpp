#include "templates/emit/python/python_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "templates/emit/cpp/identifiers.hpp"
#include "templates/emit/cpp/view_model.hpp"

namespace stopbit::emit {
namespace {

const std::set<std::string> kKeywords = {"False", "None",   "True",  "and",   "as",     "assert",   "async",
                                         "await", "def",    "del",   "elif",  "except", "exec",     "finally",
                                         "from",  "global", "in",    "is",    "lambda", "nonlocal", "not",
                                         "or",    "pass",   "print", "raise", "with",   "yield"};

std::set<std::string> with_keywords(std::set<std::string> names) {
  names.insert(kKeywords.begin(), kKeywords.end());
  return names;
}

/// What every class, enumeration and the module itself declare besides the names of the feed.
const std::set<std::string> kClassNames = with_keywords({"TABLE", "COLUMNS", "of", "of_parent"});
const std::set<std::string> kElementNames = with_keywords({"mro", "name", "names", "value", "values"});
const std::set<std::string> kModuleNames = with_keywords(
    {"Any",  "ClassVar", "Mapping",    "NDArray",     "TYPE_CHECKING", "Table",      "annotations", "dataclass",
     "enum", "np",       "ValueError", "classmethod", "getattr",       "isinstance", "len",         "next",
     "iter", "range",    "slice",      "str",         "int",           "tuple",      "dict",        "type"});

constexpr std::string_view kHead = R"(from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Table:
    """Rows of a table of stopbit.columns(): each attribute is an array with an item for each row.

    An index gives a part: table[17] is one row, whose attributes are scalars, table[table.Price > 100] the rows of a
    mask, table[:10] the first ones. len() counts rows, iteration gives them one by one.
    """

    TABLE: ClassVar[str]
    #: Columns and their types ("text": bytes or objects), by attribute.
    COLUMNS: ClassVar[dict[str, tuple[str, str]]]

    @classmethod
    def of(cls, tables: Mapping[str, Mapping[str, Any]]):
        """Makes it of what stopbit.columns() has returned; without rows if the template did not occur. ValueError if the
        tables are those of other templates."""
        table = tables.get(cls.TABLE)
        values = {}
        for name, (column, kind) in cls.COLUMNS.items():
            if table is None:
                values[name] = np.empty(0, "O" if kind == "text" else kind)
                continue
            if column not in table:
                raise ValueError(f"{cls.TABLE} has no column {column}: this module was made for other templates")
            array = table[column]
            if array.dtype.kind not in "OSU" if kind == "text" else array.dtype != np.dtype(kind):
                raise ValueError(f"{cls.TABLE}, column {column}: {array.dtype} in place of {kind}: this module was made "
                                 "for other templates")
            values[name] = array
        return cls(**values)

    def __len__(self) -> int:
        return len(getattr(self, next(iter(self.COLUMNS))))

    def __getitem__(self, rows: Any):
        return type(self)(**{name: getattr(self, name)[rows] for name in self.COLUMNS})

    def __iter__(self) -> Iterator[Any]:
        for row in range(len(self)):
            yield self[row]
)";

class PythonView : private ViewModel {
 public:
  PythonView(const Program& program, std::span<const std::string> keys) : ViewModel(program), keys_(keys) {}

  std::string run() {
    line("# Typed columns of records, made by `stopbit gen python`. Do not edit; generate it again.");
    line("#");
    for (const Source& source : program_.sources) {
      line("# from {}, {} bytes, FNV-1a {:016x}", comment(text(source.name)), source.bytes, source.hash);
    }
    line("#");
    line("#     import feed, stopbit");
    line("#     tables = stopbit.columns(\"day.pcap\", templates=\"templates.xml\", framing=\"cme\")");
    line("#     trades = feed.Trade.of(tables)");
    line("#     print(trades.LastPrice.mean(), trades[0].Symbol)");
    out_ += kHead;
    for (const ElementList& list : element_lists()) enumeration(list);
    for (std::size_t i = 0; i < program_.templates.size(); ++i) {
      const Template& item = program_.templates[i];
      const std::string name(text(item.name));
      table(name, name, fmt::format("Template `{}`, id {}; line {}.", comment(name), item.id, item.line),
            item.first_node, item.end_node, "");
    }
    return std::move(out_);
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
    out_ += '\n';
  }

  /// A text as Python has it: names that are not ASCII are UTF-8.
  static std::string python_literal(std::string_view bytes) {
    const bool is_ascii = std::all_of(bytes.begin(), bytes.end(), [](unsigned char c) { return c < 0x80; });
    return is_ascii ? literal(bytes) : "b" + literal(bytes) + ".decode(\"utf-8\", \"replace\")";
  }

  void enumeration(const ElementList& list) {
    const std::string name = names_.unique(list.name);
    line("\n\nclass {}(enum.IntEnum):", name);
    line("    \"\"\"Numbers in the columns NAME_index, or bits in those of sets.\"\"\"\n");
    Scope scope(kElementNames);
    for (std::uint32_t i = 0; i < list.info->element_count; ++i) {
      const Element& item = program_.elements[list.info->first_element + i];
      line("    {} = {}  # {}", scope.unique(text(item.label.length != 0 ? item.label : item.name)), i,
           comment(text(item.name)));
    }
  }

  static std::string_view dtype(FieldType type) {
    switch (type) {
      case FieldType::Int8: return "int8";
      case FieldType::UInt8: return "uint8";
      case FieldType::Int16: return "int16";
      case FieldType::UInt16: return "uint16";
      case FieldType::Int32: return "int32";
      case FieldType::UInt32: return "uint32";
      case FieldType::Int64:
      case FieldType::Timestamp: return "int64";
      case FieldType::Decimal: return "float64";
      case FieldType::Enum: return "object";
      case FieldType::Boolean: return "bool";
      case FieldType::Ascii:
      case FieldType::Unicode:
      case FieldType::ByteVector: return "text";
      default: return "uint64";
    }
  }

  struct Column {
    std::string attribute;
    std::string name;
    std::string_view dtype;
    std::string remark;
  };
  /// The columns of a table, named as stopbit.columns names them.
  struct Columns {
    Scope attributes{kClassNames};
    std::map<std::string, unsigned> names;
    std::vector<Column> all;

    void add(const std::string& name, std::string_view type, std::string remark = {}) {
      const std::string attribute = name.starts_with('@') ? name.substr(1) : name;
      all.push_back({attributes.unique(attribute), name, type, std::move(remark)});
    }
    /// The name of a field's first column, which may be taken.
    std::string free(const std::string& name) {
      std::string found = name;
      while (!names.emplace(found, 1).second) found = name + "_" + std::to_string(++names[name]);
      return found;
    }
  };

  [[nodiscard]] std::string about(const SchemaNode& item, std::uint32_t id) const {
    std::string out;
    if (id != 0) out += fmt::format("tag {}; ", id);
    if (item.line != 0) out += fmt::format("line {}", item.line);
    return out.ends_with("; ") ? out.substr(0, out.size() - 2) : out;
  }

  void field(const SchemaNode& item, const std::string& wanted, bool may_be_absent, Columns& to) const {
    const std::string name = to.free(wanted);
    to.add(name, dtype(item.type), about(item, item.id));
    if (!item.constant) {
      if (item.type == FieldType::Decimal) {
        to.add(name + ":mantissa", "int64");
        to.add(name + ":exponent", "int8");
      }
      if (item.type == FieldType::Enum) to.add(name + ":index", "uint32");
    }
    if (may_be_absent) to.add(name + ":present", "bool");
  }

  /// Adds the columns of some nodes, and the sequences among them, by node and column.
  void columns(std::size_t first, std::size_t end, const std::string& prefix, bool may_be_absent, Columns& to,
               std::vector<std::pair<std::size_t, std::string>>& sequences) const {
    for (std::size_t i = first; i < end; i = node(i).end) {
      const SchemaNode& item = node(i);
      if (item.unstored) continue;
      const std::string name = prefix + keys_[i];
      const bool may_lack = may_be_absent || item.optional;
      switch (item.kind) {
        case NodeKind::Field: field(item, is_value(i, first, end) ? "value" : name, may_lack, to); break;
        case NodeKind::Group:
          if (item.optional) to.add(to.free(name) + ":present", "bool");
          columns(i + 1, item.end, name + ".", may_lack, to, sequences);
          break;
        case NodeKind::Sequence: {
          const std::string column = to.free(name);
          to.add(column, "uint32", "number of elements; " + about(item, item.length_id));
          if (may_lack) to.add(column + ":present", "bool");
          sequences.emplace_back(i, name);
          break;
        }
        case NodeKind::Reference: {
          const std::string column = to.free(name);
          to.add(column, "int64", "row in the table of its template");
          to.add(column + ":template", "object");
          if (may_be_absent) to.add(column + ":present", "bool");
          break;
        }
      }
    }
  }
  [[nodiscard]] bool is_value(std::size_t index, std::size_t first, std::size_t end) const {
    return index == first && end == first + 1 && index > 0 && node(index - 1).kind == NodeKind::Sequence &&
           is_vector(index - 1);
  }

  /// A class, and those of its sequences. `name` makes its own, `path` is that of the table.
  void table(const std::string& name, const std::string& path, const std::string& what, std::size_t first,
             std::size_t end, const std::string& parent) {
    Columns to;
    if (parent.empty()) {
      const std::pair<const char*, const char*> rows[] = {
          {"@record", "uint64"}, {"@arrival_ns", "uint64"}, {"@sequence", "uint32"}, {"@channel", "uint16"},
          {"@line", "uint8"},    {"@flags", "uint8"},       {"@message", "uint16"}};
      for (const auto& [column, type] : rows) to.add(column, type);
      if (has_references_) to.add("@reference", "bool");
    } else {
      to.add("@parent", "int64", "row of " + parent);
    }
    std::vector<std::pair<std::size_t, std::string>> sequences;
    columns(first, end, "", false, to, sequences);
    const std::string own = names_.unique(name);
    write(own, path, what, to, !parent.empty());
    for (const auto& [index, key] : sequences) {
      const SchemaNode& item = node(index);
      table(name + "_" + key, path + "/" + key,
            fmt::format("Sequence `{}` of {}; line {}.", comment(text(item.name)), own, item.line), index + 1, item.end,
            own);
    }
  }

  void write(const std::string& name, const std::string& path, const std::string& what, const Columns& columns,
             bool is_sequence) {
    line("\n\n# {}", what);
    line("@dataclass(frozen=True, eq=False)");
    line("class {}(Table):", name);
    for (const Column& column : columns.all) {
      const std::string_view type = column.dtype == "text"     ? "Any"
                                    : column.dtype == "object" ? "object_"
                                    : column.dtype == "bool"   ? "bool_"
                                                               : column.dtype;
      const std::string array = type == "Any" ? "NDArray[Any]" : fmt::format("NDArray[np.{}]", type);
      line("    {}: {}{}{}", column.attribute, array, column.remark.empty() ? "" : "  # ", column.remark);
    }
    line("\n    TABLE: ClassVar[str] = {}", python_literal(path));
    line("    COLUMNS: ClassVar[dict[str, tuple[str, str]]] = {{");
    for (const Column& column : columns.all) {
      line("        {}: ({}, \"{}\"),", literal(column.attribute), python_literal(column.name), column.dtype);
    }
    line("    }}");
    if (!is_sequence) return;
    line("\n    def of_parent(self, row: int) -> {}:", name);
    line("        \"\"\"The elements in a row of the table that the sequence is in.\"\"\"");
    if (has_references_) {
      line("        return self[self.parent == row]");
    } else {
      line(
          "        first, end = np.searchsorted(self.parent, [row, row + 1])  # elements are in the order of their "
          "parents");
      line("        return self[first:end]");
    }
  }

  std::span<const std::string> keys_;
  Scope names_{kModuleNames};
  std::string out_;
};

}  // namespace

std::string python_view(const Program& program, std::span<const std::string> keys) {
  return PythonView(program, keys).run();
}

}  // namespace stopbit::emit
