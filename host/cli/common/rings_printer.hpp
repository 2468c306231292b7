#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/cli/common/record_printer.hpp"
#include "host/ring/reader.hpp"
#include "microcode/program.hpp"

namespace stopbit::tools {

/// The printer of all rings that have had one name: each may have another image.
class RingsPrinter {
 public:
  RingsPrinter(PrintStyle style, Content content) : style_(std::move(style)), content_(content) {}

  /// Before the records of a ring. Returns the number of its schema.
  std::size_t begin(const ring::Reader& reader);
  /// The same without market events.
  std::size_t begin(std::span<const std::byte> image, const std::string& name);
  [[nodiscard]] RecordPrinter& printer() { return *printer_; }
  [[nodiscard]] bool has_begun() const noexcept { return printer_.has_value(); }

 private:
  void add(std::span<const std::byte> image, const std::string& name);

  PrintStyle style_;
  Content content_;
  std::vector<std::byte> image_;  ///< Of the last ring.
  std::list<Program> programs_;   ///< The printer refers to all of them.
  std::string title_;
  std::optional<RecordPrinter> printer_;
  std::size_t schema_ = 0;
};

}  // namespace stopbit::tools
