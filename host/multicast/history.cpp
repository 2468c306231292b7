#include "host/multicast/history.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "host/multicast/packet.hpp"

namespace stopbit::multicast {

History::History(std::size_t bytes)
    : room_(bytes == 0 ? 0 : std::max(bytes, kMaxPacketBytes)),
      entries_(std::bit_ceil(std::max<std::size_t>(room_.size() / kHeadBytes, 1))) {}

void History::add(std::uint64_t sequence, std::span<const std::byte> packet) noexcept {
  if (room_.empty() || packet.size() > room_.size()) return;
  if (sequence != next_) {
    oldest_ = next_ = sequence;
    at_ = 0;
  }
  if (room_.size() - at_ < packet.size()) {
    // What is after this place is older than what is at the beginning.
    while (oldest_ != next_ && entry(oldest_).offset >= at_) ++oldest_;
    at_ = 0;
  }
  const std::size_t end = at_ + packet.size();
  while (oldest_ != next_ && (next_ - oldest_ == entries_.size() ||
                              (entry(oldest_).offset < end && entry(oldest_).offset + entry(oldest_).bytes > at_))) {
    ++oldest_;
  }
  if (!packet.empty()) std::memcpy(room_.data() + at_, packet.data(), packet.size());
  entry(next_) = {at_, packet.size()};
  ++next_;
  at_ = end;
}

std::span<const std::byte> History::find(std::uint64_t sequence) const noexcept {
  if (sequence < oldest_ || sequence >= next_) return {};
  const Entry& found = entries_[sequence & (entries_.size() - 1)];
  return std::span(room_).subspan(found.offset, found.bytes);
}

}  // namespace stopbit::multicast
