#include "host/remote/publisher.hpp"

#include <algorithm>
#include <utility>

#include "host/os/shm/name.hpp"
#include "host/remote/far_subscription.hpp"

namespace stopbit::remote {
namespace {

/// "port 1 of node 2 at 10.1.2.3"
std::string to_text(const Subscription::Peer& peer, const std::optional<nic::HostAddress>& address) {
  return "port " + std::to_string(peer.vpid) + " of node " + std::to_string(peer.node) +
         (address ? " at " + nic::to_text(*address) : "");
}

}  // namespace

Status Publisher::check(const std::vector<PublishedRing>& rings) {
  for (const PublishedRing& ring : rings) {
    if (ring.name.empty() || ring.name.size() > kMaxNameBytes) {
      return Failure{"the name of a published ring must have 1 to " + std::to_string(kMaxNameBytes) + " bytes, '" +
                     ring.name + "' has " + std::to_string(ring.name.size())};
    }
    if (ring.token.size() > kMaxTokenBytes) {
      return Failure{"the token of '" + ring.name + "' is longer than " + std::to_string(kMaxTokenBytes) + " bytes"};
    }
    const Result<std::string> path = os::path_of(ring.ring);
    if (!path) return Failure{path.message()};
    const auto same = std::count_if(rings.begin(), rings.end(), [&](const PublishedRing& other) {
      return other.name == ring.name && other.is_for_clients == ring.is_for_clients;
    });
    if (same != 1) return Failure{"two rings are published as '" + ring.name + "'"};
  }
  return Done{};
}

Result<std::unique_ptr<Publisher>> Publisher::open(nic::Node& node, const PublisherOptions& options) {
  if (const Status good = check(options.rings); !good) return good.failure();
  if (!landing_layout(node.links().packet_bytes(), nic::ChannelLayout::kMinSlots)) {
    return Failure{"the carrier's frames are too small for records"};
  }
  Result<std::unique_ptr<NodePort>> port = NodePort::open(node, options.domain);
  if (!port) return Failure{port.message()};
  return std::unique_ptr<Publisher>(new Publisher(node, options, std::move(port).value()));
}

Publisher::Publisher(nic::Node& node, const PublisherOptions& options, std::unique_ptr<NodePort> port)
    : node_(node), options_(options), port_(std::move(port)), rates_(options.requests_per_second) {
  for (const PublishedRing& ring : options_.rings) rings_.push_back({ring, nullptr});
  subscribers_.reserve(options_.subscribers);
}

Publisher::~Publisher() {
  // As far as there is room: a subscriber that misses it finds out by itself.
  for (const std::unique_ptr<Subscription>& subscriber : subscribers_) {
    const Subscription::Peer peer = subscriber->peer();
    (void)port_of(peer).send(peer.node, peer.vpid, to_bytes(goodbye(*subscriber, Refusal::Closing)), now_ns_);
  }
}

/// A lossless subscriber learns what it has not had.
Refuse Publisher::goodbye(const Subscription& subscription, Refusal why) {
  return {subscription.session(), why, "", subscription.is_lossless() ? subscription.refused_records() : 0};
}

/// No subscriber had a chance to answer while this process was stopped, or had no processor.
void Publisher::forgive(std::uint64_t ns) noexcept {
  for (const std::unique_ptr<Subscription>& subscriber : subscribers_) subscriber->forgive(ns);
  for (Waiting& waiting : waiting_) waiting.since_ns += ns;
}

std::size_t Publisher::step(std::uint64_t now_ns) {
  if (now_ns_ != 0 && now_ns - now_ns_ >= kStallBeats * options_.beat_ns) forgive(now_ns - now_ns_);
  now_ns_ = now_ns;
  // Records first: new subscribers have time.
  std::size_t work = 0;
  for (std::size_t i = 0; i < subscribers_.size(); ++i) {
    work += subscribers_[(first_ + i) % subscribers_.size()]->step(now_ns);
  }
  ++first_;
  work += hear(*port_, now_ns);
  for (const auto& [domain, door] : doors_) work += hear(*door, now_ns);
  if (now_ns >= next_beat_ns_) {
    next_beat_ns_ = now_ns + options_.beat_ns;
    look_after(now_ns);
  }
  for (std::size_t i = 0; i < subscribers_.size();) {
    const auto at = subscribers_.begin() + static_cast<std::ptrdiff_t>(i);
    if ((*at)->end().empty()) {
      ++i;
    } else {
      end(at, (*at)->end());
    }
  }
  return work;
}

std::size_t Publisher::hear(NodePort& door, std::uint64_t now_ns) {
  std::size_t heard = 0;
  while (heard < kMessagesPerStep) {
    const std::optional<nic::MessageHead> head = door.receive(message_);
    if (!head) break;
    ++heard;
    if (head->is_erroneous) continue;
    const Subscription::Peer peer{head->node, head->vpid};
    const std::span<const std::byte> bytes = std::span(message_).first(head->length);
    std::uint16_t version = 0;
    const Result<Greeting> greeting = read_greeting(bytes, version);
    if (!greeting) {
      ++counters_.malformed;
      // A peer of another version gets a refusal; a message that is no greeting gets no answer.
      if (version != 0) refuse(door, peer, 0, Refusal::Version, greeting.message(), now_ns);
    } else if (greeting.value().call != Call::Echo && greeting.value().call != Call::Reached &&
               !is_in_time(peer, now_ns)) {
      refuse(door, peer, greeting.value().session, Refusal::Hasty, "", now_ns);
    } else if (greeting.value().call == Call::Subscribe || greeting.value().call == Call::SubscribeNear) {
      subscribe(door, peer, bytes, now_ns);
    } else if (greeting.value().call == Call::Leave) {
      leave(peer, greeting.value().session);
    } else if (greeting.value().call == Call::Echo) {
      echo(peer, bytes);
    } else if (greeting.value().call == Call::Reached) {
      reached(peer, bytes);
    } else {
      ++counters_.malformed;
    }
  }
  return heard;
}

/// Whether its address may make a request now.
bool Publisher::is_in_time(const Subscription::Peer& peer, std::uint64_t now_ns) {
  const std::optional<nic::HostAddress> address = node_.address_of(peer.node);
  return !address || rates_.take(*address, now_ns);
}

void Publisher::subscribe(NodePort& door, const Subscription::Peer& peer, std::span<const std::byte> bytes,
                          std::uint64_t now_ns) {
  const Result<Subscribe> read = read_subscribe(bytes);
  if (!read) {
    ++counters_.malformed;
    refuse(door, peer, 0, Refusal::Malformed, read.message(), now_ns);
    return;
  }
  const Subscribe& request = read.value();
  const auto no = [&](Refusal why, const std::string& text) { refuse(door, peer, request.session, why, text, now_ns); };
  auto known = find(peer);
  if (known != subscribers_.end() && (*known)->session() == request.session) {
    (void)door.send(peer.node, peer.vpid, (*known)->answer(), now_ns);  // the answer was lost
    return;
  }
  // A near ring that has ended keeps its name until there is another.
  auto* before = known == subscribers_.end() ? nullptr : dynamic_cast<NearSubscription*>(known->get());
  const bool goes_on = before != nullptr && request.near && request.near->name == before->name();
  // Its records are kept from one session to the next.
  const bool is_kept = known != subscribers_.end() && request.earlier && !request.near &&
                       (*known)->session() == request.earlier->session;
  if (known != subscribers_.end() && !goes_on && !is_kept) end(known, "it starts again");
  if (!goes_on) before = nullptr;
  Ring* const found = find_ring(door, peer, request);
  if (found == nullptr) return no(Refusal::Ring, "");
  Refusal why = judge(*found, peer, request);
  if (why != Refusal::None) return no(why, "");
  std::string text;
  Kept kept = take_kept(peer, *found, request);
  // A subscriber with kept records may read a ring that has ended.
  why = kept.reader ? Refusal::None : find_source(*found, text);
  if (why != Refusal::None) return no(why, text);
  const Ring taken{found->what, kept.reader ? kept.source : found->source};
  if (before != nullptr && before->resume(request, *taken.source, now_ns)) {
    (void)door.send(peer.node, peer.vpid, before->answer(), now_ns);
    return;
  }
  if (request.is_lossless && taken.source->fixed().mode() != ring::Mode::Lossless) return no(Refusal::Lossy, "");
  if (request.near) {
    if (const Status can = check_near(peer, request); !can) return no(Refusal::Near, can.message());
  }
  Result<std::optional<ring::Reader>> reader = kept.reader ? std::move(kept.reader) : find_reader(taken, peer, request);
  if (!reader) return no(Refusal::NotRunning, reader.message());
  if (!reader.value()) return;  // it will ask again
  Result<std::unique_ptr<Subscription>> made =
      make(door, taken, peer, request, *std::move(reader).value(), before, kept.begin, why);
  if (!made) return no(why, made.message());
  if (known = find(peer); known != subscribers_.end()) end(known, "it starts again");
  made.value()->set_terms({.address = node_.address_of(peer.node),
                           .is_client = found->what.is_for_clients,
                           .bytes_per_second = found->what.bytes_per_second,
                           .detach_after_ns = found->what.detach_after_ns});
  ++counters_.accepted;
  log(to_text(peer, node_.address_of(peer.node)) + " subscribed to '" + request.ring + "'" +
      (request.near ? ", near, as '" + request.near->name + "'" : ""));
  (void)door.send(peer.node, peer.vpid, made.value()->answer(), now_ns);
  subscribers_.push_back(std::move(made).value());
}

/// Returns the requested ring, if the peer may have it.
Publisher::Ring* Publisher::find_ring(const NodePort& door, const Subscription::Peer& peer, const Subscribe& request) {
  const bool is_admitted = peer.node == node_.id() && request.near &&
                           std::any_of(admitted_.begin(), admitted_.end(), [&](const Admitted& one) {
                             return one.client == peer.vpid && one.ring == request.ring;
                           });
  // The token is compared for every name, so that timing does not reveal which names exist.
  Ring* found = nullptr;
  for (Ring& ring : rings_) {
    const bool has_token = is_same_token(request.token, ring.what.token) && &door == port_.get();
    if (ring.what.name == request.ring && (ring.what.is_for_clients ? is_admitted : has_token)) found = &ring;
  }
  return found;
}

Result<std::unique_ptr<Subscription>> Publisher::make(NodePort& door, const Ring& ring, const Subscription::Peer& peer,
                                                      const Subscribe& request, ring::Reader reader,
                                                      const NearSubscription* before, const RingPosition& begin,
                                                      Refusal& why) {
  if (!request.near) {
    auto made = FarSubscription::make(node_, options_.domain,
                                      {ring.source, port_->vpid(), std::move(reader), options_.silence_ns}, request,
                                      peer, now_ns_, why);
    if (!made) return Failure{made.message()};
    return std::unique_ptr<Subscription>(std::move(made).value());
  }
  auto made = NearSubscription::make({ring.source, &door, std::move(reader), options_.silence_ns, begin}, request, peer,
                                     before, now_ns_, why);
  if (!made) return Failure{made.message()};
  return std::unique_ptr<Subscription>(std::move(made).value());
}

/// Whether a ring may be made here for the subscriber.
Status Publisher::check_near(const Subscription::Peer& peer, const Subscribe& request) const {
  if (!node_.shares_memory(peer.node)) return Failure{"it is not known to be on this host"};
  // No path: those lead everywhere. No dot: what belongs to a ring or a network has its name with one behind it.
  const std::string& name = request.near->name;
  const Result<std::string> path = os::path_of(name);
  if (!path || name.find_first_of("/.") != std::string::npos)
    return Failure{"its ring must have a plain name without '.'"};
  const auto is_taken = [&](const std::string& other) {
    const Result<std::string> its = os::path_of(other);
    return its && its.value() == path.value();
  };
  if (std::any_of(rings_.begin(), rings_.end(), [&](const Ring& ring) { return is_taken(ring.what.ring); }) ||
      std::any_of(options_.reserved.begin(), options_.reserved.end(), is_taken)) {
    return Failure{"'" + name + "' is a ring of this host"};
  }
  const auto near = std::count_if(subscribers_.begin(), subscribers_.end(), [&](const auto& one) {
    return one->peer() != peer && dynamic_cast<const NearSubscription*>(one.get()) != nullptr;
  });
  if (static_cast<std::size_t>(near) >= options_.near_rings) return Failure{"the maximum number of local rings exists"};
  return Done{};
}

/// Whether who knows of the ring may have it, and there is a place besides the one that it has already.
Refusal Publisher::judge(const Ring& ring, const Subscription::Peer& peer, const Subscribe& request) const {
  const std::optional<nic::HostAddress> address = node_.address_of(peer.node);
  if (const Refusal why = judge_right(ring.what, address, request.is_lossless); why != Refusal::None) return why;
  std::size_t others = 0;
  std::size_t of_address = 0;
  for (const std::unique_ptr<Subscription>& other : subscribers_) {
    if (other->peer() == peer || (request.earlier && other->session() == request.earlier->session)) continue;
    const std::optional<nic::HostAddress>& its = other->terms().address;
    ++others;
    if (address && its && its->customer() == address->customer()) ++of_address;
  }
  if (others >= options_.subscribers) return Refusal::Full;
  const std::size_t most = options_.subscribers_per_address;
  return most != 0 && of_address >= most ? Refusal::Crowded : Refusal::None;
}

/// Whether who has shown the token may have the ring.
Refusal Publisher::judge_right(const PublishedRing& ring, const std::optional<nic::HostAddress>& address,
                               bool is_lossless) {
  const auto covers = [&](const nic::AddressPrefix& prefix) { return address && prefix.covers(*address); };
  if (!ring.allow.empty() && std::none_of(ring.allow.begin(), ring.allow.end(), covers)) return Refusal::Address;
  return is_lossless && !ring.allows_lossless ? Refusal::Waiting : Refusal::None;
}

/// The ring as it is now.
Refusal Publisher::find_source(Ring& ring, std::string& text) {
  if (ring.source != nullptr && ring.source->look() != ring::WriterState::Running) ring.source = nullptr;
  if (ring.source != nullptr) return Refusal::None;
  Result<std::shared_ptr<Source>> source = Source::open(ring.what.ring, *port_);
  if (!source) {
    text = source.message();
    return Refusal::NotRunning;
  }
  if (source.value()->writer() != ring::WriterState::Running) {
    text = "the ring's writer has ended";
    return Refusal::NotRunning;
  }
  ring.source = std::move(source).value();
  return Refusal::None;
}

/// Nothing, and no text: its seat is asked for.
Result<std::optional<ring::Reader>> Publisher::find_reader(const Ring& ring, const Subscription::Peer& peer,
                                                           const Subscribe& request) {
  if (!request.is_lossless) {
    const bool wants_all = request.near && request.near->wants_history;
    std::optional<ring::Reader> reader = ring.source->reader(wants_all ? ring::Start::Oldest : ring::Start::Newest);
    if (!reader) return Failure{"the ring is being replaced"};
    return reader;
  }
  const auto known = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& one) {
    return one.peer == peer && one.session == request.session && one.source == ring.source;
  });
  if (known != waiting_.end()) {
    known->since_ns = now_ns_;
    const Result<bool> seated = known->reader.take_seat();
    if (seated && !seated.value()) return std::optional<ring::Reader>();
    std::optional<ring::Reader> reader = std::move(known->reader);
    waiting_.erase(known);
    if (!seated) return seated.failure();
    return reader;
  }
  std::erase_if(waiting_, [&](const Waiting& one) { return one.peer == peer; });
  if (waiting_.size() >= options_.subscribers) {
    return Failure{"too many subscribers are joining"};
  }
  Result<ring::Reader> reader = ring.source->lossless_reader();
  if (!reader) {
    return reader.failure();
  }
  waiting_.push_back({peer, request.session, now_ns_, ring.source, std::move(reader).value()});
  return std::optional<ring::Reader>();
}

