#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/monitor/counters/histogram.hpp"
#include "host/monitor/counters/layout.hpp"
#include "host/monitor/counters/name.hpp"
#include "host/os/shm/segment.hpp"
#include "microcode/base/error_code.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::counters {

/// Description of a value. Created when the segment is opened.
struct Metric {
  Name name;
  std::string help;
  Kind kind = Kind::Counter;
  Unit unit = Unit::Number;
  std::uint16_t size = 0;
  std::uint64_t offset = 0;
};

/// A stored error: the first of its kind, and the count.
struct SeenError {
  std::uint64_t count = 0;
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint16_t channel = 0;
  std::uint16_t template_index = 0xFFFF;
  std::uint16_t block = 0xFFFF;
  std::uint8_t word = 255;
  ErrorCode code = ErrorCode::None;
  std::uint32_t sequence = 0;
  std::uint32_t template_id = 0;
  std::uint32_t offset = 0;
  std::uint32_t sample_begin = 0;
  std::uint8_t sample_bytes = 0;
  std::array<std::byte, kSampleBytes> sample{};
};

/// Reads a segment of counters written by another process. The content is not trusted: its tables are checked and
/// copied once, and values are read from addresses inside it. Never waits. One thread.
class Reader {
 public:
  [[nodiscard]] static Result<Reader> open(std::string_view name);
  /// Opens a segment in the caller's memory, with the same checks. The memory must be aligned like a Header.
  [[nodiscard]] static Result<Reader> over(std::span<const std::byte> memory);

  /// Takes in the values that the writer has added since the segment was opened; pointers to metrics become invalid.
  /// If their entries are damaged, the reader stays as it is, and the failure says what is wrong.
  Status refresh();

  /// Path of the segment; empty for memory.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  [[nodiscard]] std::span<const Metric> metrics() const noexcept { return metrics_; }
  /// The metric with the family and, in any order, all of these labels (and perhaps more); null if there is none.
  [[nodiscard]] const Metric* find(std::string_view family, std::initializer_list<Label> labels = {}) const noexcept;
  /// Value of a counter or gauge; 0 if the metric does not exist.
  [[nodiscard]] std::uint64_t value(std::string_view family, std::initializer_list<Label> labels = {}) const noexcept;
  /// Sum over all metrics that match.
  [[nodiscard]] std::uint64_t sum(std::string_view family, std::initializer_list<Label> labels = {}) const noexcept;

  // Each of its kind; another kind gives nothing.
  [[nodiscard]] std::uint64_t value(const Metric& metric) const noexcept;
  [[nodiscard]] Distribution distribution(const Metric& metric) const noexcept;
  /// Empty if the text changes continuously while it is read. Control characters are replaced by '?'.
  [[nodiscard]] std::string text(const Metric& metric) const;
  [[nodiscard]] std::vector<SeenError> errors(const Metric& metric) const;
  /// Errors that were not stored.
  [[nodiscard]] std::uint64_t errors_beyond(const Metric& metric) const noexcept;

  [[nodiscard]] std::uint64_t epoch() const noexcept { return header_.epoch; }
  [[nodiscard]] std::uint32_t writer_pid() const noexcept { return header_.writer_pid; }
  [[nodiscard]] std::uint64_t heartbeat_ns() const noexcept;
  enum class Writer : std::uint8_t { Running, Finished, Dead };
  [[nodiscard]] Writer writer() const noexcept;

 private:
  Reader() = default;
  [[nodiscard]] Status read_tables();
  /// Of the entries from `first` to before `end`.
  [[nodiscard]] Result<std::vector<Metric>> read_entries(std::uint32_t first, std::uint32_t end) const;
  [[nodiscard]] std::uint64_t load(std::uint64_t offset) const noexcept;

  std::string path_;
  os::Descriptor file_;
  os::Mapping mapping_;
  std::span<const std::byte> memory_;
  Header header_{};
  std::vector<Metric> metrics_;
};

}  // namespace stopbit::counters
