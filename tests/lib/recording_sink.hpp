#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decoder/record/sink.hpp"
#include "microcode/program.hpp"
#include "tests/lib/view_shape.hpp"

namespace stopbit::cases {

using Record = std::vector<record::Slot>;

/// Collects records, and checks of each what a reader of a ring relies on: lengths, stamp, phase and number of every
/// slot, tags, no value without a tag, and that a generated view finds nothing wrong. The place it gives is full of old
/// junk, as a ring's is, and exactly as long as promised.
class RecordingSink final : public record::RecordSink {
 public:
  explicit RecordingSink(const Program& program);
  RecordingSink(RecordingSink&&) = default;
  ~RecordingSink() override;

  [[nodiscard]] Place open() noexcept override;
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override;

  [[nodiscard]] const std::vector<Record>& records() const noexcept { return records_; }
  /// Broken promises, as sentences; empty if all is well.
  [[nodiscard]] const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  void check(const Record& record, std::uint64_t word0);

  std::uint32_t max_slots_;
  ViewShape shape_;
  std::unique_ptr<record::Slot[]> place_;
  std::uint32_t used_slots_;  ///< At the beginning of the place: they need new junk.
  bool open_ = false;
  std::uint32_t stamp_ = 0xFFFF'FFF0;  // soon wraps
  bool phase_ = false;
  std::vector<Record> records_;
  std::vector<std::string> problems_;
};

}  // namespace stopbit::cases
