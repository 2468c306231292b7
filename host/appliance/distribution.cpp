#include "host/appliance/distribution.hpp"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "host/appliance/appliance.hpp"
#include "host/appliance/entitlements.hpp"
#include "host/appliance/idle.hpp"
#include "host/appliance/placement.hpp"
#include "host/appliance/publications.hpp"
#include "host/nic/transport/shm/shm_transport.hpp"
#include "host/os/clock.hpp"
#include "host/os/shm/name.hpp"

namespace stopbit::appliance {
namespace {

constexpr std::uint64_t kSilenceNs = 10'000'000'000;

/// Returns the device and inode that the name refers to.
std::pair<dev_t, ino_t> file_at(const std::string& path) noexcept {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? std::pair(status.st_dev, status.st_ino) : std::pair<dev_t, ino_t>();
}

nic::NodeOptions node_options(const nic::LinkOptions& link) {
  nic::NodeOptions options;
  options.link = link;
  options.link.silence_ns = kSilenceNs;  // a process that makes a large ring, or waits for a processor, is not lost
  return options;
}

/// A ring that clients of the broker may have near.
remote::PublishedRing for_clients(const OfferedRing& ring) {
  return {.name = ring.name, .ring = ring.ring, .token = "", .is_for_clients = true, .allows_lossless = false};
}

}  // namespace

Distribution::Distribution(const NicSettings& settings) : settings_(settings), rings_(settings.rings) {
  for (const OfferedRing& ring : settings.rings) {
    if (!settings.broker.empty()) offers_.push_back({.of = {.ring = ring}});
  }
  const auto add_way = [&](const char* name, bool PublishSettings::*wanted) {
    Way& way = *ways_.emplace_back(std::make_unique<Way>());
    way.name = name;
    way.wanted = wanted;
    way.counter_set.places.resize(settings.subscribers);
    way.occupants.resize(settings.subscribers);
  };
  add_way("shm", &PublishSettings::to_shm);
  if (!settings.listen.empty()) add_way("fabric", &PublishSettings::to_fabric);
  if (settings.udp) add_way("udp", &PublishSettings::to_udp);
}

void Distribution::add_counters(CounterSetBuilder& builder) {
  builder.nic(counter_set_);
  for (const std::unique_ptr<Way>& way : ways_) {
    builder.units(way->units, way->name);
    if (way->wanted == &PublishSettings::to_fabric) builder.fabric(fabric_counter_set_);
    if (way->wanted == &PublishSettings::to_udp) builder.udp(udp_counter_set_);
    builder.publisher(way->counter_set, way->name);
  }
  for (Offer& offer : offers_) builder.offer(offer.of.counter_set, offer.of.ring.name);
}

Status Distribution::open() {
  for (Offer& offer : offers_) {
    Result<std::string> path = os::path_of(offer.of.ring.ring);
    if (!path) return Failure{"[nic]: " + path.message()};
    offer.path = std::move(path).value();
  }
  Status opened = open_ways();
  for (std::size_t i = 0; opened && i < ways_.size(); ++i) opened = open_publisher(i);
  // After the publishers: subscribers know these by the first port of a node.
  if (opened && !settings_.broker.empty()) opened = open_broker();
  return opened ? opened : Failure{"[nic]: " + opened.message()};
}

Status Distribution::open_ways() {
  auto local =
      nic::ShmTransport::open({.network = settings_.network, .node = 0, .nodes = nic::ShmOptions::kUsualNodes});
  if (!local) return Failure{local.message()};
  ways_[0]->carrier = std::move(local).value();
  ways_[0]->link = nic::fabric_link_options();
  sweep();
  for (const std::unique_ptr<Way>& way : ways_) {
    Status opened = Done{};
    if (way->wanted == &PublishSettings::to_fabric) opened = open_fabric(*way);
    if (way->wanted == &PublishSettings::to_udp) opened = open_udp(*way);
    if (!opened) return opened;
  }
  // All or none: what there is to close later goes by them.
  for (const std::unique_ptr<Way>& way : ways_) {
    way->node = std::make_unique<nic::Node>(*way->carrier, node_options(way->link));
  }
  return Done{};
}

Status Distribution::open_fabric(Way& way) {
  nic::FabricOptions options;
  if (!settings_.provider.empty()) options.provider = settings_.provider;
  options.listen = settings_.listen;
  if (nic::leaves_host(options.provider)) {
    auto program = nic::find_fabric_program();
    if (!program) return Failure{program.message()};
    options.program = std::move(program).value();
  }
  auto fabric = nic::FabricTransport::listen(options);
  if (!fabric) return Failure{fabric.message()};
  address_ = fabric.value()->address();
  fabric_ = fabric.value().get();
  way.carrier = std::move(fabric).value();
  way.link = nic::fabric_link_options();
  return Done{};
}

/// Its sockets are open from here on: later the carrier accepts connections, and makes none.
Status Distribution::open_udp(Way& way) {
  Result<nic::UdpOptions> options = udp_options_of(*settings_.udp);
  if (!options) return Failure{"[nic.udp]: " + options.message()};
  auto udp = nic::UdpTransport::listen(options.value());
  if (!udp) return Failure{"[nic.udp]: " + udp.message()};
  udp_ = udp.value().get();
  way.carrier = std::move(udp).value();
  way.link = nic::udp_link_options();
  return Done{};
}

/// What [[publish]] says for this way, and what the broker's clients may have near.
std::vector<remote::PublishedRing> Distribution::rings_of(std::size_t way) const {
  std::vector<remote::PublishedRing> rings = published_[way];
  for (const Offer& offer : offers_) {
    if (way == 0 && !offer.path.empty()) rings.push_back(for_clients(offer.of.ring));
  }
  return rings;
}

Status Distribution::open_publisher(std::size_t number) {
  Way& way = *ways_[number];
  remote::PublisherOptions options;
  options.domain = kPublishDomain;
  options.subscribers = settings_.subscribers;
  options.subscribers_per_address = settings_.subscribers_per_address;
  options.requests_per_second = settings_.requests_per_second;
  options.stuck_ns = kPatienceNs;
  options.log = [this, &way](const std::string& line) { say(way.voice, way.name + ": " + line); };
  Result<std::vector<remote::PublishedRing>> published = publications_of(settings_, way.wanted);
  if (!published) return Failure{published.message()};
  published_.push_back(std::move(published).value());
  options.rings = rings_of(number);
  for (const OfferedRing& ring : settings_.rings) options.reserved.push_back(ring.ring);
  auto publisher = remote::Publisher::open(*way.node, options);
  if (!publisher) return Failure{publisher.message()};
  way.publisher = std::move(publisher).value();
  return Done{};
}

Status Distribution::open_broker() {
  nic::BrokerOptions options;
  options.socket = settings_.broker;
  options.entitlements = settings_.entitlements;
  options.clients = settings_.clients;
  options.publisher = ways_[0]->publisher.get();
  options.resident_bytes = settings_.resident_bytes;
  options.log = [this](const std::string& line) { say(broker_voice_, line); };
  options.log_refusal = [this](const std::string& line) { say(refusal_voice_, line); };
  auto broker = nic::Broker::open(*ways_[0]->node, options);
  if (!broker) return Failure{broker.message()};
  broker_ = std::move(broker).value();
  for (Offer& offer : offers_) {
    if (Status fed = feed_broker(offer); !fed) return fed;
  }
  return Done{};
}

/// Lets the broker have the segment that has the ring's name now.
Status Distribution::feed_broker(Offer& offer) {
  const std::string& name = offer.of.ring.name;
  std::tie(offer.device, offer.inode) = file_at(offer.path);
  Status fed = offer.has_feed ? broker_->replace_feed(name, offer.path) : broker_->add_feed(name, offer.path);
  offer.has_feed = offer.has_feed || fed;
  return fed;
}

void Distribution::start(const std::function<void()>& begin) {
  thread_ = std::thread([this, begin] {
    ::pthread_setname_np(::pthread_self(), settings_.thread.name.c_str());
    if (begin) begin();
    run();
  });
  const std::string why = pin(thread_, settings_.thread.core);
  if (why.empty()) return;
  const std::lock_guard lock(mutex_);
  lines_.push_back(why);
}

void Distribution::stop() {
  stop_.store(true, std::memory_order_relaxed);
  bell_.ring();
  if (thread_.joinable()) thread_.join();
  close();
}

void Distribution::close() {
  if (!ways_[0]->node || is_closed_) return;
  is_closed_ = true;
  // Rings have ended: subscribers get what is on its way. Continues the clock of the previous steps, whichever clock it
  // was: nodes take a leap of it for a time without any sign of a peer.
  const std::uint64_t then_ns = now_ns_;
  const std::uint64_t begin_ns = os::monotonic_clock_ns();
  const auto clock_ns = [&] { return then_ns + (os::monotonic_clock_ns() - begin_ns); };
  Farewell farewell = look_at_subscribers();
  std::uint64_t moved_ns = begin_ns;
  while (!farewell.is_served && os::monotonic_clock_ns() - moved_ns < kFarewellNs &&
         os::monotonic_clock_ns() - begin_ns < (farewell.waits ? kLongestFarewellNs : kFarewellNs)) {
    if (step(clock_ns()) == 0) idle(settings_.thread, 0);
    const Farewell now = look_at_subscribers();
    if (now.progress != farewell.progress) moved_ns = os::monotonic_clock_ns();
    farewell = now;
  }
  publish_counters();
  broker_.reset();
  for (const std::unique_ptr<Way>& way : ways_) way->publisher.reset();  // sends each the records that it lacks
  const std::uint64_t told_ns = os::monotonic_clock_ns();
  // Twice: the carrier udp gives to the kernel in one step what was sent in the step before.
  for (int steps = 0; steps < 2 || (!farewell.is_served && os::monotonic_clock_ns() - told_ns < kGoodbyeNs); ++steps) {
    for (const std::unique_ptr<Way>& way : ways_) {
      if (way->node) (void)way->node->step(clock_ns());
    }
    if (!farewell.is_served) idle(settings_.thread, 0);
  }
}

/// A far subscriber that has everything is none any more; a near one stays until it leaves.
Distribution::Farewell Distribution::look_at_subscribers() const {
  Farewell all;
  for (const std::unique_ptr<Way>& way : ways_) {
    if (!way->publisher) continue;
    for (const remote::SubscriptionStatus& status : way->publisher->status()) {
      all.is_served = all.is_served && status.has_all;
      all.waits = all.waits || (status.is_lossless && !status.has_all);
      all.progress += status.records + status.filtered + status.kept;
    }
    all.progress += way->publisher->counters().ended;
  }
  return all;
}

void Distribution::run() {
  std::uint32_t quiet_turns = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (step(os::monotonic_clock_ns()) != 0) {
      quiet_turns = 0;
      continue;
    }
    if (may_rest(settings_.thread, quiet_turns) && is_at_rest()) {
      rest();
    } else {
      idle(settings_.thread, quiet_turns);
    }
    quiet_turns += quiet_turns != std::numeric_limits<std::uint32_t>::max() ? 1 : 0;
  }
  close();  // here: only this thread may make the system calls of carriers
}

