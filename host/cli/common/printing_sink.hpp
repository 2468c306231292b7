#pragma once

#include <cstddef>
#include <cstdint>

#include "decoder/record/sink.hpp"
#include "host/cli/common/record_printer.hpp"

namespace stopbit::tools {

/// Shows each record to an output, once it has one, when it is complete in the place that another sink gave.
class PrintingSink final : public record::RecordSink {
 public:
  PrintingSink(record::RecordSink& inner, RecordDestination* output, std::size_t schema)
      : inner_(inner), output_(output), schema_(schema) {}
  void set_output(RecordDestination& output) noexcept { output_ = &output; }

  [[nodiscard]] Place open() noexcept override { return place_ = inner_.open(); }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    inner_.commit(first, slots);
    if (output_ != nullptr) output_->take({place_.slots, slots}, schema_);
  }

 private:
  record::RecordSink& inner_;
  RecordDestination* output_;
  std::size_t schema_;
  Place place_;
};

}  // namespace stopbit::tools
