#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "host/cli/common/files.hpp"
#include "host/cli/common/line_reader.hpp"
#include "host/ports/packet_source.hpp"

namespace stopbit::tools {

/// Datagrams written in hex, one a line: blanks between bytes and comments from `#` on are skipped, and lines with
/// nothing else. Each becomes the payload of a UDP packet, so that it goes the way of a captured one.
///
/// A line that is not hex is reported to stderr with its column and counted; it takes a packet number and gives no
/// packet.
class HexSource final : public ingest::PacketSource {
 public:
  /// `before_read` is called whenever the next line has to be waited for.
  HexSource(InputFile file, std::function<void()> before_read);

  [[nodiscard]] ingest::Next next(ingest::Packet& packet) noexcept override;
  [[nodiscard]] std::string_view name() const noexcept override { return lines_.file_name(); }
  [[nodiscard]] const ingest::Fault& fault() const noexcept override { return fault_; }
  [[nodiscard]] ingest::SourceProgress progress() const noexcept override { return {}; }
  [[nodiscard]] record::TimeQuality time_quality() const noexcept override { return record::TimeQuality::Synthetic; }

  /// Throws what ended the source before its time, if something did.
  void rethrow_error() const;
  [[nodiscard]] std::uint64_t bad_lines() const noexcept { return bad_lines_; }

 private:
  /// Writes the bytes of the line after the headers in frame_; false if the line has none.
  [[nodiscard]] bool parse_line();
  bool reject(std::size_t column, std::string_view what);  ///< Always false.
  void write_headers();

  LineReader lines_;
  std::uint64_t packets_ = 0;
  std::uint64_t bad_lines_ = 0;
  std::vector<std::byte> frame_;
  ingest::Fault fault_;
  std::exception_ptr error_;
};

}  // namespace stopbit::tools