/// Sleeps until an agent has records or the time has passed: peers have no bell, so the first command of one that was
/// silent may wait that long.
void Distribution::rest() {
  bell_.lie_down();
  if (step(os::monotonic_clock_ns()) == 0 && !stop_.load(std::memory_order_relaxed)) bell_.sleep(kLongestRest);
  bell_.get_up();
}

/// No peer is expected to answer: what is under way must not wait for a long sleep to end.
bool Distribution::is_at_rest() const {
  return std::all_of(ways_.begin(), ways_.end(), [](const std::unique_ptr<Way>& way) {
    if (!way->node->is_idle()) return false;
    const std::vector<remote::SubscriptionStatus> all = way->publisher->status();
    return std::none_of(all.begin(), all.end(), [](const auto& one) { return one.is_lossless || one.behind != 0; });
  });
}

std::size_t Distribution::step(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  std::size_t work = 0;
  for (const std::unique_ptr<Way>& way : ways_) {
    work += way->node->step(now_ns);
    if (way->publisher) work += way->publisher->step(now_ns);
  }
  if (now_ns >= next_broker_ns_) {
    next_broker_ns_ = now_ns + kBrokerNs;
    if (has_orders_.load(std::memory_order_acquire)) take_orders();
    if (broker_) work += broker_->step();
  }
  if (now_ns >= next_look_ns_) {
    next_look_ns_ = now_ns + kLookNs;
    if (broker_) look_at_rings();
    publish_counters();
  }
  if (now_ns >= next_sweep_ns_) sweep();
  return work;
}

