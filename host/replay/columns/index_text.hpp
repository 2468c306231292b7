#pragma once

#include <string>
#include <string_view>

#include "decoder/record/text.hpp"
#include "host/replay/columns/column_folder.hpp"

/// Parts of the index of a folder of columns, appended to a JSON text.
namespace stopbit::replay {

inline void append_key(std::string& out, std::string_view key) {
  if (out.back() != '{' && out.back() != '[') out += ',';
  record::append_json_string(out, key, false);
  out += ':';
}
inline void append_text(std::string& out, std::string_view key, std::string_view text) {
  append_key(out, key);
  record::append_json_string(out, text, false);
}
inline void append_file(std::string& out, std::string_view key, const ColumnFile* file) {
  if (file != nullptr) append_text(out, key, file->name());
}
/// The first keys of every index.
[[nodiscard]] inline std::string begin_index(bool is_whole) {
  return std::string(ColumnFolder::kIndexBegin) + R"(,"version":1,"whole":)" + (is_whole ? "true" : "false");
}

}  // namespace stopbit::replay
