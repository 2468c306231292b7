#include "host/remote/remote_ring.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "host/nic/node/client.hpp"
#include "host/nic/node/node.hpp"
#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/shm/shm_transport.hpp"
#include "host/nic/transport/udp/endpoint.hpp"
#include "host/os/clock.hpp"
#include "host/os/shm/folder.hpp"
#include "host/remote/places.hpp"
#include "host/remote/subscriber.hpp"
#include "host/ring/reader.hpp"

namespace stopbit::remote {
namespace {

using namespace std::chrono_literals;
using Kind = RingFailure::Kind;

constexpr auto kPatience = 30s;      ///< For a ring that a publisher makes,
constexpr auto kJoinPatience = 5s;   ///< and for the network where it publishes.
constexpr auto kFirstSteps = 500ms;  ///< An existing network is joined within this time.
constexpr auto kQuietWait = 2s;
constexpr auto kRest = 50us;
constexpr std::uint64_t kLookEveryNs = 10'000'000;
constexpr std::size_t kGoodbyeSteps = 64;
constexpr std::uint64_t kSilenceNs = 10'000'000'000;
constexpr std::uint64_t kReopenNs = 500'000'000;
constexpr std::uint64_t kLongestReopenNs = 8'000'000'000;
using Tell = std::function<void(const std::string&)>;

template <class T>
using Opened = Result<T, RingFailure>;

RingFailure unreachable(std::string why) {
  return {Kind::Unreachable, std::move(why)};
}

/// Sleeps between looks. Tells once what is waited for, and gives up after `patience` unless the caller is patient.
class Waiting {
 public:
  explicit Waiting(const RingWait& how, std::chrono::seconds patience = kPatience) : how_(how), patience_(patience) {}

  /// Sleeps a little; then it is time to look again. `why`: there is nothing yet.
  Opened<Done> rest(const std::function<std::string()>& why) {
    if (how_.stops && how_.stops()) return RingFailure{Kind::Stopped, {}};
    const auto passed = std::chrono::steady_clock::now() - begin_;
    if (!how_.is_patient && passed > patience_) return unreachable(why());
    if (!has_told_ && passed > kQuietWait) {
      has_told_ = true;
      if (how_.tell) how_.tell("waiting: " + why());
    }
    std::this_thread::sleep_for(passed < kFirstSteps ? 1ms : 10ms);
    return Done{};
  }

 private:
  const RingWait& how_;
  std::chrono::seconds patience_;
  bool has_told_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The carrier to where the address says. `place` learns what the network needs.
template <class Place>
Opened<std::unique_ptr<typename Place::Carrier>> join_network(Place& place, const RingWait& wait) {
  auto started = place.start();
  if (!started) return unreachable(started.message());
  std::unique_ptr<typename Place::Carrier> carrier = std::move(started).value();
  const auto why = [&] { return cannot_reach(place.place, carrier->why_not_joined() + " (" + place.hint() + ")"); };
  bool has_learned = false;
  for (Waiting waiting(wait, kJoinPatience); !carrier->is_joined();) {
    carrier->progress();
    if (const std::string problem = carrier->problem(); !problem.empty()) {
      const Kind kind = Place::is_refused(*carrier) ? Kind::Refused : Kind::Unreachable;
      if (has_learned || !place.learn(*carrier)) return RingFailure{kind, cannot_reach(place.place, problem)};
      has_learned = true;
      auto again = place.start();
      if (!again) return unreachable(again.message());
      carrier = std::move(again).value();
    }
    if (const auto rested = waiting.rest(why); !rested) return rested.failure();
  }
  return carrier;
}

/// As join_network.
Opened<std::unique_ptr<nic::Transport>> join_shm(const std::string& network, const RingWait& wait) {
  // Any node number that is not in use. Subscribers that start together begin at different ones.
  constexpr std::size_t kOthers = nic::ShmOptions::kUsualNodes - 1;
  std::unique_ptr<nic::ShmTransport> carrier;
  std::string problem;
  for (std::size_t i = 0; i < kOthers && !carrier; ++i) {
    nic::ShmOptions options;
    options.network = network;
    options.nodes = nic::ShmOptions::kUsualNodes;
    options.node = static_cast<nic::NodeId>(1 + (static_cast<std::size_t>(::getpid()) + i) % kOthers);
    auto opened = nic::ShmTransport::open(options);
    if (opened)
      carrier = std::move(opened).value();
    else
      problem = opened.message();
  }
  const std::string failed = "cannot join the network '" + network + "' of this host: ";
  if (!carrier) return unreachable(failed + problem);
  const auto why = [&] {
    return failed + carrier->problem() + " (`network` in [nic] sets its name; default: the name of the appliance)";
  };
  for (Waiting waiting(wait); !carrier->connect(0);) {
    if (!wait.is_patient) return unreachable(why());
    if (const auto rested = waiting.rest(why); !rested) return rested.failure();
  }
  return std::unique_ptr<nic::Transport>(std::move(carrier));
}

/// A subscriber, and what it needs.
class Member {
 public:
  Member() = default;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  virtual ~Member() = default;
  virtual std::size_t step(std::uint64_t now_ns) = 0;
  virtual void look(RemoteRing::Look& look) const = 0;

