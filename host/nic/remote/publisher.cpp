#include "host/nic/remote/publisher.hpp"

#include <algorithm>
#include <utility>

#include "host/ring/name.hpp"

namespace stopbit::nic::remote {
namespace {

std::string to_text(const Subscription::Peer& peer) {
  return "port " + std::to_string(peer.vpid) + " of node " + std::to_string(peer.node);
}

}  // namespace

Result<std::unique_ptr<Publisher>> Publisher::open(Node& node, const PublisherOptions& options) {
  for (const PublishedRing& ring : options.rings) {
    if (ring.name.empty() || ring.name.size() > kMaxNameBytes) {
      return Failure{"the name of a published ring has 1 to " + std::to_string(kMaxNameBytes) + " bytes, '" +
                     ring.name + "' has " + std::to_string(ring.name.size())};
    }
    if (ring.token.size() > kMaxTokenBytes) {
      return Failure{"the token of '" + ring.name + "' is longer than " + std::to_string(kMaxTokenBytes) + " bytes"};
    }
    const Result<std::string> path = ring::path_of(ring.ring);
    if (!path) return Failure{path.message()};
    const auto same = std::count_if(options.rings.begin(), options.rings.end(),
                                    [&](const PublishedRing& other) { return other.name == ring.name; });
    if (same != 1) return Failure{"two rings are published as '" + ring.name + "'"};
  }
  if (!landing_layout(node.links().packet_bytes(), ChannelLayout::kMinSlots)) {
    return Failure{"the carrier's frames are too short for records"};
  }
  Result<std::unique_ptr<Port>> port = Port::open(node, options.domain);
  if (!port) return Failure{port.message()};
  return std::unique_ptr<Publisher>(new Publisher(node, options, std::move(port).value()));
}

Publisher::Publisher(Node& node, const PublisherOptions& options, std::unique_ptr<Port> port)
    : node_(node), options_(options), port_(std::move(port)) {
  for (const PublishedRing& ring : options_.rings) rings_.push_back({ring, nullptr});
  subscribers_.reserve(options_.subscribers);
}

Publisher::~Publisher() {
  // As far as there is room: who does not hear it finds out by itself.
  for (const std::unique_ptr<Subscription>& subscriber : subscribers_) {
    const Subscription::Peer peer = subscriber->peer();
    (void)port_->send(peer.node, peer.vpid, to_bytes(Refuse{subscriber->session(), Refusal::Closing, ""}), now_ns_);
  }
}

std::size_t Publisher::step(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  std::size_t work = hear(now_ns);
  for (std::size_t i = 0; i < subscribers_.size(); ++i) {
    work += subscribers_[(first_ + i) % subscribers_.size()]->step(now_ns);
  }
  ++first_;
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

std::size_t Publisher::hear(std::uint64_t now_ns) {
  std::size_t heard = 0;
  while (heard < kMessagesPerStep) {
    const std::optional<MessageHead> head = port_->receive(message_);
    if (!head) break;
    ++heard;
    const Subscription::Peer peer{head->node, head->vpid};
    const std::span<const std::byte> bytes = std::span(message_).first(head->length);
    std::uint16_t version = 0;
    const Result<Greeting> greeting = read_greeting(bytes, version);
    if (!greeting) {
      ++counters_.malformed;
      // Who speaks another version is told so; what is no greeting at all gets no answer.
      if (version != 0) refuse(peer, 0, Refusal::Version, greeting.message(), now_ns);
    } else if (greeting.value().call == Call::Subscribe) {
      subscribe(peer, bytes, now_ns);
    } else if (greeting.value().call == Call::Leave) {
      leave(peer, greeting.value().session);
    } else {
      ++counters_.malformed;
    }
  }
  return heard;
}

void Publisher::subscribe(const Subscription::Peer& peer, std::span<const std::byte> bytes, std::uint64_t now_ns) {
  const Result<Subscribe> read = read_subscribe(bytes);
  if (!read) {
    ++counters_.malformed;
    refuse(peer, 0, Refusal::Malformed, read.message(), now_ns);
    return;
  }
  const Subscribe& request = read.value();
  const auto known = find(peer);
  if (known != subscribers_.end() && (*known)->session() == request.session) {
    (void)port_->send(peer.node, peer.vpid, to_bytes((*known)->accept()), now_ns);  // the answer was lost
    return;
  }
  if (known != subscribers_.end()) end(known, "it begins anew");
  // The token is compared for every name, so that time does not tell which there are.
  Ring* found = nullptr;
  for (Ring& ring : rings_) {
    const bool has_token = is_same_token(request.token, ring.what.token);
    if (ring.what.name == request.ring && has_token) found = &ring;
  }
  if (found == nullptr) return refuse(peer, request.session, Refusal::Ring, "", now_ns);
  if (subscribers_.size() >= options_.subscribers) return refuse(peer, request.session, Refusal::Full, "", now_ns);
  std::string text;
  Refusal why = find_source(*found, text);
  if (why != Refusal::None) return refuse(peer, request.session, why, text, now_ns);
  if (request.is_lossless && found->source->fixed().mode() != ring::Mode::Lossless) {
    return refuse(peer, request.session, Refusal::Lossy, "", now_ns);
  }
  std::optional<ring::Reader> reader = find_reader(*found, peer, request, text);
  if (!reader && text.empty()) return;  // it will ask again
  if (!reader) return refuse(peer, request.session, Refusal::NotRunning, text, now_ns);
  Result<std::unique_ptr<Subscription>> made = Subscription::make(
      node_, options_.domain, {found->source, port_->vpid(), std::move(*reader)}, request, peer, now_ns, why);
  if (!made) return refuse(peer, request.session, why, made.message(), now_ns);
  ++counters_.accepted;
  log(to_text(peer) + " has subscribed to '" + request.ring + "'");
  (void)port_->send(peer.node, peer.vpid, to_bytes(made.value()->accept()), now_ns);
  subscribers_.push_back(std::move(made).value());
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
std::optional<ring::Reader> Publisher::find_reader(const Ring& ring, const Subscription::Peer& peer,
                                                   const Subscribe& request, std::string& text) {
  if (!request.is_lossless) {
    std::optional<ring::Reader> reader = ring.source->reader(ring::Start::Newest);
    if (!reader) text = "the ring is being replaced";
    return reader;
  }
  const auto known = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& one) {
    return one.peer == peer && one.session == request.session && one.source == ring.source;
  });
  if (known != waiting_.end()) {
    known->since_ns = now_ns_;
    if (!known->reader.take_seat()) return std::nullopt;
    std::optional<ring::Reader> reader(std::move(known->reader));
    waiting_.erase(known);
    return reader;
  }
  std::erase_if(waiting_, [&](const Waiting& one) { return one.peer == peer; });
  if (waiting_.size() >= options_.subscribers) {
    text = "too many wait for a seat";
    return std::nullopt;
  }
  Result<ring::Reader> reader = ring.source->lossless_reader();
  if (!reader) {
    text = reader.message();
    return std::nullopt;
  }
  waiting_.push_back({peer, request.session, now_ns_, ring.source, std::move(reader).value()});
  return std::nullopt;
}

void Publisher::leave(const Subscription::Peer& peer, std::uint64_t session) {
  const auto known = find(peer);
  if (known != subscribers_.end() && (*known)->session() == session) end(known, "it has left");
}

void Publisher::refuse(const Subscription::Peer& peer, std::uint64_t session, Refusal why, const std::string& text,
                       std::uint64_t now_ns) {
  ++counters_.refused;
  if (now_ns >= next_refusal_ns_) {
    next_refusal_ns_ = now_ns + options_.beat_ns;
    log(to_text(peer) + " is refused: " + to_meaning(why) + (text.empty() ? "" : " (" + text + ")"));
  }
  (void)port_->send(peer.node, peer.vpid, to_bytes(Refuse{session, why, text}), now_ns);
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
    if (subscriber.is_lossless() && since != 0 && now_ns - since >= options_.stuck_ns) {
      const Subscription::Peer peer = subscriber.peer();
      (void)port_->send(peer.node, peer.vpid, to_bytes(Refuse{subscriber.session(), Refusal::Stuck, ""}), now_ns);
      end(subscribers_.begin() + static_cast<std::ptrdiff_t>(i), "it made no progress while it was waited for");
      continue;
    }
    subscriber.beat();
    ++i;
  }
}

Publisher::Subscribers::iterator Publisher::find(const Subscription::Peer& peer) {
  return std::find_if(subscribers_.begin(), subscribers_.end(),
                      [&](const std::unique_ptr<Subscription>& one) { return one->peer() == peer; });
}

void Publisher::end(Subscribers::iterator which, const std::string& why) {
  const SubscriptionStatus status = (*which)->status();
  log(to_text((*which)->peer()) + " is no longer subscribed to '" + status.ring + "': " + why + "; " +
      std::to_string(status.records) + " records sent, " + std::to_string(status.filtered) + " filtered, " +
      std::to_string(status.lost) + " lost");
  ++counters_.ended;
  subscribers_.erase(which);
}

std::vector<SubscriptionStatus> Publisher::status() const {
  std::vector<SubscriptionStatus> status;
  status.reserve(subscribers_.size());
  for (const std::unique_ptr<Subscription>& subscriber : subscribers_) status.push_back(subscriber->status());
  return status;
}

void Publisher::log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

}  // namespace stopbit::nic::remote
