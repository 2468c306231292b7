#include "host/appliance/last_hour.hpp"

#include <nlohmann/json.hpp>

namespace stopbit::appliance {

void LastHour::add(const StatusReport& status, std::uint64_t monotonic_ns) {
  last_ns_ = monotonic_ns;
  Point point{.time_ns = status.now_ns, .monotonic_ns = monotonic_ns};
  for (const ChannelStatus& channel : status.channels) {
    point.packets += channel.received();
    point.messages += channel.messages;
    point.gaps += channel.gaps;
    point.lost += channel.numbers_lost;
    point.errors += channel.decode_errors + channel.unknown_template;
  }
  points_.push_back(point);
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