 protected:
  static void look_at(const Subscriber& subscriber, RemoteRing::Look& look) {
    const SubscriberCounters counters = subscriber.counters();
    look.exists = look.exists || subscriber.has_ring();
    look.is_near = subscriber.is_near();
    look.is_refused = subscriber.state() == SubscriberState::Refused;
    look.has_ended = subscriber.state() == SubscriberState::Ended;
    // A wrong token is answered as if the ring were not there.
    const bool is_no_ring = look.is_refused && subscriber.refusal() == Refusal::Ring;
    look.problem = subscriber.problem() + (is_no_ring ? "; a wrong or missing token gives the same answer" : "");
    look.records = counters.records;
    look.fetched = counters.fetched;
    look.lost = counters.lost;
    look.sessions = counters.sessions;
  }
};

/// When to try something again: after a pause that doubles with each failure. Each reason is logged once, until it
/// works again.
class Retry {
 public:
  Retry(std::uint64_t first_ns, std::uint64_t longest_ns, Tell tell)
      : first_ns_(first_ns), longest_ns_(longest_ns), pause_ns_(first_ns), tell_(std::move(tell)) {}

  [[nodiscard]] bool is_due(std::uint64_t now_ns) const noexcept { return now_ns >= next_ns_; }
  void failed(std::uint64_t now_ns, const std::string& why) {
    next_ns_ = now_ns + pause_ns_;
    pause_ns_ = std::min(2 * pause_ns_, longest_ns_);
    if (tell_ && why != told_) tell_(why);
    told_ = why;
  }
  /// What works for a shorter time than the longest pause does not shorten the next one.
  void works(std::uint64_t now_ns) {
    told_.clear();
    if (now_ns - next_ns_ >= longest_ns_) pause_ns_ = first_ns_;
  }

 private:
  std::uint64_t first_ns_;
  std::uint64_t longest_ns_;
  std::uint64_t pause_ns_;
  Tell tell_;
  std::string told_;
  std::uint64_t next_ns_ = 0;
};

/// A carrier, and the node on it.
struct OwnNode {
  OwnNode(std::unique_ptr<nic::Transport> way, const nic::LinkOptions& link)
      : carrier(std::move(way)), node(*carrier, options(link)) {}
  static nic::NodeOptions options(const nic::LinkOptions& link) {
    nic::NodeOptions options;
    options.ports = 16;
    options.link = link;
    options.link.silence_ns = kSilenceNs;  // making a large ring takes time, and its maker is not to be taken for lost
    return options;
  }

  std::unique_ptr<nic::Transport> carrier;
  nic::Node node;
};

/// A node of its own, and the subscriber there.
struct Subscribed {
  static Opened<Subscribed> open(std::unique_ptr<nic::Transport> carrier, const nic::LinkOptions& link,
                                 const SubscriberOptions& options) {
    auto own = std::make_unique<OwnNode>(std::move(carrier), link);
    auto subscriber = Subscriber::open(own->node, options);
    if (!subscriber) return unreachable(subscriber.message());
    return Subscribed{std::move(own), std::move(subscriber).value()};
  }

  std::unique_ptr<OwnNode> own;
  std::unique_ptr<Subscriber> subscriber;  ///< Goes before its node.
};

/// With a node of its own.
class NodeMember : public Member {
 public:
  explicit NodeMember(Subscribed subscribed)
      : own_(std::move(subscribed.own)), subscriber_(std::move(subscribed.subscriber)) {}
  ~NodeMember() override {
    subscriber_.reset();
    for (std::size_t i = 0; i < kGoodbyeSteps; ++i) (void)own_->node.step(os::monotonic_clock_ns());
  }
  std::size_t step(std::uint64_t now_ns) override { return own_->node.step(now_ns) + subscriber_->step(now_ns); }
  void look(RemoteRing::Look& look) const override { look_at(*subscriber_, look); }

