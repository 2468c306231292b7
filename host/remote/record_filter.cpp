#include "host/remote/record_filter.hpp"

#include <algorithm>
#include <cstring>

#include "decoder/record/views.hpp"

namespace stopbit::remote {
namespace {

nic::TagOptions tag_options() {
  nic::TagOptions options;
  options.unit = {.receives = kMaxPatterns, .unexpected = 1};
  options.software_receives = kMaxPatterns + 1;
  options.software_unexpected = 1;
  options.stores_unexpected = false;
  return options;
}

std::uint64_t value_of(const record::Value& value) noexcept {
  if (value.bytes.empty()) return value.bits;
  std::uint64_t bits = 0;
  std::memcpy(&bits, value.bytes.data(), std::min(value.bytes.size(), sizeof(bits)));
  return bits;
}

}  // namespace

/// Asks the patterns about each value of the field.
struct RecordFilter::Values : record::Visitor {
  Values(RecordFilter& of, const nic::TagHeader& with) : filter(of), header(with) {}
  void field(const SchemaNode& node, const record::Value& value) {
    if (is_found || !filter.is_field_[filter.schema_.index_of(node)]) return;
    header.value = value_of(value);
    is_found = filter.matches(filter.with_value_, header);
  }
  RecordFilter& filter;
  nic::TagHeader header;
  bool is_found = false;
};

RecordFilter::RecordFilter(const Filter& filter, const record::Schema& schema)
    : schema_(schema),
      reader_(schema),
      without_value_(tag_options(), matches_),
      with_value_(tag_options(), matches_),
      is_field_(schema.program().nodes.size(), false) {
  for (const Filter::Pattern& pattern : filter.patterns) {
    nic::Tags& tags = pattern.mask.value == 0 ? without_value_ : with_value_;
    (void)tags.post({.wanted = pattern.wanted, .mask = pattern.mask, .is_persistent = true, .id = next_id_++});
    if (pattern.mask.value != 0) patterns_.push_back(pattern);
  }
}

Result<std::unique_ptr<RecordFilter>> RecordFilter::make(const Filter& filter, const record::Schema& schema) {
  if (filter.patterns.size() > kMaxPatterns) {
    return Failure{"a filter can have at most " + std::to_string(kMaxPatterns) + " patterns, this one " +
                   std::to_string(filter.patterns.size())};
  }
  std::unique_ptr<RecordFilter> made(new RecordFilter(filter, schema));
  if (filter.field.empty() && !made->patterns_.empty()) return Failure{"a pattern has a value but no field"};
  bool is_there = filter.field.empty();
  for (std::size_t i = 0; i < made->is_field_.size() && !filter.field.empty(); ++i) {
    const SchemaNode& node = schema.node(i);
    if (node.kind != NodeKind::Field || schema.owner_name(node) != filter.field) continue;
    if (node.type == FieldType::Decimal) return Failure{"'" + filter.field + "' is a decimal: it cannot be compared"};
    made->is_field_[i] = is_there = true;
  }
  if (!is_there) return Failure{"no template has a field '" + filter.field + "'"};
  return made;
}

bool RecordFilter::matches(nic::Tags& tags, const nic::TagHeader& header) {
  matches_.is_matched = false;
  tags.arrive({.header = header});
  return matches_.is_matched;
}

bool RecordFilter::passes(std::span<const record::Slot> record) {
  const record::HeaderView head(record.front());
  if (head.is_event() || head.is_market_event()) return true;
  const Template* const item = schema_.find(head.template_index());
  const nic::TagHeader header{head.channel(), item == nullptr ? 0 : item->id, 0};
  if (without_value_.receives() != 0 && matches(without_value_, header)) return true;
  // Only who has a pattern for its channel and template is walked through.
  const bool is_worth_it = std::any_of(patterns_.begin(), patterns_.end(), [&](const Filter::Pattern& pattern) {
    return ((pattern.wanted.channel ^ header.channel) & pattern.mask.channel) == 0 &&
           ((pattern.wanted.template_id ^ header.template_id) & pattern.mask.template_id) == 0;
  });
  if (!is_worth_it) return false;
  Values values(*this, header);
  // A record that is not read to its end may still have had the value.
  return reader_.read(record, values) == record::ReadError::None && values.is_found;
}

}  // namespace stopbit::remote