/// What subscribers that were killed have left in shared memory goes.
void Distribution::sweep() {
  next_sweep_ns_ = now_ns_ + kSweepNs;
  nic::ShmTransport::remove_dead(settings_.network, nic::ShmOptions::kUsualNodes);
}

/// A ring that is made anew has another segment under its name.
void Distribution::look_at_rings() {
  for (Offer& offer : offers_) {
    if (offer.path.empty()) continue;
    const auto [device, inode] = file_at(offer.path);
    if (inode == 0 || (device == offer.device && inode == offer.inode)) continue;
    const Status replaced = feed_broker(offer);
    say(broker_voice_,
        "feed '" + offer.of.ring.name + "' " + (replaced ? "was replaced" : "was not replaced: " + replaced.message()));
  }
}

void Distribution::take_orders() {
  std::optional<std::vector<nic::Entitlement>> entitlements;
  std::optional<Publications> publications;
  std::optional<std::vector<CountedOffer>> rings;
  {
    const std::lock_guard lock(mutex_);
    entitlements = std::exchange(entitlements_, std::nullopt);
    publications = std::exchange(publications_, std::nullopt);
    rings = std::exchange(new_rings_, std::nullopt);
    has_orders_.store(false, std::memory_order_relaxed);
  }
  if (entitlements && broker_) broker_->entitle(std::move(*entitlements));
  if (!publications && !rings) return;
  if (publications) published_ = std::move(*publications);
  if (rings) take_rings(std::move(*rings));
  for (std::size_t i = 0; i < ways_.size(); ++i) ways_[i]->publisher->republish(rings_of(i));
}