 protected:
  /// The subscriber goes on there, with its ring.
  [[nodiscard]] Status move_to(std::unique_ptr<nic::Transport> carrier, const nic::LinkOptions& link) {
    auto next = std::make_unique<OwnNode>(std::move(carrier), link);
    Status moved = subscriber_->move_to(next->node);
    if (moved) own_ = std::move(next);
    return moved;
  }

 private:
  std::unique_ptr<OwnNode> own_;
  std::unique_ptr<Subscriber> subscriber_;  ///< Before its node.
};

/// The same on another host, where a place can be lost: to another node, while this one was away, or with the process
/// that starts those of libfabric. Then the network is joined anew.
template <class Place>
class NetworkMember final : public NodeMember {
 public:
  using Carrier = typename Place::Carrier;
  /// `carrier` is that of the node.
  NetworkMember(Place place, Carrier& carrier, Subscribed subscribed, Tell tell)
      : NodeMember(std::move(subscribed)),
        place_(std::move(place)),
        carrier_(&carrier),
        tell_(tell),
        retry_(kReopenNs, kLongestReopenNs, std::move(tell)) {}
  std::size_t step(std::uint64_t now_ns) override {
    if (now_ns >= next_look_ns_) {
      next_look_ns_ = now_ns + kLookEveryNs;
      look_after(now_ns);
    }
    return NodeMember::step(now_ns);
  }

 private:
  void look_after(std::uint64_t now_ns) {
    if (next_) return join(now_ns);
    const std::string problem = carrier_->problem();
    if (problem.empty()) {
      if constexpr (Place::kTellsWhyNotJoined) tell_why_not_joined();
      return retry_.works(now_ns);
    }
    if (!is_lost_) {
      is_lost_ = true;
      return retry_.failed(now_ns, "rejoining the network: " + problem);
    }
    if (!retry_.is_due(now_ns)) return;
    auto started = place_.start();
    if (!started) return retry_.failed(now_ns, started.message());
    next_ = std::move(started).value();
  }
  /// The carrier goes on trying, for instance with a token that the publisher has no more.
  void tell_why_not_joined() {
    const std::string why = carrier_->is_joined() ? std::string() : carrier_->why_not_joined();
    if (tell_ && !why.empty() && why != told_) tell_("rejoining the network: " + why);
    told_ = why;
  }
  void join(std::uint64_t now_ns) {
    next_->progress();
    std::string problem = next_->problem();
    if (problem.empty() && !next_->is_joined()) return;
    if (problem.empty()) {
      Carrier* const joined = next_.get();
      const Status moved = move_to(std::move(next_), Place::link_options());
      if (moved) {
        carrier_ = joined;
        is_lost_ = false;
        return tell_("rejoined the network as node " + std::to_string(carrier_->node()));
      }
      problem = moved.message();
    } else {
      (void)place_.learn(*next_);  // the appliance may have started anew with another frame size
    }
    next_.reset();
    retry_.failed(now_ns, cannot_reach(place_.place, problem));
  }

  Place place_;
  Carrier* carrier_;               ///< Of the node.
  std::unique_ptr<Carrier> next_;  ///< That joins in its place.
  Tell tell_;
  Retry retry_;
  bool is_lost_ = false;
  std::string told_;  ///< The newest reason that tell_ got for not being joined.
  std::uint64_t next_look_ns_ = 0;
};

/// With a port at the appliance's node, which a broker opens; again when the appliance is back.
class ClientMember final : public Member {
 public:
  /// A ring that does not exist yet is an error unless the caller is willing to wait.
  static Opened<std::unique_ptr<Member>> open(std::string socket, SubscriberOptions options, bool is_patient) {
    std::unique_ptr<ClientMember> made(new ClientMember(std::move(socket), std::move(options)));
    const Opened<Done> asked = made->ask();
    if (!asked && (asked.failure().kind == Kind::Refused || !is_patient)) return asked.failure();
    if (!asked) made->options_.log("waiting: " + made->problem_);
    return std::unique_ptr<Member>(std::move(made));
  }
  std::size_t step(std::uint64_t now_ns) override {
    if (now_ns >= next_look_ns_) {
      next_look_ns_ = now_ns + kReopenNs;
      if (client_ == nullptr || !client_->is_open()) reopen();
    }
    return subscriber_ == nullptr ? 0 : subscriber_->step(now_ns);
  }
  void look(RemoteRing::Look& look) const override {
    if (subscriber_ == nullptr) {
      if (look.problem != problem_) look.problem = problem_;
      return;
    }
    look_at(*subscriber_, look);
    look.records += past_.records;
    look.fetched += past_.fetched;
    look.lost += past_.lost;
    look.sessions += past_.sessions;
  }

