#include "host/appliance/last_hour.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace stopbit::appliance {

void LastHour::add(const StatusReport& status, std::uint64_t monotonic_ns) {
  last_ns_ = monotonic_ns;
  add_losses(status, monotonic_ns);
  std::map<std::string, Seen> seen;
  for (const ChannelStatus& channel : status.channels) {
    const Seen now{.packets = channel.received(),
                   .messages = channel.messages,
                   .gaps = channel.gaps,
                   .lost = channel.numbers_lost,
                   .errors = channel.decode_errors + channel.unknown_template,
                   .missing = {channel.lines[0].missing, channel.lines[1].missing}};
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
  Point point = sums_;
  point.time_ns = status.now_ns;
  point.monotonic_ns = monotonic_ns;
  add_latency(status, point);
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
  for (const ChannelStatus& channel : status.channels) {
    const auto before = seen_.find(channel.name);
    for (std::size_t line = 0; line < 2; ++line) {
      const std::uint64_t known = before == seen_.end() ? 0 : before->second.missing[line];
      const std::uint64_t missing = channel.lines[line].missing;
      if (missing > known) add_loss(begin_ns, channel.name, line, missing - known);
    }
  }
}

void LastHour::add_loss(std::uint64_t begin_ns, const std::string& channel, std::size_t line, std::uint64_t numbers) {
  const auto known = std::find_if(losses_.rbegin(), losses_.rend(), [&](const LineLoss& loss) {
    return loss.begin_ns != begin_ns || (loss.channel == channel && loss.line == line);
  });
  if (known != losses_.rend() && known->begin_ns == begin_ns) {
    known->numbers += numbers;
    return;
  }
  losses_.push_back({.begin_ns = begin_ns, .channel = channel, .line = line, .numbers = numbers});
  if (losses_.size() > kMostLosses) losses_.pop_front();
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