void Distribution::take_rings(std::vector<CountedOffer> rings) {
  std::vector<std::string> reserved;
  for (const CountedOffer& one : rings) reserved.push_back(one.ring.ring);
  for (const std::unique_ptr<Way>& way : ways_) way->publisher->reserve(reserved);
  if (!broker_) return;
  for (Offer& offer : offers_) {
    const auto is_its = [&](const CountedOffer& one) { return one.ring == offer.of.ring; };
    if (offer.path.empty() || std::any_of(rings.begin(), rings.end(), is_its)) continue;
    // Clients that have attached it keep it until they detach.
    broker_->remove_feed(offer.of.ring.name);
    offer = {.of = std::move(offer.of)};
  }
  for (CountedOffer& ring : rings) {
    const auto is_its = [&](const Offer& offer) { return offer.of.ring.name == ring.ring.name; };
    auto offer = std::find_if(offers_.begin(), offers_.end(), is_its);
    if (offer == offers_.end()) offer = offers_.insert(offer, Offer{.of = ring});
    if (!offer->path.empty()) continue;
    offer->of = std::move(ring);
    offer->path = os::path_of(offer->of.ring.ring).value();  // can_offer() has looked at it
    const Status fed = feed_broker(*offer);
    say(broker_voice_, "feed '" + offer->of.ring.name + "' " + (fed ? "was added" : "was not added: " + fed.message()));
  }
}

Status Distribution::can_offer(const std::vector<OfferedRing>& rings) {
  std::vector<remote::PublishedRing> all;
  for (const OfferedRing& ring : rings) all.push_back(for_clients(ring));
  return remote::Publisher::check(all);
}

void Distribution::offer(std::vector<CountedOffer> rings) {
  const std::lock_guard lock(mutex_);
  std::vector<OfferedRing> names;
  for (const CountedOffer& one : rings) names.push_back(one.ring);
  if (names == rings_) return;
  rings_ = std::move(names);
  new_rings_ = std::move(rings);
  has_orders_.store(true, std::memory_order_release);
}

void Distribution::entitle(std::vector<nic::Entitlement> entitlements) {
  const std::lock_guard lock(mutex_);
  entitlements_ = std::move(entitlements);
  has_orders_.store(true, std::memory_order_release);
}

