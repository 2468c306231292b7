#include "host/appliance/last_hour.hpp"

#include <algorithm>
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
  add_latency(status, point);
  add_losses(status, monotonic_ns);
  points_.push_back(point);
  if (points_.size() > kPoints) points_.pop_front();
}

void LastHour::add_latency(const StatusReport& status, Point& point) {
  counters::Distribution all;
  for (const AgentStatus& agent : status.agents) all += agent.latency;
  counters::Distribution step;
  for (std::size_t i = 0; i < all.buckets.size(); ++i) {
    // The counters may be read in the middle of a change.
    if (all.buckets[i] <= latency_.buckets[i]) continue;
    step.buckets[i] = all.buckets[i] - latency_.buckets[i];
    step.count += step.buckets[i];
    step.largest = std::min(counters::bucket_last(i), all.largest);
  }
  latency_ = all;
  point.records = step.count;
  point.p50_ns = step.quantile(0.5);
  point.p99_ns = step.quantile(0.99);
  point.p999_ns = step.quantile(0.999);
}

void LastHour::add_losses(const StatusReport& status, std::uint64_t monotonic_ns) {
  const std::uint64_t begin_ns = monotonic_ns / kLossStepNs * kLossStepNs;
  while (!losses_.empty() && losses_.front().begin_ns + kPoints * kStepNs < monotonic_ns) losses_.pop_front();
  missing_.resize(status.channels.size());
  for (std::size_t c = 0; c < status.channels.size(); ++c) {
    for (std::size_t line = 0; line < 2; ++line) {
      const std::uint64_t missing = status.channels[c].lines[line].missing;
      const std::uint64_t more = missing > missing_[c][line] ? missing - missing_[c][line] : 0;
      missing_[c][line] = missing;
      if (more == 0) continue;
      const auto known = std::find_if(losses_.rbegin(), losses_.rend(), [&](const LineLoss& loss) {
        return loss.begin_ns != begin_ns || (loss.channel == c && loss.line == line);
      });
      if (known != losses_.rend() && known->begin_ns == begin_ns) {
        known->numbers += more;
        continue;
      }
      losses_.push_back({.begin_ns = begin_ns, .channel = c, .line = line, .numbers = more});
      if (losses_.size() > kMostLosses) losses_.pop_front();
    }
  }
}

std::string LastHour::to_json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const Point& point : points_) {
    list.push_back({point.time_ns, point.packets, point.messages, point.gaps, point.lost, point.errors,
                    point.monotonic_ns, point.records, point.p50_ns, point.p99_ns, point.p999_ns});
  }
  return list.dump();
}

std::string LastHour::line_losses_json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const LineLoss& loss : losses_) list.push_back({loss.begin_ns, loss.channel, loss.line, loss.numbers});
  return list.dump();
}

}  // namespace stopbit::appliance
