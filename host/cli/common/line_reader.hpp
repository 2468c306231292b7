#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "host/cli/common/files.hpp"

namespace stopbit::tools {

/// The lines of a file, one by one, as they come.
class LineReader {
 public:
  /// `before_read` is called whenever the next line has to be waited for; may be empty.
  LineReader(InputFile file, std::size_t max_line_bytes, std::function<void()> before_read = {});

  /// False at the end, and when a signal asks to stop. A line that is too long comes as soon as that shows.
  [[nodiscard]] bool next();
  /// Without its end. A line that is too long is cut, and remains longer than allowed.
  [[nodiscard]] std::string_view line() const noexcept { return line_; }
  [[nodiscard]] bool is_too_long() const noexcept { return line_.size() > max_line_bytes_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }  ///< From 1.
  [[nodiscard]] const std::string& file_name() const noexcept { return file_.name(); }

 private:
  [[nodiscard]] bool fill();
  bool skip_line();

  InputFile file_;
  std::size_t max_line_bytes_;
  std::function<void()> before_read_;
  std::string chunk_;
  std::size_t chunk_at_ = 0;
  std::string line_;
  std::uint64_t number_ = 0;
  bool is_cut_ = false;  ///< The rest of the line is still to be skipped.
};

}  // namespace stopbit::tools
