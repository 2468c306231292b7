#pragma once

#include <memory>
#include <span>
#include <vector>

#include "decoder/record/reader.hpp"
#include "templates/emit/lua/dissector.hpp"
#include "tests/system/dissector/dissection.hpp"

namespace stopbit::dissector {

/// From records to what a dissector has to show for them. `program` must outlive it.
class Expectation {
 public:
  explicit Expectation(const Program& program);

  /// Records of messages, errors and drops. A record that cannot be read is a thrown std::runtime_error.
  [[nodiscard]] Event event(std::span<const record::Slot> slots);

 private:
  class Rows;
  [[nodiscard]] std::string error_title(const record::EventView& event) const;

  record::Schema schema_;
  std::unique_ptr<record::Reader> reader_;
  emit::FilterNames names_;
};

}  // namespace stopbit::dissector