/// What the publisher has for a lossless subscriber that had a session before: the seat of that session, at the place
/// that the subscriber has reached; or the place where its near ring ended. The session itself is over then.
Publisher::Kept Publisher::take_kept(const Subscription::Peer& peer, const Ring& ring, const Subscribe& request) {
  Kept kept;
  if (!request.earlier) return kept;
  const auto old = find_session(request.earlier->session);
  if (request.near) {
    const auto* const near = old == subscribers_.end() ? nullptr : dynamic_cast<NearSubscription*>(old->get());
    if (near != nullptr && near->is_lossless()) remember(*near);
    const auto left = std::find_if(left_.begin(), left_.end(),
                                   [&](const Left& one) { return one.session == request.earlier->session; });
    const bool is_same = left != left_.end() && ring.source != nullptr && left->epoch == ring.source->fixed().epoch();
    if (is_same) kept.begin = left->reached;
    return kept;
  }
  auto* const far = old == subscribers_.end() ? nullptr : dynamic_cast<FarSubscription*>(old->get());
  if (far == nullptr) return kept;
  const bool is_same = far->status().ring == request.ring && far->terms().is_client == ring.what.is_for_clients &&
                       far->source()->fixed().epoch() == request.earlier->epoch;
  if (is_same) {
    kept.source = far->source();
    kept.reader = far->take_reader(request.earlier->reached);
  }
  if (kept.reader || far->peer() == peer) end(old, kept.reader ? "it continues in another session" : "it starts again");
  return kept;
}

