#include "host/remote/subscription.hpp"

#include <utility>

namespace stopbit::remote {

Result<std::unique_ptr<RecordFilter>> make_filter(const Source& source, const Subscribe& request, Refusal& why) {
  why = Refusal::Layout;
  if (request.layout_hash != 0 && request.layout_hash != source.fixed().layout_hash()) {
    return Failure{"the layout of '" + request.ring + "' has another hash"};
  }
  why = Refusal::Filter;
  if (request.filter.is_empty() && request.filter.field.empty()) return std::unique_ptr<RecordFilter>();
  Result<std::unique_ptr<RecordFilter>> made = RecordFilter::make(request.filter, source.schema());
  if (made && request.filter.is_empty()) return std::unique_ptr<RecordFilter>();
  return made;
}

}  // namespace stopbit::remote
