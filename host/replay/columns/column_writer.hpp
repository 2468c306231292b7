#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "decoder/record/reader.hpp"
#include "decoder/record/schema.hpp"
#include "host/replay/columns/column_folder.hpp"

namespace stopbit::replay {

/// Takes records apart into the columns of a folder; columns.md describes the tables and the index. There are as many
/// columns as fields in the templates that occur, whatever the records are; memory does not grow with the rows.
///
/// One thread. The schemas' programs must outlive it.
class ColumnWriter {
 public:
  /// An image and its name; empty if there is only one.
  struct Image {
    std::string name;
    record::Schema schema;
  };
  ColumnWriter(ColumnFolder& folder, std::vector<Image> images);
  ~ColumnWriter();

  /// Appends a record of an image, message or event.
  [[nodiscard]] record::ReadError add(std::size_t image, std::span<const record::Slot> record);
  /// After the last record: writes the rest, and the index. `is_whole`: false if a capture was cut, or a limit
  /// ended the replay. A replay that was stopped has no index: do not call this.
  [[nodiscard]] Status finish(bool is_whole);

 private:
  struct Files;
  struct Step;
  struct Column;
  struct Table;
  class Tables;
  class Events;

  ColumnFolder& folder_;
  std::vector<std::unique_ptr<Tables>> images_;
  std::unique_ptr<Events> events_;
  std::uint64_t records_ = 0;
};

}  // namespace stopbit::replay
