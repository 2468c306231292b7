#include "host/nic/tag/matcher.hpp"

#include <algorithm>
#include <bit>

namespace stopbit::nic {
namespace {

constexpr std::size_t kMaxEntries = std::size_t{1} << 24U;

std::uint64_t hash(std::uint32_t mask, const TagHeader& header) noexcept {
  // Multiply and fold, twice: users choose the values, but a long chain harms only their own port.
  std::uint64_t bits = header.value * 0x9E37'79B9'7F4A'7C15U;
  bits ^= bits >> 32U;
  bits += std::uint64_t{header.channel} << 32U | header.template_id;
  bits = (bits ^ mask) * 0xD6E8'FEB8'6659'FD93U;
  return bits ^ bits >> 32U;
}

}  // namespace

TagMatcher::TagMatcher(const MatcherOptions& options)
    : receives_(std::clamp<std::size_t>(options.receives, 1, kMaxEntries)),
      records_(std::min(options.unexpected, kMaxEntries)),
      buckets_(std::bit_ceil(2 * receives_.size())) {
  for (std::size_t i = 0; i < receives_.size(); ++i) {
    receives_[i].next = i + 1 == receives_.size() ? kNone : static_cast<std::uint32_t>(i + 1);
  }
  for (std::size_t i = 0; i < records_.size(); ++i) {
    records_[i].next = i + 1 == records_.size() ? kNone : static_cast<std::uint32_t>(i + 1);
  }
  if (records_.empty()) free_record_ = kNone;
}

/// Of the mask if it is in use, else of a free place; kMasks if there is none.
std::uint32_t TagMatcher::index_of(const TagMask& mask) const noexcept {
  auto free = static_cast<std::uint32_t>(kMasks);
  for (std::uint32_t i = 0; i < kMasks; ++i) {
    if (masks_[i].receives != 0 && masks_[i].mask == mask) return i;
    if (masks_[i].receives == 0 && free == kMasks) free = i;
  }
  return free;
}

TagMatcher::Bucket& TagMatcher::bucket_of(std::uint32_t mask, const TagHeader& header) noexcept {
  return buckets_[hash(mask, masked(header, masks_[mask].mask)) & (buckets_.size() - 1)];
}

bool TagMatcher::has_room_for(const TagMask& mask) const noexcept {
  return receives_used_ < receives_.size() && index_of(mask) < kMasks;
}

PostResult TagMatcher::post(const TagReceive& receive, std::uint64_t stamp, TagSink& sink) {
  while (const std::optional<TagRecord> record = take_record(receive)) {
    sink.matched(receive, *record);
    if (!receive.is_persistent) return PostResult::Served;
  }
  if (!has_room_for(receive.mask)) return PostResult::Full;
  store(receive, stamp);
  return PostResult::Posted;
}

TagUnit::Arrival TagMatcher::arrive(const TagRecord& record, std::uint64_t stamp) {
  if (const std::optional<TagReceive> receive = take_receive(record.header)) return {receive, false};
  if (!has_room_for_record()) return {std::nullopt, true};
  store(record, stamp);
  return {};
}

void TagMatcher::store(const TagReceive& receive, std::uint64_t stamp) noexcept {
  const std::uint32_t mask = index_of(receive.mask);
  masks_[mask].mask = receive.mask;
  ++masks_[mask].receives;
  const std::uint32_t at = free_receive_;
  free_receive_ = receives_[at].next;
  receives_[at] = {{receive, stamp}, kNone, mask};
  Bucket& bucket = bucket_of(mask, receive.wanted);
  (bucket.youngest == kNone ? bucket.oldest : receives_[bucket.youngest].next) = at;
  bucket.youngest = at;
  ++receives_used_;
}

void TagMatcher::store(const TagRecord& record, std::uint64_t stamp) noexcept {
  const std::uint32_t at = free_record_;
  free_record_ = records_[at].next;
  records_[at] = {{record, stamp}, kNone, youngest_record_};
  (youngest_record_ == kNone ? oldest_record_ : records_[youngest_record_].next) = at;
  youngest_record_ = at;
  ++records_used_;
}

void TagMatcher::remove(Bucket& bucket, std::uint32_t before, std::uint32_t at) noexcept {
  (before == kNone ? bucket.oldest : receives_[before].next) = receives_[at].next;
  if (bucket.youngest == at) bucket.youngest = before;
  --masks_[receives_[at].mask].receives;
  receives_[at].mask = kNone;
  receives_[at].next = free_receive_;
  free_receive_ = at;
  --receives_used_;
}

void TagMatcher::remove_record(std::uint32_t at) noexcept {
  const Record& record = records_[at];
  (record.previous == kNone ? oldest_record_ : records_[record.previous].next) = record.next;
  (record.next == kNone ? youngest_record_ : records_[record.next].previous) = record.previous;
  records_[at].next = free_record_;
  free_record_ = at;
  --records_used_;
}

std::optional<TagReceive> TagMatcher::take_receive(const TagHeader& header) noexcept {
  std::uint32_t best = kNone;
  std::uint32_t best_before = kNone;
  Bucket* best_bucket = nullptr;
  for (std::uint32_t mask = 0; mask < kMasks; ++mask) {
    if (masks_[mask].receives == 0) continue;
    Bucket& bucket = bucket_of(mask, header);
    std::uint32_t before = kNone;
    for (std::uint32_t at = bucket.oldest; at != kNone; before = at, at = receives_[at].next) {
      if (best != kNone && receives_[at].entry.stamp > receives_[best].entry.stamp) break;  // only younger ones follow
      if (receives_[at].mask != mask || !matches(receives_[at].entry.what, header)) continue;
      best = at;
      best_before = before;
      best_bucket = &bucket;
      break;
    }
  }
  if (best == kNone) return std::nullopt;
  const TagReceive receive = receives_[best].entry.what;
  if (!receive.is_persistent) remove(*best_bucket, best_before, best);
  return receive;
}

std::optional<TagRecord> TagMatcher::take_record(const TagReceive& receive) noexcept {
  for (std::uint32_t at = oldest_record_; at != kNone; at = records_[at].next) {
    if (!matches(receive, records_[at].entry.what.header)) continue;
    const TagRecord record = records_[at].entry.what;
    remove_record(at);
    return record;
  }
  return std::nullopt;
}

std::optional<TagRecord> TagMatcher::find_record(const TagReceive& receive) const noexcept {
  for (std::uint32_t at = oldest_record_; at != kNone; at = records_[at].next) {
    if (matches(receive, records_[at].entry.what.header)) return records_[at].entry.what;
  }
  return std::nullopt;
}

bool TagMatcher::cancel(std::uint64_t id) noexcept {
  for (Bucket& bucket : buckets_) {
    std::uint32_t before = kNone;
    for (std::uint32_t at = bucket.oldest; at != kNone; before = at, at = receives_[at].next) {
      if (receives_[at].entry.what.id != id) continue;
      remove(bucket, before, at);
      return true;
    }
  }
  return false;
}

void TagMatcher::dump(std::vector<Stamped<TagReceive>>& receives, std::vector<Stamped<TagRecord>>& records) {
  const auto first = static_cast<std::ptrdiff_t>(receives.size());
  for (Bucket& bucket : buckets_) {
    while (bucket.oldest != kNone) {
      receives.push_back(receives_[bucket.oldest].entry);
      remove(bucket, kNone, bucket.oldest);
    }
  }
  std::sort(receives.begin() + first, receives.end(), [](const auto& a, const auto& b) { return a.stamp < b.stamp; });
  while (oldest_record_ != kNone) {
    records.push_back(records_[oldest_record_].entry);
    remove_record(oldest_record_);
  }
}

}  // namespace stopbit::nic