void Publisher::leave(const Subscription::Peer& peer, std::uint64_t session) {
  auto known = find(peer);
  if (known == subscribers_.end() || (*known)->session() != session) known = find_session(session);
  if (known == subscribers_.end()) return;
  const bool has_ended = (*known)->status().state == SubscriptionState::Ending;
  end(known, !(*known)->end().empty() ? (*known)->end() : has_ended ? "the ring has ended" : "it unsubscribed");
}

/// Subscribers draw sessions at random, so a peer that names one is its owner.
Publisher::Subscribers::iterator Publisher::find_session(std::uint64_t session) {
  return std::find_if(subscribers_.begin(), subscribers_.end(),
                      [&](const auto& one) { return one->is_lossless() && one->session() == session; });
}

void Publisher::remember(const Subscription& subscription) {
  const auto* const near = dynamic_cast<const NearSubscription*>(&subscription);
  if (near == nullptr || !near->is_lossless() || near->status().has_all) return;
  std::erase_if(left_, [&](const Left& one) { return one.session == near->session(); });
  if (left_.size() >= kLeft) left_.erase(left_.begin());
  left_.push_back({near->session(), near->epoch(), near->reached()});
}

void Publisher::reached(const Subscription::Peer& peer, std::span<const std::byte> bytes) {
  const auto known = find(peer);
  const Result<Reached> read = read_reached(bytes);
  auto* const far = known == subscribers_.end() ? nullptr : dynamic_cast<FarSubscription*>(known->get());
  if (read && far != nullptr) far->hear(read.value(), now_ns_);
  if (!read) ++counters_.malformed;
}

