#include "host/replay/columns/event_columns.hpp"

#include <string>

#include "host/replay/columns/index_text.hpp"

namespace stopbit::replay {
namespace {

/// As numpy writes it: "<i8".
std::string dtype_of(const market::EventColumn& column) {
  const char order = column.bytes == 1 ? '|' : '<';
  const char kind = column.type == market::ColumnType::Bool     ? 'b'
                    : column.type == market::ColumnType::Signed ? 'i'
                                                                : 'u';
  return std::string{order, kind} + std::to_string(column.bytes);
}

}  // namespace

EventColumns::EventColumns(ColumnFolder& folder) : folder_(folder) {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const market::EventColumn& column = market::kEventColumns[i];
    files_[i] = &folder.add("market." + std::string(column.name), dtype_of(column), column.bytes);
  }
}

Status EventColumns::finish(bool is_whole, std::string_view instruments, std::uint32_t quantity_decimals) {
  std::string index = begin_index(is_whole);
  append_key(index, "market");
  index += '{';
  append_key(index, "rows");
  record::append_unsigned(index, files_[0]->rows());
  append_key(index, "quantity_decimals");
  record::append_unsigned(index, quantity_decimals);
  append_key(index, "columns");
  index += '{';
  for (std::size_t i = 0; i < files_.size(); ++i) append_file(index, market::kEventColumns[i].name, files_[i]);
  index += '}';
  append_key(index, "instruments");
  index += instruments;
  index += "}}\n";
  return folder_.finish(index);
}

}  // namespace stopbit::replay