 private:
  ClientMember(std::string socket, SubscriberOptions options)
      : socket_(std::move(socket)), options_(std::move(options)) {}

  /// Requests the ring from the broker. An error is in `problem_`, too.
  Opened<Done> ask() {
    Opened<Done> asked = try_to_ask();
    problem_ = asked ? std::string() : asked.message();
    return asked;
  }
  Opened<Done> try_to_ask() {
    auto client = nic::Client::open(socket_);
    if (!client) return unreachable(client.message());
    const auto port = client.value()->subscribe(options_.ring);
    if (!port) return RingFailure{Kind::Refused, port.message()};
    options_.publisher = port.value().node;
    options_.publisher_port = port.value().vpid;
    // It writes the ring; and it was named by its socket.
    options_.publisher_user = client.value()->broker_user();
    if (options_.publisher_user) os::accept_user(*options_.publisher_user);
    auto subscriber = Subscriber::open(*client.value(), options_);
    if (!subscriber) return unreachable(subscriber.message());
    client_ = std::move(client).value();
    subscriber_ = std::move(subscriber).value();
    return Done{};
  }
  void reopen() {
    if (subscriber_ != nullptr) {
      const SubscriberCounters counters = subscriber_->counters();
      past_.records += counters.records;
      past_.fetched += counters.fetched;
      past_.lost += counters.lost;
      past_.sessions += counters.sessions;
      if (options_.log) options_.log("ring '" + options_.name + "': the broker closed the connection");
    }
    subscriber_.reset();
    client_.reset();
    (void)ask();  // it requests the ring again
  }

  std::string socket_;
  SubscriberOptions options_;
  std::unique_ptr<nic::Client> client_;
  std::unique_ptr<Subscriber> subscriber_;  ///< Before its client.
  SubscriberCounters past_;                 ///< Of those before.
  std::string problem_;
  std::uint64_t next_look_ns_ = 0;
};

class Receiving final : public RemoteRing {
 public:
  explicit Receiving(std::unique_ptr<Member> member)
      : member_(std::move(member)), thread_(std::thread([this] { run(); })) {}
  ~Receiving() override {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }
  [[nodiscard]] Look look() const override {
    const std::lock_guard lock(mutex_);
    return look_;
  }

 private:
  void run() {
    std::uint64_t next_look_ns = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      const std::uint64_t now = os::monotonic_clock_ns();
      const std::size_t work = member_->step(now);
      if (now >= next_look_ns) {
        next_look_ns = now + kLookEveryNs;
        take_look();
      }
      if (work == 0) std::this_thread::sleep_for(kRest);
    }
    take_look();
  }
  void take_look() {
    const std::lock_guard lock(mutex_);
    member_->look(look_);
  }