void Publisher::echo(const Subscription::Peer& peer, std::span<const std::byte> bytes) {
  const auto known = find(peer);
  const Result<Echo> read = read_echo(bytes);
  auto* const near = known == subscribers_.end() ? nullptr : dynamic_cast<NearSubscription*>(known->get());
  if (read && near != nullptr) near->hear(read.value(), now_ns_);
  if (!read) ++counters_.malformed;
}

void Publisher::refuse(NodePort& door, const Subscription::Peer& peer, std::uint64_t session, Refusal why,
                       const std::string& text, std::uint64_t now_ns) {
  ++counters_.refused;
  ++counters_.refused_by[static_cast<std::size_t>(why)];
  if (now_ns >= next_refusal_ns_) {
    next_refusal_ns_ = now_ns + options_.beat_ns;
    log(to_text(peer, node_.address_of(peer.node)) + " was refused (" + to_name(why) + "): " + to_meaning(why) +
        (text.empty() ? "" : " (" + text + ")"));
  }
  (void)door.send(peer.node, peer.vpid, to_bytes(Refuse{session, why, text}), now_ns);
}

std::optional<nic::Vpid> Publisher::admit(nic::Vpid client, nic::Pdid domain, const std::string& ring) {
  if (std::none_of(rings_.begin(), rings_.end(),
                   [&](const Ring& one) { return one.what.is_for_clients && one.what.name == ring; })) {
    return std::nullopt;
  }
  if (domain != options_.domain && !doors_.contains(domain)) {
    Result<std::unique_ptr<NodePort>> opened = NodePort::open(node_, domain);
    if (!opened) return std::nullopt;
    doors_.emplace(domain, std::move(opened).value());
  }
  const auto is_there = [&](const Admitted& one) { return one.client == client && one.ring == ring; };
  if (std::none_of(admitted_.begin(), admitted_.end(), is_there)) admitted_.push_back({client, domain, ring});
  return domain == options_.domain ? port_->vpid() : doors_.at(domain)->vpid();
}

