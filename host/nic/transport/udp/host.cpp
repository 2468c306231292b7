#include "host/nic/transport/udp/host.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/os/random.hpp"

namespace stopbit::nic {
namespace {

constexpr std::size_t kPending = 32;                    ///< Connections that have not asked yet.
constexpr std::uint64_t kPendingNs = 2'000'000'000;     ///< And for how long.
constexpr std::uint64_t kLeastEpochNs = 1'000'000'000;  ///< Members cannot make epochs follow each other faster.
constexpr std::size_t kLinesPerStep = 16;               ///< Each costs two derivations and the cipher of a message.

/// Of `network`, as Hello has it.
std::array<char, kUdpNameBytes> padded(const std::string& network) noexcept {
  std::array<char, kUdpNameBytes> name{};
  network.copy(name.data(), name.size() - 1);
  return name;
}

}  // namespace

UdpHost::UdpHost(const UdpOptions& options, const UdpTls& tls, UdpPeers& peers, UdpCounters& counters)
    : options_(options), tls_(tls), peers_(peers), counters_(counters), places_(options.nodes) {
  for (Place& place : places_) place.due.resize(options.nodes);
  pending_.reserve(kPending);
}

Status UdpHost::open(os::Descriptor listener, std::uint64_t now_ns) {
  listener_ = std::move(listener);
  if (options_.is_sealed()) {
    cipher_ = options_.cipher.value_or(best_cipher());
    if (!begin_epoch(now_ns)) return Failure{"OpenSSL has no random numbers"};
  }
  places_[0].session = new_session();
  peers_.enter(0, places_[0].session, cipher_);
  return Done{};
}

std::uint32_t UdpHost::new_session() const noexcept {
  for (;;) {
    const auto session = static_cast<std::uint32_t>(os::random_word());
    const bool is_used =
        std::any_of(places_.begin(), places_.end(), [session](const Place& place) { return place.session == session; });
    if (session != 0 && !is_used) return session;
  }
}

bool UdpHost::begin_epoch(std::uint64_t now_ns) {
  UdpKey secret;
  const bool is_drawn = ::RAND_priv_bytes(reinterpret_cast<unsigned char*>(secret.data()), secret.size()) == 1;
  if (is_drawn) {
    secret_ = secret;
    ++epoch_;
  }
  wipe(secret);
  epoch_ns_ = now_ns;
  is_epoch_wanted_ = false;
  return is_drawn;
}

UdpKey UdpHost::key(NodeId from, NodeId to) const {
  // Every session has its own keys, each direction another one.
  const std::array<std::uint32_t, 4> context = {from, to, places_[from].session, places_[to].session};
  UdpKey result{};
  unsigned bytes = 0;
  (void)::HMAC(::EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
               reinterpret_cast<const unsigned char*>(context.data()), sizeof(context),
               reinterpret_cast<unsigned char*>(result.data()), &bytes);
  return result;
}

UdpPeerLine UdpHost::line(NodeId about, NodeId to) const {
  UdpPeerLine line;
  const Place& place = places_[about];
  line.node = about;
  line.session = place.session;
  if (place.session == 0) return line;
  line.port = place.endpoint.port;
  line.host = place.endpoint.host.bytes;
  if (cipher_ == UdpCipher::None) return line;
  line.epoch = epoch_;
  line.send = key(to, about);
  line.receive = key(about, to);
  return line;
}

void UdpHost::mark(Place& place, std::size_t line) noexcept {
  if (place.due[line]) return;
  place.due[line] = true;
  ++place.due_count;
}

void UdpHost::change(NodeId node) {
  for (Place& place : places_) {
    if (place.connection != nullptr && number_of(place) != node) mark(place, node);
  }
}

void UdpHost::accept(std::uint64_t now_ns) {
  UdpEndpoint from;
  os::Descriptor socket = accept_tcp(listener_.get(), from);
  if (!socket.ok()) return;
  // The oldest one has had the most time: an honest node needs a few round trips.
  if (pending_.size() == kPending) {
    pending_.erase(pending_.begin());
    ++counters_.half_open;
  }
  pending_.push_back(std::make_unique<UdpConnection>(std::move(socket), tls_, UdpStream::Role::Server, from, now_ns));
}

void UdpHost::step_pending(std::uint64_t now_ns) {
  for (std::size_t i = 0; i < pending_.size();) {
    UdpConnection& connection = *pending_[i];
    connection.pump(now_ns);
    const std::optional<UdpMessage> message = connection.next();
    // Members take a port of 0 for a mistake of node 0.
    if (message && message->kind == UdpMessageKind::Hello && body_of<UdpHello>(*message).port != 0) {
      const auto hello = body_of<UdpHello>(*message);
      std::unique_ptr<UdpConnection> greeted = std::move(pending_[i]);
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
      greet(std::move(greeted), hello, now_ns);
      continue;
    }
    const bool is_late = now_ns - connection.begun_ns() >= kPendingNs;
    if (!message && !connection.is_over() && !is_late) {
      ++i;
      continue;
    }
    if (connection.was_refused()) wrong_token_from_ = connection.peer().host;
    ++(connection.was_refused()                           ? counters_.wrong_token
       : message.has_value() || connection.is_malformed() ? counters_.garbled
                                                          : counters_.half_open);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

UdpRefusal UdpHost::judge(const UdpHello& hello) const noexcept {
  if (hello.version != kUdpVersion) return UdpRefusal::Version;
  if (hello.network != padded(options_.network)) return UdpRefusal::Network;
  if (hello.nodes != options_.nodes || hello.frame_bytes != options_.frame_bytes) return UdpRefusal::Shape;
  return UdpRefusal::None;
}

UdpHost::Place* UdpHost::place_for(const UdpHello& hello) noexcept {
  // A member that comes again before its old connection has ended.
  for (Place& place : places_) {
    if (place.connection != nullptr && place.incarnation == hello.incarnation) return &place;
  }
  if (hello.wanted != kUdpNoNode) {
    const bool is_free = hello.wanted != 0 && hello.wanted < places_.size() && !places_[hello.wanted].connection;
    return is_free ? &places_[hello.wanted] : nullptr;
  }
  const auto free =
      std::find_if(places_.begin() + 1, places_.end(), [](const Place& place) { return place.connection == nullptr; });
  return free == places_.end() ? nullptr : &*free;
}

void UdpHost::greet(std::unique_ptr<UdpConnection> connection, const UdpHello& hello, std::uint64_t now_ns) {
  UdpRefusal refusal = judge(hello);
  Place* const place = refusal == UdpRefusal::None ? place_for(hello) : nullptr;
  if (refusal == UdpRefusal::None && place == nullptr) {
    refusal = hello.wanted != kUdpNoNode ? UdpRefusal::Taken : UdpRefusal::Full;
  }
  if (refusal != UdpRefusal::None) {
    UdpRefused refused;
    refused.reason = refusal;
    if (refusal == UdpRefusal::Shape) refused.frame_bytes = static_cast<std::uint16_t>(options_.frame_bytes);
    connection->say(UdpMessageKind::Refused, refused);
    connection->pump(now_ns);
    ++counters_.refused;
    refused_from_ = connection->peer().host;
    return;
  }
  if (place->connection != nullptr) remove(*place);
  place->connection = std::move(connection);
  place->incarnation = hello.incarnation;
  place->session = new_session();
  place->endpoint = {place->connection->peer().host, hello.port};
  place->is_complete = false;
  place->said_ns = now_ns;
  const NodeId node = number_of(*place);
  std::fill(place->due.begin(), place->due.end(), false);
  place->due_count = 0;
  place->next_due = 0;
  for (const Place& other : places_) {
    if (other.session != 0 && &other != place) mark(*place, number_of(other));
  }
  UdpWelcome welcome;
  welcome.cipher = cipher_;
  welcome.node = node;
  welcome.session = place->session;
  place->connection->say(UdpMessageKind::Welcome, welcome);
  change(node);
  ++counters_.joined;
  if (!peers_.set(line(node, 0), place->endpoint, now_ns)) remove(*place);
}

void UdpHost::remove(Place& place) {
  place.connection.reset();
  place.session = 0;
  place.incarnation = 0;
  place.endpoint = {};
  peers_.remove(number_of(place));
  change(number_of(place));
}

void UdpHost::tell(Place& place, std::uint64_t now_ns) {
  const std::size_t lines = places_.size();
  for (std::size_t told = 0; told < kLinesPerStep && place.due_count > 0 && place.connection->has_room(); ++told) {
    while (!place.due[place.next_due]) place.next_due = (place.next_due + 1) % lines;
    place.due[place.next_due] = false;
    --place.due_count;
    UdpPeerLine about = line(static_cast<NodeId>(place.next_due), number_of(place));
    place.connection->say(UdpMessageKind::Peer, about);
    wipe(about.send);
    wipe(about.receive);
    place.said_ns = now_ns;
  }
  if (place.due_count == 0 && !place.is_complete && place.connection->has_room()) {
    place.connection->say(UdpMessageKind::Complete);
    place.is_complete = true;
  }
  if (now_ns - place.said_ns >= options_.lease_ns / 8 && place.connection->has_room()) {
    place.connection->say(UdpMessageKind::Alive);
    place.said_ns = now_ns;
  }
}

void UdpHost::step_member(Place& place, std::uint64_t now_ns) {
  UdpConnection& connection = *place.connection;
  connection.pump(now_ns);
  bool is_wrong = false;
  bool leaves = false;
  while (const std::optional<UdpMessage> message = connection.next()) {
    switch (message->kind) {
      case UdpMessageKind::Alive: break;
      case UdpMessageKind::Rekey: is_epoch_wanted_ = cipher_ != UdpCipher::None; break;
      case UdpMessageKind::Leave: leaves = true; break;
      case UdpMessageKind::Hello:
      case UdpMessageKind::Welcome:
      case UdpMessageKind::Refused:
      case UdpMessageKind::Peer:
      case UdpMessageKind::Complete: is_wrong = true; break;
    }
  }
  if (is_wrong || connection.is_malformed()) ++counters_.garbled;
  if (leaves || is_wrong || connection.is_over() || now_ns - connection.heard_ns() >= options_.lease_ns) {
    ++(leaves ? counters_.left : counters_.died);
    return remove(place);
  }
  tell(place, now_ns);
}

void UdpHost::step(std::uint64_t now_ns) {
  accept(now_ns);
  step_pending(now_ns);
  for (Place& place : places_) {
    if (place.connection != nullptr) step_member(place, now_ns);
  }
  if (cipher_ == UdpCipher::None) return;
  const bool is_wanted = is_epoch_wanted_ || peers_.wants_keys();
  if (now_ns - epoch_ns_ < (is_wanted ? kLeastEpochNs : options_.rekey_ns)) return;
  if (!begin_epoch(now_ns)) return;  // the old keys serve until their limits; it is tried again
  ++counters_.rekeyed;
  for (Place& place : places_) {
    if (place.connection == nullptr) continue;
    const NodeId node = number_of(place);
    if (!peers_.set(line(node, 0), place.endpoint, now_ns)) {
      remove(place);
      continue;
    }
    for (const Place& other : places_) {
      if (other.session != 0 && &other != &place) mark(place, number_of(other));
    }
  }
}

}  // namespace stopbit::nic