Result<std::string> Distribution::republish(const NicSettings& settings) {
  NicSettings running = settings_;
  {
    const std::lock_guard lock(mutex_);
    running.rings = rings_;
  }
  if (const Status can = can_republish(running, settings); !can) return can.failure();
  Publications publications;
  for (const std::unique_ptr<Way>& way : ways_) {
    Result<std::vector<remote::PublishedRing>> rings = publications_of(settings, way->wanted);
    if (!rings) return Failure{rings.message()};
    if (const Status good = remote::Publisher::check(rings.value()); !good) return good.failure();
    publications.push_back(std::move(rings).value());
  }
  std::string names;
  for (const PublishSettings& published : settings.publish) names += (names.empty() ? ": " : ", ") + published.name;
  const std::lock_guard lock(mutex_);
  publications_ = std::move(publications);
  has_orders_.store(true, std::memory_order_release);
  const std::size_t count = settings.publish.size();
  return std::to_string(count) + (count == 1 ? " ring" : " rings") + " published" + names;
}

/// Each line costs some of a credit that comes back with time.
void Distribution::say(Voice& voice, std::string line) {
  voice.credit_ns = std::min(voice.credit_ns + (now_ns_ - voice.last_ns), kLines * kLineNs);
  voice.last_ns = now_ns_;
  if (voice.credit_ns < kLineNs) {
    counter_set_.lines_kept.add();
    return;
  }
  voice.credit_ns -= kLineNs;
  const std::lock_guard lock(mutex_);
  lines_.push_back(std::move(line));
}

bool Distribution::next_line(std::string& line) {
  const std::lock_guard lock(mutex_);
  if (lines_.empty()) return false;
  line = std::move(lines_.front());
  lines_.pop_front();
  return true;
}

void Distribution::publish_counters() {
  std::uint64_t commands = 0;
  for (const std::unique_ptr<Way>& way : ways_) {
    commands += way->node->counters().commands;
    publish_units(*way->node, way->units);
    if (way->publisher) publish_subscribers(*way);
  }
  counter_set_.commands.set(commands);
  if (fabric_ != nullptr) publish_fabric();
  if (udp_ != nullptr) publish_udp();
  if (broker_) publish_broker();
}

void Distribution::publish_units(const nic::Node& node, const UnitsCounterSet& counter_set) {
  const auto sum = [](const auto& of_codes) {
    return std::accumulate(of_codes.begin(), of_codes.end(), std::uint64_t{0});
  };
  const nic::LinkCounters& links = node.links().counters();
  counter_set.sent.set(links.sent);
  counter_set.resent.set(links.resent);
  counter_set.delivered.set(links.delivered);
  counter_set.bad_frames.set(links.damaged + links.foreign + links.outside + links.stale + links.forged);
  counter_set.lost.set(links.lost);
  counter_set.rejoined.set(links.rejoined);
  const nic::MessageCounters& messages = node.messages().counters();
  counter_set.messages_sent.set(messages.sent);
  counter_set.messages_delivered.set(messages.delivered);
  counter_set.messages_dropped.set(messages.dropped);
  counter_set.messages_refused.set(messages.refused);
  const nic::RmaCounters& rma = node.rma().counters();
  counter_set.transfers.set(rma.started);
  counter_set.served.set(rma.served);
  counter_set.transfers_refused.set(sum(rma.refused));
  counter_set.failed.set(sum(rma.own_error));
  counter_set.bounced.set(rma.bounced);
  counter_set.held_up.set(rma.held_up);
  const nic::AtuCounters& atu = node.atu().counters();
  counter_set.hits.set(atu.hits);
  counter_set.misses.set(atu.misses);
  counter_set.faults.set(atu.faults);
}

void Distribution::publish_fabric() {
  const nic::FabricCounters& counters = fabric_->counters();
  fabric_counter_set_.bad_frames.set(counters.malformed + counters.oversized + counters.version + counters.strangers +
                                     counters.stale + counters.forged);
  fabric_counter_set_.joined.set(counters.joined);
  fabric_counter_set_.refused.set(counters.refused);
  fabric_counter_set_.expired.set(counters.expired);
  fabric_counter_set_.renewed.set(counters.renewed);
  fabric_counter_set_.deaths.set(fabric_->deaths().count);
  fabric_counter_set_.cut_off.set(fabric_->problem().empty() ? 0 : 1);
  tell_of_fabric();
}