void Publisher::dismiss(nic::Vpid client, const std::string& ring) {
  const auto known = find({node_.id(), client});
  if (known != subscribers_.end() && (ring.empty() || (*known)->status().ring == ring)) {
    end(known, ring.empty() ? "its port has closed" : "it is no longer allowed to read the ring");
  }
  std::erase_if(admitted_,
                [&](const Admitted& one) { return one.client == client && (ring.empty() || one.ring == ring); });
}

void Publisher::republish(std::vector<PublishedRing> rings) {
  const std::vector<Ring> before = std::exchange(rings_, {});
  for (PublishedRing& ring : rings) {
    const auto same =
        std::find_if(before.begin(), before.end(), [&](const Ring& one) { return one.what.ring == ring.ring; });
    std::shared_ptr<Source> source = same != before.end() ? same->source : nullptr;
    rings_.push_back({std::move(ring), std::move(source)});
  }
  waiting_.clear();  // peers that may still have a seat ask again
  for (std::size_t i = 0; i < subscribers_.size();) {
    Subscription& subscriber = *subscribers_[i];
    if (const Refusal why = judge_again(before, subscriber); why != Refusal::None) {
      detach(subscribers_.begin() + static_cast<std::ptrdiff_t>(i), why, to_meaning(why));
      continue;
    }
    const Ring* const ring = ring_of(rings_, subscriber);
    Subscription::Terms terms = subscriber.terms();
    terms.bytes_per_second = ring->what.bytes_per_second;
    terms.detach_after_ns = ring->what.detach_after_ns;
    subscriber.set_terms(terms);
    ++i;
  }
}

