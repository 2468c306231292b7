#include "host/ports/step/step_port.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stopbit::ingest {
namespace {

struct Session {
  net::Endpoint server;
  std::shared_ptr<StepLink> link;
};

class StepPort final : public Port {
 public:
  explicit StepPort(StepPortOptions options) : options_(std::move(options)) {}

  Status join(const Membership& membership) override {
    auto link = options_.open_session(membership.group, options_.session, options_.limits);
    if (!link) return Failure{"step " + net::to_text(membership.group) + ": " + link.message()};
    sessions_.push_back({membership.group, std::move(link).value()});
    return Done{};
  }

  Result<std::unique_ptr<GroupChange>> prepare_groups(std::span<const Membership> /*join*/,
                                                      std::span<const Membership> /*leave*/,
                                                      std::vector<std::string>& /*notes*/) override {
    return Failure{"step: to add or remove a server takes a restart"};
  }

  std::size_t poll(std::span<Arrival> batch) noexcept override {
    const std::uint64_t now = options_.clock();
    std::uint64_t until = now;
    std::size_t count = 0;
    std::uint64_t ends = 0;
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      Session& session = sessions_[(first_ + i) % sessions_.size()];
      ends += session.link->ends.load(std::memory_order_relaxed);
      auto& packets = session.link->packets;
      packets.release();
      while (count < batch.size()) {
        const auto item = packets.take();
        if (!item) break;
        batch[count++] = arrival_of(*item, session.server, now);
      }
      // What waits still has not been handed out.
      if (const auto next = packets.front()) until = std::min(until, time_of(*next, now));
    }
    first_ = sessions_.empty() ? 0 : (first_ + 1) % sessions_.size();
    complete_until_ns_ = std::max(complete_until_ns_, until);
    counters_.failures.set(ends);
    return count;
  }

  std::uint64_t complete_until() const noexcept override { return complete_until_ns_; }
  const PortCounters& counters() const noexcept override { return counters_; }
  std::string_view name() const noexcept override { return "step"; }

 private:
  using Item = os::MessageQueue<StepLink::Info>::Item;

  /// It was read by another thread: what a poll has not found may be older than the poll.
  [[nodiscard]] std::uint64_t time_of(const Item& item, std::uint64_t now) const noexcept {
    return std::min(std::max(item.info.t_ns, complete_until_ns_), std::max(now, complete_until_ns_));
  }

  [[nodiscard]] Arrival arrival_of(const Item& item, net::Endpoint server, std::uint64_t now) noexcept {
    counters_.frames.add(1);
    counters_.bytes.add(item.message.size());
    counters_.verdicts[static_cast<std::size_t>(net::Verdict::Accepted)].add(1);
    return {.payload = item.message,
            .source = server,
            .destination = server,
            .arrival_ns = item.info.arrival_ns,
            .t_ns = time_of(item, now),
            .time_quality = record::TimeQuality::Poll};
  }

  StepPortOptions options_;
  std::vector<Session> sessions_;
  std::size_t first_ = 0;  ///< The session that is asked first, in turn.
  std::uint64_t complete_until_ns_ = 0;
  PortCounters counters_;
};

}  // namespace

std::unique_ptr<Port> make_step_port(StepPortOptions options) {
  return std::make_unique<StepPort>(std::move(options));
}

}  // namespace stopbit::ingest