  std::unique_ptr<Member> member_;
  mutable std::mutex mutex_;
  Look look_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

SubscriberOptions subscriber_options(const RingAddress& address, const std::string& name,
                                     const RemoteRing::Options& wanted, const Tell& tell) {
  SubscriberOptions options;
  options.ring = address.ring;
  options.name = name;
  options.token = wanted.token;
  options.filter = wanted.filter;
  options.wants_history = wanted.from_start;
  options.is_lossless = wanted.is_lossless;
  options.records_read = wanted.records_read;
  options.follows = wanted.follows;
  options.max_table_bytes = wanted.max_table_bytes.value_or(options.max_table_bytes);
  options.way = wanted.is_far ? SubscriberOptions::Way::Far : SubscriberOptions::Way::Best;
  // A final refusal is reported as an error.
  options.log = [tell, begin = "ring '" + name + "': "](const std::string& line) {
    const std::string_view rest = std::string_view(line).substr(line.starts_with(begin) ? begin.size() : 0);
    if (tell && !rest.starts_with(to_text(SubscriberState::Refused))) tell(std::string(rest));
  };
  return options;
}

/// Whether what is asked for makes sense.
Opened<Done> check(const RingAddress& address, const std::string& name, const RemoteRing::Options& wanted) {
  const bool is_broker = address.carrier == RingAddress::Carrier::Broker;
  if (is_broker && wanted.is_far) {
    return RingFailure{Kind::Usage, "far needs shm://; the rings of a broker: address are written by the appliance"};
  }
  if (address.carrier != RingAddress::Carrier::Udp && (wanted.is_plain || !wanted.network_token.empty())) {
    return RingFailure{Kind::Usage, "a token of the network and plain text need udp://"};
  }
  if (address.carrier == RingAddress::Carrier::Udp && !wanted.is_plain && wanted.network_token.empty()) {
    const auto at = nic::resolve(address.place);
    if (at && !at.value().is_loopback()) {
      return RingFailure{Kind::Usage, "'" + address.place +
                                          "' is another host, so --network-token-file is needed: the publisher's "
                                          "`token_file` of [nic.udp]; or --plain, if it has encryption = \"off\""};
    }
  }
  if (is_broker && name.find_first_of("/.") != std::string::npos) {
    return RingFailure{Kind::Usage, "the appliance creates the ring '" + name +
                                        "': its name must not contain '/' or "
                                        "'.'"};
  }
  return Done{};
}

template <class Place>
Opened<std::unique_ptr<Member>> join_host(Place place, const SubscriberOptions& options, const RingWait& wait) {
  auto carrier = join_network(place, wait);
  if (!carrier) return carrier.failure();
  typename Place::Carrier& joined = *carrier.value();
  auto subscribed = Subscribed::open(std::move(carrier).value(), Place::link_options(), options);
  if (!subscribed) return subscribed.failure();
  return std::unique_ptr<Member>(
      std::make_unique<NetworkMember<Place>>(std::move(place), joined, std::move(subscribed).value(), wait.tell));
}

Opened<std::unique_ptr<Member>> join(const RingAddress& address, const SubscriberOptions& options,
                                     const RemoteRing::Options& wanted, const RingWait& wait) {
  switch (address.carrier) {
    case RingAddress::Carrier::Broker: return ClientMember::open(address.place, options, wait.is_patient);
    case RingAddress::Carrier::Fabric: return join_host(FabricPlace{address.place, wanted.provider}, options, wait);
    case RingAddress::Carrier::Udp:
      return join_host(UdpPlace{address.place, wanted.network_token, wanted.is_plain}, options, wait);
    case RingAddress::Carrier::Shm: break;
  }
  auto carrier = join_shm(address.place, wait);
  if (!carrier) return carrier.failure();
  auto subscribed = Subscribed::open(std::move(carrier).value(), nic::fabric_link_options(), options);
  if (!subscribed) return subscribed.failure();
  return std::unique_ptr<Member>(std::make_unique<NodeMember>(std::move(subscribed).value()));
}

}  // namespace

Result<std::unique_ptr<RemoteRing>, RingFailure> RemoteRing::open(const RingAddress& address, const std::string& name,
                                                                  const Options& options, const RingWait& wait) {
  if (const auto good = check(address, name, options); !good) return good.failure();
  // A copy may be what the publisher still writes for one of us that was killed.
  if (const auto there = ring::Reader::open(name);
      there && there.value().origin() == ring::Origin::Own && there.value().writer() == ring::WriterState::Running) {
    return unreachable("the ring '" + there.value().path() + "' has a live writer; choose another name with --ring");
  }
  auto member = join(address, subscriber_options(address, name, options, wait.tell), options, wait);
  if (!member) return member.failure();
  return std::unique_ptr<RemoteRing>(std::make_unique<Receiving>(std::move(member).value()));
}

Result<Done, RingFailure> RemoteRing::wait(const RingWait& how) const {
  Look now;
  const auto why = [&] { return now.problem.empty() ? std::string("the publisher does not answer") : now.problem; };
  for (Waiting waiting(how);;) {
    now = look();
    if (now.exists) return Done{};
    if (now.is_refused) return RingFailure{Kind::Refused, now.problem};
    if (auto rested = waiting.rest(why); !rested) return rested;
  }
}

}  // namespace stopbit::remote