void Distribution::tell_of_fabric() {
  // A confined appliance starts no process: not another supervisor of those of libfabric.
  if (const std::string problem = fabric_->problem(); !problem.empty()) {
    if (now_ns_ < next_cut_off_ns_) return;
    next_cut_off_ns_ = now_ns_ + cut_off_pause_ns_;
    cut_off_pause_ns_ = std::min(2 * cut_off_pause_ns_, kLastReminderNs);
    return say(fabric_voice_, "fabric: other hosts are no longer served: " + problem + "; restart the appliance");
  }
  const nic::FabricDeaths& deaths = fabric_->deaths();
  if (deaths.count == told_deaths_) return;
  told_deaths_ = deaths.count;
  say(fabric_voice_, "fabric: the libfabric process ended: " + deaths.why + "; " + std::to_string(deaths.count) +
                         (deaths.count == 1 ? " time" : " times") + " so far");
}

void Distribution::publish_udp() {
  const nic::UdpCounters& counters = udp_->counters();
  udp_counter_set_.encrypted.set(udp_->is_exact() ? 1 : 0);
  udp_counter_set_.members.set(udp_->members());
  udp_counter_set_.joined.set(counters.joined);
  udp_counter_set_.left.set(counters.left);
  udp_counter_set_.died.set(counters.died);
  udp_counter_set_.wrong_token.set(counters.wrong_token);
  udp_counter_set_.refused.set(counters.refused);
  udp_counter_set_.half_open.set(counters.half_open);
  udp_counter_set_.garbled.set(counters.garbled);
  udp_counter_set_.rekeyed.set(counters.rekeyed);
  udp_counter_set_.sent.set(counters.sent);
  udp_counter_set_.received.set(counters.received);
  udp_counter_set_.not_sent.set(counters.no_room + counters.absent + counters.keyless + counters.broken);
  udp_counter_set_.limited.set(counters.limited);
  udp_counter_set_.too_long.set(counters.too_long);
  udp_counter_set_.unreachable.set(counters.unreachable);
  udp_counter_set_.dropped.set(counters.dropped);
  udp_counter_set_.strangers.set(counters.malformed + counters.version + counters.strangers);
  udp_counter_set_.stale.set(counters.stale);
  udp_counter_set_.replayed.set(counters.replayed);
  udp_counter_set_.forged.set(counters.forged);
  tell_of_udp();
}

/// What has been refused since the last line. One line for all of it, and not often: strangers can cause it.
void Distribution::tell_of_udp() {
  if (now_ns_ < next_udp_line_ns_) return;
  const nic::UdpCounters& now = udp_->counters();
  std::string line;
  const auto tell = [&line](std::uint64_t after, std::uint64_t before, const char* what,
                            const std::optional<nic::HostAddress>& from = std::nullopt) {
    if (after == before) return;
    line += (line.empty() ? "" : ", ") + std::to_string(after - before) + ' ' + what;
    if (from) line += ", the last from " + nic::to_text(*from);
  };
  tell(now.wrong_token, told_udp_.wrong_token, "with another token or none", udp_->wrong_token_from());
  tell(now.refused, told_udp_.refused, "of another version or geometry, or beyond the slots", udp_->refused_from());
  tell(now.half_open, told_udp_.half_open, "connections that did not ask in time");
  tell(now.garbled, told_udp_.garbled, "connections with a malformed message");
  tell(now.malformed + now.version + now.strangers, told_udp_.malformed + told_udp_.version + told_udp_.strangers,
       "datagrams of strangers");
  tell(now.replayed, told_udp_.replayed, "replayed datagrams");
  tell(now.forged, told_udp_.forged, "forged datagrams");
  if (line.empty()) return;
  told_udp_ = now;
  next_udp_line_ns_ = now_ns_ + kStrangersNs;
  say(udp_voice_, "udp: refused: " + line);
}

