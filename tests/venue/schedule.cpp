#include "tests/venue/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/lab/venue/venue.hpp"
#include "tests/venue/appliance.hpp"
#include "tests/venue/history.hpp"
#include "tests/venue/oracle.hpp"

namespace stopbit::venue_test {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr std::uint64_t kLongestTurnNs = 300'000;

/// What the venue sends, on two lines that lose it.
class Network {
 public:
  Network(const Plan& plan, std::size_t streams) : plan_(plan), latest_ns_(streams) {
    for (std::size_t i = 0; i < streams; ++i) {
      impair::Options options = plan.network[i == venue::kIncrements ? 0 : 1];
      options.seed += i;
      options.line[1].delay_ns = plan.skew_ns;
      lines_.emplace_back(options);
    }
  }

  void send(const venue::Packet& packet) {
    for (const std::vector<std::byte>& datagram : packet.datagrams) {
      // Chunks follow each other.
      last_ns_ = std::max(packet.time_ns - plan_.settings.start_ns, last_ns_ + 1'000);
      send(packet.stream, datagram, last_ns_);
    }
  }
  void finish() {
    for (impair::Impairer& line : lines_) line.flush(last_ns_);
    for (std::size_t i = 0; i < lines_.size(); ++i) collect(i);
    for (auto& line : arriving_) {
      std::stable_sort(line.begin(), line.end(),
                       [](const Arriving& a, const Arriving& b) { return a.at_ns < b.at_ns; });
    }
  }
  [[nodiscard]] std::vector<Arriving>& line(std::size_t line) { return arriving_[line]; }

 private:
  void send(std::size_t stream, const std::vector<std::byte>& datagram, std::uint64_t at_ns) {
    if (at_ns < plan_.joins_ns) return;
    if (at_ns < plan_.quiet_ns) {
      // No network holds back a packet over a pause.
      if (at_ns - latest_ns_[stream] >= kSecond) lines_[stream].flush(latest_ns_[stream]);
      latest_ns_[stream] = at_ns;
      lines_[stream].push(datagram, at_ns);
      return collect(stream);
    }
    if (!is_quiet_) {
      is_quiet_ = true;
      for (std::size_t i = 0; i < lines_.size(); ++i) {
        lines_[i].flush(at_ns);
        collect(i);
      }
    }
    const auto bytes = std::make_shared<const std::vector<std::byte>>(datagram);
    for (std::size_t line = 0; line < 2; ++line)
      arriving_[line].push_back({at_ns + line * plan_.skew_ns, stream, bytes});
  }
  void collect(std::size_t stream) {
    while (const impair::Copy* const copy = lines_[stream].pop(kNever)) {
      if (is_out(stream, copy->line, copy->time_ns)) continue;
      arriving_[copy->line].push_back(
          {copy->time_ns, stream, std::make_shared<const std::vector<std::byte>>(copy->bytes)});
    }
  }
  [[nodiscard]] bool is_out(std::size_t stream, std::size_t line, std::uint64_t at_ns) const {
    return std::any_of(plan_.outages.begin(), plan_.outages.end(), [&](const Outage& outage) {
      return outage.has(at_ns) && (line == 0 ? outage.of_a : outage.of_b) &&
             (stream == venue::kIncrements || outage.of_snapshots);
    });
  }

  const Plan& plan_;
  std::vector<impair::Impairer> lines_;  ///< By stream.
  std::array<std::vector<Arriving>, 2> arriving_;
  std::uint64_t last_ns_ = 0;
  std::vector<std::uint64_t> latest_ns_;  ///< The same by stream.
  bool is_quiet_ = false;
};

void count_plan(const Plan& plan, Counts& counts) {
  for (const Outage& outage : plan.outages) {
    if (!outage.of_a || !outage.of_b) continue;
    ++counts[static_cast<std::size_t>(Count::Outages)];
    if (outage.end_ns - outage.begin_ns > 15 * kSecond) ++counts[static_cast<std::size_t>(Count::LongOutages)];
  }
}

void count_books(const market::MarketCounts& from, Counts& counts) {
  const std::array all = {
      std::pair(Count::Loads, from.loads),
      std::pair(Count::Audits, from.audits),
      std::pair(Count::Refreshes, from.refreshes),
      std::pair(Count::Queued, from.queued),
      std::pair(Count::Unqueued, from.unqueued),
      std::pair(Count::TornSnapshots, from.torn_snapshots),
      std::pair(Count::OldSnapshots, from.old_snapshots),
      std::pair(Count::Healed, from.healed_by_snapshot + from.healed_by_message),
  };
  for (const auto& [what, by] : all) counts[static_cast<std::size_t>(what)] += by;
}

/// Sends the whole day. @returns what went wrong.
std::string send_day(venue::Venue& venue, Network& network, History& history) {
  venue::Packet packet;
  while (venue.next(packet)) {
    if (packet.stream == venue::kIncrements) history.add(packet);
    network.send(packet);
  }
  network.finish();
  return venue.fault();
}

void run(const Plan& plan, Appliance& appliance, Oracle& oracle, impair::Random& random) {
  const std::uint64_t end_ns = plan.settings.duration_ns + 3 * kSecond;
  std::uint64_t now_ns = 0;
  while (now_ns < end_ns && oracle.fault().empty()) {
    const std::size_t count = appliance.do_work(now_ns);
    oracle.check(appliance, now_ns);
    now_ns += 1 + random.below(kLongestTurnNs);
    if (count != 0) continue;
    // Polls in vain up to what comes next.
    const std::uint64_t next = std::min(
        {appliance.port(0).next_ns(), appliance.port(1).next_ns(), std::max(appliance.next_deadline_ns(), now_ns)});
    if (next <= now_ns) continue;
    now_ns = std::min(next, end_ns);
  }
}

}  // namespace

std::string play(std::uint64_t seed, Counts& counts, int story) {
  const Plan plan = make_plan(seed);
  Diagnostics diagnostics;
  const std::unique_ptr<venue::Venue> venue = venue::Venue::make(plan.settings, diagnostics);
  if (venue == nullptr) return diagnostics.format();
  History history(plan.settings.instruments, venue->voice().map().starts_with("t7") ? 10'000 : 1);
  Network network(plan, venue->voice().streams().size());
  if (const std::string fault = send_day(*venue, network, history); !fault.empty()) return fault;
  count_plan(plan, counts);
  counts[static_cast<std::size_t>(Count::Packets)] += history.packets();

  Oracle oracle(plan, *venue, history, counts, story);
  Appliance appliance(plan, venue->voice(), [&oracle](std::span<const record::Slot> record) { oracle.take(record); });
  for (std::size_t line = 0; line < 2; ++line) {
    for (Arriving& arriving : network.line(line)) appliance.port(line).add(std::move(arriving));
  }
  impair::Random random(seed);
  run(plan, appliance, oracle, random);
  appliance.finish();
  count_books(appliance.translator().counts(), counts);
  oracle.finish(appliance);
  return oracle.fault();
}

}  // namespace stopbit::venue_test
