#include "host/appliance/republication.hpp"

#include <pthread.h>

#include <cstring>
#include <limits>
#include <utility>

#include "host/appliance/idle.hpp"
#include "host/appliance/placement.hpp"
#include "host/os/clock.hpp"

namespace stopbit::appliance {

void Republication::add_counters(CounterSetBuilder& builder) {
  builder.writer();
  builder.multicast(counter_set_, settings_.name);
}

Status Republication::open(std::uint64_t epoch_ns) {
  multicast::Publisher::Lines lines;
  for (std::size_t i = 0; i < multicast::kLines; ++i) {
    if (!settings_.lines[i]) continue;
    auto line = multicast::open_line(*settings_.lines[i]);
    if (!line) return Failure{"[[multicast]] '" + settings_.name + "': " + line.message()};
    lines[i] = std::move(line).value();
  }
  multicast::PublisherOptions options = settings_.publisher;
  options.epoch_ns = epoch_ns;
  publisher_ = std::make_unique<multicast::Publisher>(std::move(options), std::move(lines),
                                                      [this](const std::string& line) { say(line); });
  epoch_ns_ = epoch_ns;
  if (!settings_.refill) return Done{};
  auto refill = multicast::RefillServer::open(*settings_.refill);
  if (!refill) return Failure{"[[multicast]] '" + settings_.name + "': " + refill.message()};
  refill_ = std::move(refill).value();
  return Done{};
}

std::size_t Republication::serve(std::uint64_t now_ns) {
  if (refill_ == nullptr || now_ns < next_refill_ns_) return 0;
  const std::size_t work = refill_->step(now_ns, {.history = publisher_->history(),
                                                  .epoch = epoch_ns_,
                                                  .layout = publisher_->layout(),
                                                  .image = publisher_->image(),
                                                  .state = &state_});
  if (work == 0) next_refill_ns_ = now_ns + kRefillNs;
  return work;
}

void Republication::start(const std::function<void()>& begin) {
  thread_ = std::thread([this, begin] {
    ::pthread_setname_np(::pthread_self(), settings_.thread.name.c_str());
    if (begin) begin();
    run();
  });
  if (const std::string why = pin(thread_, settings_.thread.core); !why.empty()) say(why);
}

void Republication::run() {
  std::uint32_t quiet_turns = 0;
  std::uint64_t next_count_ns = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    const std::uint64_t now_ns = os::monotonic_clock_ns();
    const std::size_t work = publisher_->step(now_ns, os::wall_clock_ns()) + serve(now_ns);
    if (now_ns >= next_count_ns) {
      next_count_ns = now_ns + kCountNs;
      publish_counters();
    }
    if (work != 0) {
      quiet_turns = 0;
      continue;
    }
    idle(settings_.thread, quiet_turns);
    quiet_turns += quiet_turns != std::numeric_limits<std::uint32_t>::max() ? 1 : 0;
  }
  publisher_->finish(os::monotonic_clock_ns, os::wall_clock_ns(), os::monotonic_clock_ns() + kFarewellNs);
  // Readers that lack the last packets ask for them now.
  if (refill_ != nullptr) {
    for (const std::uint64_t end = os::monotonic_clock_ns() + kFarewellNs / 2; os::monotonic_clock_ns() < end;) {
      if (serve(os::monotonic_clock_ns()) == 0) idle(settings_.thread, quiet_turns);
    }
  }
  publish_counters();
}

void Republication::stop() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void Republication::say(std::string line) {
  const std::lock_guard lock(mutex_);
  if (lines_.size() < kMostLines) {
    lines_.push_back(std::move(line));
  } else {
    counter_set_.lines_kept.add();
  }
}

bool Republication::next_line(std::string& line) {
  const std::lock_guard lock(mutex_);
  if (lines_.empty()) return false;
  line = std::move(lines_.front());
  lines_.pop_front();
  return true;
}

void Republication::publish_counters() {
  const multicast::PublisherCounts& counts = publisher_->counts();
  counter_set_.records.set(counts.records);
  counter_set_.lost.set(counts.lost);
  counter_set_.packets.set(counts.packets);
  counter_set_.heartbeats.set(counts.heartbeats);
  counter_set_.waited.set(counts.waited);
  counter_set_.limited.set(counts.limited);
  counter_set_.missed.set(counts.missed);
  counter_set_.sequence.set(publisher_->next_sequence() - 1);
  counter_set_.bytes_a.set(counts.lines[0].bytes);
  counter_set_.full_a.set(counts.lines[0].full);
  counter_set_.refused_a.set(counts.lines[0].refused);
  counter_set_.bytes_b.set(counts.lines[1].bytes);
  counter_set_.full_b.set(counts.lines[1].full);
  counter_set_.refused_b.set(counts.lines[1].refused);
  if (refill_ == nullptr) return;
  const multicast::RefillCounts& refill = refill_->counts();
  counter_set_.refill_clients.set(refill.clients);
  counter_set_.refill_accepted.set(refill.accepted);
  counter_set_.refill_refused.set(refill.refused);
  counter_set_.refill_requests.set(refill.requests);
  counter_set_.refill_packets.set(refill.packets);
  counter_set_.refill_gone.set(refill.gone);
  counter_set_.refill_malformed.set(refill.malformed);
  counter_set_.refill_idle.set(refill.idle);
}

}  // namespace stopbit::appliance