/// What a subscriber has, among these; null: it is none of them.
const Publisher::Ring* Publisher::ring_of(const std::vector<Ring>& rings, const Subscription& subscriber) {
  const std::string name = subscriber.status().ring;
  const auto found = std::find_if(rings.begin(), rings.end(), [&](const Ring& ring) {
    return ring.what.name == name && ring.what.is_for_clients == subscriber.terms().is_client;
  });
  return found != rings.end() ? &*found : nullptr;
}

/// Whether it may have its ring by what is published now.
Refusal Publisher::judge_again(const std::vector<Ring>& before, const Subscription& subscriber) const {
  const Ring* const then = ring_of(before, subscriber);
  const Ring* const now = ring_of(rings_, subscriber);
  if (then == nullptr || now == nullptr) return Refusal::Ring;
  if (then->what.ring != now->what.ring || then->what.token != now->what.token) return Refusal::Ring;
  return judge_right(now->what, subscriber.terms().address, subscriber.is_lossless());
}

/// Through which port a subscriber is spoken to.
NodePort& Publisher::port_of(const Subscription::Peer& peer) {
  for (const Admitted& one : admitted_) {
    const auto door = doors_.find(one.domain);
    if (peer.node == node_.id() && one.client == peer.vpid && door != doors_.end()) return *door->second;
  }
  return *port_;
}

/// Each beat: writers, and those who read.
void Publisher::look_after(std::uint64_t now_ns) {
  for (Ring& ring : rings_) {
    // Subscriptions keep their source until they have sent all of it.
    if (ring.source != nullptr && ring.source->look() != ring::WriterState::Running) ring.source = nullptr;
  }
  std::erase_if(waiting_, [&](const Waiting& one) { return now_ns - one.since_ns >= options_.stuck_ns; });
  for (std::size_t i = 0; i < subscribers_.size();) {
    Subscription& subscriber = *subscribers_[i];
    const std::uint64_t since = subscriber.stuck_since_ns();
    const std::uint64_t own_ns = subscriber.terms().detach_after_ns;
    const std::uint64_t patience_ns = own_ns != 0 || !subscriber.is_lossless() ? own_ns : options_.stuck_ns;
    if (patience_ns != 0 && since != 0 && now_ns - since >= patience_ns) {
      ++counters_.detached;
      detach(subscribers_.begin() + static_cast<std::ptrdiff_t>(i), Refusal::Stuck,
             "it took no records although some were waiting");
      continue;
    }
    subscriber.beat(now_ns);
    ++i;
  }
}

Publisher::Subscribers::iterator Publisher::find(const Subscription::Peer& peer) {
  return std::find_if(subscribers_.begin(), subscribers_.end(),
                      [&](const std::unique_ptr<Subscription>& one) { return one->peer() == peer; });
}

/// Tells the subscriber, and forgets it.
void Publisher::detach(Subscribers::iterator which, Refusal code, const std::string& why) {
  const Subscription::Peer peer = (*which)->peer();
  (void)port_of(peer).send(peer.node, peer.vpid, to_bytes(goodbye(**which, code)), now_ns_);
  end(which, why);
}

void Publisher::end(Subscribers::iterator which, const std::string& why) {
  const SubscriptionStatus status = (*which)->status();
  log(to_text((*which)->peer(), (*which)->terms().address) + " is no longer subscribed to '" + status.ring +
      "': " + why + "; " + std::to_string(status.records) + " records sent, " + std::to_string(status.filtered) +
      " filtered, " + std::to_string(status.lost) + " lost");
  ++counters_.ended;
  remember(**which);
  subscribers_.erase(which);
}

std::vector<SubscriptionStatus> Publisher::status() const {
  std::vector<SubscriptionStatus> status;
  status.reserve(subscribers_.size());
  for (const std::unique_ptr<Subscription>& subscriber : subscribers_) {
    status.push_back(subscriber->status());
    status.back().address = subscriber->terms().address;
  }
  return status;
}

void Publisher::log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

}  // namespace stopbit::remote
