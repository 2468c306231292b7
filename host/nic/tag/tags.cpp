#include "host/nic/tag/tags.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stopbit::nic {
namespace {

/// As many as the unit can have in use.
bool has_few_masks(const std::vector<Stamped<TagReceive>>& receives) noexcept {
  std::array<TagMask, TagMatcher::kMasks> masks{};
  std::size_t count = 0;
  for (const auto& receive : receives) {
    const auto end = masks.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::find(masks.begin(), end, receive.what.mask) != end) continue;
    if (count == masks.size()) return false;
    masks[count++] = receive.what.mask;
  }
  return true;
}

/// Counts what it passes on.
class CountingSink final : public TagSink {
 public:
  CountingSink(TagSink& sink, std::uint64_t& count) : sink_(sink), count_(count) {}
  void matched(const TagReceive& receive, const TagRecord& record) override {
    ++count_;
    sink_.matched(receive, record);
  }

 private:
  TagSink& sink_;
  std::uint64_t& count_;
};

}  // namespace

Tags::Tags(const TagOptions& options, TagSink& sink)
    : Tags(options, sink, std::make_unique<TagMatcher>(options.unit)) {}

Tags::Tags(const TagOptions& options, TagSink& sink, std::unique_ptr<TagUnit> unit)
    : options_(options), sink_(sink), unit_(std::move(unit)) {
  // What the unit hands over fits always.
  options_.software_receives = std::max(options.software_receives, options.unit.receives + 1);
  options_.software_unexpected = std::max(options.software_unexpected, options.unit.unexpected + 1);
  receives_.reserve(options_.software_receives);
  records_.reserve(options_.software_unexpected);
}

PostResult Tags::post(const TagReceive& receive) {
  if (!is_in_software_) {
    CountingSink sink(sink_, counters_.matched);
    const PostResult result = unit_->post(receive, ++stamp_, sink);
    if (result != PostResult::Full) return result;
    to_software();
  }
  return post_in_software(receive);
}

PostResult Tags::post_in_software(const TagReceive& receive) {
  while (const std::optional<TagRecord> record = take_record(receive)) {
    ++counters_.matched;
    sink_.matched(receive, *record);
    if (!receive.is_persistent) {
      back_if_it_fits();
      return PostResult::Served;
    }
  }
  if (receives_.size() >= options_.software_receives) return PostResult::Full;
  receives_.push_back({receive, ++stamp_});
  back_if_it_fits();
  return PostResult::Posted;
}

bool Tags::cancel(std::uint64_t id) {
  if (!is_in_software_) return unit_->cancel(id);
  const auto it = std::find_if(receives_.begin(), receives_.end(), [id](const auto& r) { return r.what.id == id; });
  if (it == receives_.end()) return false;
  receives_.erase(it);
  back_if_it_fits();
  return true;
}

std::optional<TagReceive> Tags::serve(const TagHeader& header) {
  const std::optional<TagReceive> receive = take_receive(header);
  if (!receive) return std::nullopt;
  ++counters_.matched;
  back_if_it_fits();
  return receive;
}

void Tags::arrive(const TagRecord& record) {
  TagUnit::Arrival arrival;
  if (is_in_software_ || !options_.stores_unexpected) {
    arrival = {take_receive(record.header), true};
  } else {
    arrival = unit_->arrive(record, ++stamp_);
  }
  if (arrival.receive) {
    ++counters_.matched;
    sink_.matched(*arrival.receive, record);
    back_if_it_fits();
    return;
  }
  ++counters_.unexpected;
  if (!arrival.is_full) return;  // the unit has stored it
  if (!options_.stores_unexpected) {
    ++counters_.dropped;
    return;
  }
  if (!is_in_software_) to_software();
  if (records_.size() < options_.software_unexpected) {
    records_.push_back({record, ++stamp_});
  } else {
    ++counters_.dropped;
  }
}

std::optional<TagRecord> Tags::peek(const TagReceive& receive) const {
  if (!is_in_software_) return unit_->find_record(receive);
  const auto it =
      std::find_if(records_.begin(), records_.end(), [&](const auto& r) { return matches(receive, r.what.header); });
  return it == records_.end() ? std::nullopt : std::optional(it->what);
}

std::optional<TagRecord> Tags::claim(const TagReceive& receive) {
  const std::optional<TagRecord> record = take_record(receive);
  if (record) back_if_it_fits();
  return record;
}

bool Tags::has_room_for_record() const noexcept {
  return unexpected() < options_.software_unexpected;
}

std::optional<TagReceive> Tags::take_receive(const TagHeader& header) {
  if (!is_in_software_) return unit_->take_receive(header);
  const auto it =
      std::find_if(receives_.begin(), receives_.end(), [&](const auto& r) { return matches(r.what, header); });
  if (it == receives_.end()) return std::nullopt;
  const TagReceive receive = it->what;
  if (!receive.is_persistent) receives_.erase(it);
  return receive;
}

std::optional<TagRecord> Tags::take_record(const TagReceive& receive) {
  if (!is_in_software_) return unit_->take_record(receive);
  const auto it =
      std::find_if(records_.begin(), records_.end(), [&](const auto& r) { return matches(receive, r.what.header); });
  if (it == records_.end()) return std::nullopt;
  const TagRecord record = it->what;
  records_.erase(it);
  return record;
}

void Tags::to_software() {
  unit_->dump(receives_, records_);
  is_in_software_ = true;
  ++counters_.handed_to_software;
}

/// Half of the unit stays free, so that entries do not go to and fro.
void Tags::back_if_it_fits() {
  if (!is_in_software_ || receives_.size() > options_.unit.receives / 2 ||
      records_.size() > options_.unit.unexpected / 2 || !has_few_masks(receives_)) {
    return;
  }
  for (const auto& receive : receives_) unit_->store(receive.what, receive.stamp);
  for (const auto& record : records_) unit_->store(record.what, record.stamp);
  receives_.clear();
  records_.clear();
  is_in_software_ = false;
  ++counters_.handed_back;
}

}  // namespace stopbit::nic