/// A subscriber keeps its slot as long as it is connected.
void Distribution::publish_subscribers(Way& way) {
  const std::vector<remote::SubscriptionStatus> subscribers = way.publisher->status();
  const remote::PublisherCounters& counters = way.publisher->counters();
  way.counter_set.subscriber_count.set(subscribers.size());
  way.counter_set.admitted.set(counters.accepted);
  way.counter_set.refused.set(counters.refused);
  way.counter_set.ended.set(counters.ended);
  way.counter_set.detached.set(counters.detached);
  for (std::size_t i = 0; i < way.counter_set.refusals.size(); ++i) {
    way.counter_set.refusals[i].set(counters.refused_by[i + 1]);
  }
  way.counter_set.malformed.set(counters.malformed);
  using Occupant = Way::Occupant;
  const auto occupant_of = [](const remote::SubscriptionStatus& status) {
    return Occupant(status.node, status.vpid, status.since_ns);
  };
  for (std::size_t i = 0; i < way.occupants.size(); ++i) {
    const auto is_here = [&](const auto& status) { return way.occupants[i] == occupant_of(status); };
    if (!way.occupants[i] || std::any_of(subscribers.begin(), subscribers.end(), is_here)) continue;
    way.occupants[i].reset();
    way.counter_set.places[i].state_code.set(0);
  }
  const std::uint64_t wall_ns = os::wall_clock_ns();
  for (const remote::SubscriptionStatus& status : subscribers) {
    auto place = std::find(way.occupants.begin(), way.occupants.end(), std::optional(occupant_of(status)));
    if (place == way.occupants.end()) place = std::find(way.occupants.begin(), way.occupants.end(), std::nullopt);
    if (place == way.occupants.end()) continue;
    const SubscriberCounterSet& counter_set =
        way.counter_set.places[static_cast<std::size_t>(place - way.occupants.begin())];
    if (!*place) {
      *place = occupant_of(status);
      counter_set.who.set(way.name + (status.address ? " " + nic::to_text(*status.address) : "") + " node " +
                          std::to_string(status.node) + " port " + std::to_string(status.vpid) +
                          (status.is_near ? " near" : ""));
      counter_set.ring.set(status.ring);
      counter_set.since_ns.set(wall_ns - std::min(wall_ns, now_ns_ - std::min(now_ns_, status.since_ns)));
    }
    counter_set.records.set(status.records);
    counter_set.slots.set(status.slots);
    counter_set.filtered.set(status.filtered);
    counter_set.lost.set(status.lost);
    counter_set.behind.set(status.behind);
    counter_set.state_code.set(static_cast<std::uint64_t>(status.state));
  }
}

void Distribution::publish_broker() {
  const nic::BrokerCounters& counters = broker_->counters();
  counter_set_.clients.set(broker_->clients());
  counter_set_.ports_opened.set(counters.opened);
  counter_set_.ports_gone.set(counters.gone);
  counter_set_.turned_away.set(counters.turned_away);
  counter_set_.malformed.set(counters.malformed);
  std::uint64_t refused = 0;
  for (const std::uint64_t count : counters.refused) refused += count;
  counter_set_.refused.set(refused);
  counter_set_.shared_bytes.set(counters.shared_bytes);
  const nic::PagingUse paging = broker_->paging();
  counter_set_.unpinned.set(paging.memories);
  counter_set_.unpinned_bytes.set(paging.file_bytes);
  counter_set_.resident_bytes.set(paging.resident_bytes);
  counter_set_.pages_fetched.set(paging.fetched);
  counter_set_.pages_evicted.set(paging.evicted);
  counter_set_.pages_written.set(paging.written);
  counter_set_.pages_failed.set(paging.failures);
  const nic::Broker::Uses uses = broker_->uses();
  for (const Offer& offer : offers_) {
    const std::string& name = offer.of.ring.name;
    nic::FeedUse sum;
    // The users of a feed are adjacent.
    for (auto use = uses.lower_bound({name, 0}); use != uses.end() && use->first.first == name; ++use) {
      sum.attached += use->second.attached;
      sum.refused += use->second.refused;
      sum.now += use->second.now;
      sum.gets += use->second.gets;
      sum.bytes += use->second.bytes;
    }
    const OfferCounterSet& counter_set = offer.of.counter_set;
    counter_set.attached.set(sum.attached);
    counter_set.refused.set(sum.refused);
    counter_set.attachments.set(sum.now);
    counter_set.gets.set(sum.gets);
    counter_set.bytes.set(sum.bytes);
  }
}

}  // namespace stopbit::appliance
