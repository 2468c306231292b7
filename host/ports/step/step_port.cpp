#include "host/ports/step/step_port.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stopbit::ingest {
namespace {

/// Fewer polls in vain than those after which an agent blocks.
constexpr std::uint32_t kPollsBeforeBell = 1'024;

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
    // By edges: nothing has to be read to end an event.
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, sessions_.back().link->bell.get(), &event) != 0) {
      return Failure{os::system_error("watch", "the session with " + net::to_text(membership.group))};
    }
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
    polls_in_vain_ = count == 0 ? polls_in_vain_ + 1 : 0;
    if (polls_in_vain_ == kPollsBeforeBell) want_bell();
    return count;
  }

  std::uint64_t complete_until() const noexcept override { return complete_until_ns_; }
  std::optional<int> wakes_by() const noexcept override { return epoll_.get(); }
  const PortCounters& counters() const noexcept override { return counters_; }
  std::string_view name() const noexcept override { return "step"; }

 private:
  using Item = os::MessageQueue<StepLink::Info>::Item;

  /// The agent may block soon. Packets that come before the next poll are found by it, those after that ring.
  void want_bell() noexcept {
    // Events of packets that were taken.
    std::array<epoll_event, 64> old;
    while (::epoll_wait(epoll_.get(), old.data(), static_cast<int>(old.size()), 0) > 0) continue;
    for (const Session& session : sessions_) session.link->is_bell_wanted.exchange(true);
  }

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
  os::Descriptor epoll_{::epoll_create1(EPOLL_CLOEXEC)};  ///< Of the bells.
  std::uint64_t polls_in_vain_ = 0;                       ///< In a row.
  std::size_t first_ = 0;                                 ///< The session that is asked first, in turn.
  std::uint64_t complete_until_ns_ = 0;
  PortCounters counters_;
};

}  // namespace

std::unique_ptr<Port> make_step_port(StepPortOptions options) {
  return std::make_unique<StepPort>(std::move(options));
}

}  // namespace stopbit::ingest
