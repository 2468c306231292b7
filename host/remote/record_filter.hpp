#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decoder/record/layout.hpp"
#include "decoder/record/reader.hpp"
#include "decoder/record/schema.hpp"
#include "host/nic/tag/tags.hpp"
#include "host/remote/protocol.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::remote {

/// Selects the records a subscriber receives: tag matching on (channel, template, one value). One thread. Allocates
/// only when constructed. A record that does not match its schema matches no pattern with a value.
class RecordFilter {
 public:
  /// The schema's program must outlive it. A failure names the field or pattern that does not match the layout.
  [[nodiscard]] static Result<std::unique_ptr<RecordFilter>> make(const Filter& filter, const record::Schema& schema);

  /// Whether the record passes. Events do, those of markets too.
  [[nodiscard]] bool passes(std::span<const record::Slot> record);

 private:
  /// Persistent receives, and whether the last record was one for them.
  struct Matches final : nic::TagSink {
    void matched(const nic::TagReceive&, const nic::TagRecord&) override { is_matched = true; }
    bool is_matched = false;
  };
  struct Values;

  RecordFilter(const Filter& filter, const record::Schema& schema);
  [[nodiscard]] bool matches(nic::Tags& tags, const nic::TagHeader& header);

  record::Schema schema_;
  record::Reader reader_;
  Matches matches_;
  nic::Tags without_value_;  ///< Patterns without a value.
  nic::Tags with_value_;     ///< The others; each is also in `patterns_`.
  std::vector<Filter::Pattern> patterns_;
  std::vector<bool> is_field_;  ///< For each node of the schema: whether it is the compared field.
  std::uint64_t next_id_ = 0;
};

}  // namespace stopbit::remote
