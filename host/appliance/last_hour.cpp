#include "host/appliance/last_hour.hpp"

#include <nlohmann/json.hpp>

namespace stopbit::appliance {

void LastHour::add(const StatusReport& status, std::uint64_t monotonic_ns) {
  last_ns_ = monotonic_ns;
  std::map<std::string, Seen> seen;
  for (const ChannelStatus& channel : status.channels) {
    const Seen now{.packets = channel.received(),
                   .messages = channel.messages,
                   .gaps = channel.gaps,
                   .lost = channel.numbers_lost,
                   .errors = channel.decode_errors + channel.unknown_template};
    const auto known = seen_.find(channel.name);
    // One that began anew counts from 0. What was lost may become less, when it comes late.
    const Seen before = known != seen_.end() && known->second.packets <= now.packets ? known->second : Seen();
    sums_.packets += now.packets - before.packets;
    sums_.messages += now.messages - before.messages;
    sums_.gaps += now.gaps - before.gaps;
    sums_.lost += now.lost - before.lost;
    sums_.errors += now.errors - before.errors;
    seen.emplace(channel.name, now);
  }
  seen_ = std::move(seen);
  sums_.time_ns = status.now_ns;
  sums_.monotonic_ns = monotonic_ns;
  points_.push_back(sums_);
  if (points_.size() > kPoints) points_.pop_front();
}

std::string LastHour::to_json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const Point& point : points_) {
    list.push_back(
        {point.time_ns, point.packets, point.messages, point.gaps, point.lost, point.errors, point.monotonic_ns});
  }
  return list.dump();
}

}  // namespace stopbit::appliance
