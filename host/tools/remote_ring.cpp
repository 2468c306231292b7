#include "host/tools/remote_ring.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "host/nic/clock.hpp"
#include "host/nic/node/client.hpp"
#include "host/nic/node/node.hpp"
#include "host/nic/remote/subscriber.hpp"
#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/shm/shm_transport.hpp"
#include "host/ring/reader.hpp"
#include "host/tools/files.hpp"
#include "host/tools/signals.hpp"

namespace stopbit::tools {
namespace {

using namespace std::chrono_literals;
using nic::remote::Subscriber;
using nic::remote::SubscriberState;

constexpr auto kPatience = 30s;
constexpr auto kQuietWait = 2s;
constexpr auto kRest = 50us;
constexpr std::uint64_t kLookNs = 10'000'000;
constexpr std::size_t kGoodbyeSteps = 64;
constexpr std::uint64_t kSilenceNs = 10'000'000'000;
constexpr std::string_view kFabric = "fabric://";
constexpr std::string_view kShm = "shm://";
constexpr std::string_view kBroker = "broker:";
constexpr std::uint64_t kReopenNs = 500'000'000;
constexpr std::uint64_t kLongestReopenNs = 8'000'000'000;
constexpr std::size_t kValueBytes = 8;

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// A number, or text: what stands in quotes, and what is no number. Of text the first bytes count.
std::uint64_t value_of(std::string_view text) {
  if (const auto number = number_of<std::uint64_t>(text)) return *number;
  if (const auto number = number_of<std::int64_t>(text)) return static_cast<std::uint64_t>(*number);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < std::min(text.size(), kValueBytes); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  }
  return value;
}

using Tell = std::function<void(const std::string&)>;

/// Whether nothing is to be waited for any more. Says once what is waited for, and gives up at the end unless it is
/// patient.
class Waiting {
 public:
  Waiting(bool is_patient, const Tell& tell) : is_patient_(is_patient), tell_(tell) {}

  /// Sleeps a little. `why`: there is nothing yet. False: somebody wants us to stop.
  bool go_on(const std::function<std::string()>& why) {
    if (stop_requested()) return false;
    const auto passed = std::chrono::steady_clock::now() - begin_;
    if (!is_patient_ && passed > kPatience) throw ToolError(kExitEnvironment, why());
    if (!has_told_ && passed > kQuietWait) {
      has_told_ = true;
      tell_("waiting: " + why());
    }
    std::this_thread::sleep_for(1ms);
    return true;
  }

 private:
  bool is_patient_;
  const Tell& tell_;
  bool has_told_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// A network over libfabric, which may be joined more than once.
struct FabricPlace {
  std::string place;
  std::string provider;

  /// A carrier that begins to join, or why there is none.
  [[nodiscard]] Result<std::unique_ptr<nic::FabricTransport>> start() const {
    nic::FabricOptions options;
    if (!provider.empty()) options.provider = provider;
    if (nic::leaves_host(options.provider)) {
      auto program = nic::find_fabric_program();
      if (!program) return Failure{cannot(program.message())};
      options.program = std::move(program).value();
    }
    auto started = nic::FabricTransport::start(options, place);
    if (!started) return Failure{cannot(started.message())};
    return started;
  }
  [[nodiscard]] std::string cannot(const std::string& why) const { return "cannot reach '" + place + "': " + why; }
};

/// The carrier to where the address says; null: somebody wants us to stop.
std::unique_ptr<nic::FabricTransport> join_fabric(const FabricPlace& place, bool is_patient, const Tell& tell) {
  auto started = place.start();
  if (!started) throw ToolError(kExitEnvironment, started.message());
  nic::FabricTransport& carrier = *started.value();
  const auto why = [&] {
    return place.cannot(carrier.why_not_joined() + " (an appliance listens there if `listen` of its [nic] says so)");
  };
  for (Waiting waiting(is_patient, tell); !carrier.is_joined();) {
    carrier.progress();
    if (const std::string problem = carrier.problem(); !problem.empty()) {
      throw ToolError(kExitEnvironment, place.cannot(problem));
    }
    if (!waiting.go_on(why)) return nullptr;
  }
  return std::move(started).value();
}

/// As join_fabric.
std::unique_ptr<nic::Transport> join_shm(const std::string& network, bool is_patient, const Tell& tell) {
  // Any node that nobody is. Those who come together begin at different ones.
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
  if (!carrier) throw ToolError(kExitEnvironment, failed + problem);
  const auto why = [&] {
    return failed + carrier->problem() + " (its name is `network` of [nic], or else the name of the appliance)";
  };
  for (Waiting waiting(is_patient, tell); !carrier->connect(0);) {
    if (!is_patient) throw ToolError(kExitEnvironment, why());
    if (!waiting.go_on(why)) return nullptr;
  }
  return carrier;
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
    const nic::remote::SubscriberCounters counters = subscriber.counters();
    look.exists = look.exists || subscriber.has_ring();
    look.is_near = subscriber.is_near();
    look.is_refused = subscriber.state() == SubscriberState::Refused;
    look.has_ended = subscriber.state() == SubscriberState::Ended;
    // A wrong token is answered as if the ring were not there.
    const bool is_no_ring = look.is_refused && subscriber.refusal() == nic::remote::Refusal::Ring;
    look.problem = subscriber.problem() + (is_no_ring ? "; a wrong token, or none, gets this answer, too" : "");
    look.records = counters.records;
    look.fetched = counters.fetched;
    look.lost = counters.lost;
    look.sessions = counters.sessions;
  }
};

/// When something is tried again: after a pause that doubles with each failure. Each reason is told once, until it
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
  explicit OwnNode(std::unique_ptr<nic::Transport> way) : carrier(std::move(way)), node(*carrier, options()) {}
  static nic::NodeOptions options() {
    nic::NodeOptions options;
    options.ports = 16;
    options.link = nic::fabric_link_options();
    options.link.silence_ns = kSilenceNs;  // making a large ring takes its time, and who does it is not lost
    return options;
  }

  std::unique_ptr<nic::Transport> carrier;
  nic::Node node;
};

/// With a node of its own.
class NodeMember : public Member {
 public:
  NodeMember(std::unique_ptr<nic::Transport> carrier, const nic::remote::SubscriberOptions& options)
      : own_(std::make_unique<OwnNode>(std::move(carrier))) {
    auto subscriber = Subscriber::open(own_->node, options);
    if (!subscriber) throw ToolError(kExitEnvironment, subscriber.message());
    subscriber_ = std::move(subscriber).value();
  }
  ~NodeMember() override {
    subscriber_.reset();
    for (std::size_t i = 0; i < kGoodbyeSteps; ++i) (void)own_->node.step(nic::steady_ns());
  }
  std::size_t step(std::uint64_t now_ns) override { return own_->node.step(now_ns) + subscriber_->step(now_ns); }
  void look(RemoteRing::Look& look) const override { look_at(*subscriber_, look); }

 protected:
  /// The subscriber goes on there, with its ring. "" or what is wrong.
  [[nodiscard]] std::string move_to(std::unique_ptr<nic::Transport> carrier) {
    auto next = std::make_unique<OwnNode>(std::move(carrier));
    std::string problem = subscriber_->move_to(next->node);
    if (problem.empty()) own_ = std::move(next);
    return problem;
  }

 private:
  std::unique_ptr<OwnNode> own_;
  std::unique_ptr<Subscriber> subscriber_;  ///< Before its node.
};

/// The same over libfabric, where a place can be lost: to another node, while this one was away, or with the process
/// that starts those of libfabric. Then the network is joined anew.
class FabricMember final : public NodeMember {
 public:
  FabricMember(FabricPlace place, std::unique_ptr<nic::FabricTransport> carrier,
               const nic::remote::SubscriberOptions& options, const Tell& tell)
      : FabricMember(std::move(place), carrier.get(), std::move(carrier), options, tell) {}
  std::size_t step(std::uint64_t now_ns) override {
    if (now_ns >= next_look_ns_) {
      next_look_ns_ = now_ns + kLookNs;
      look_after(now_ns);
    }
    return NodeMember::step(now_ns);
  }

 private:
  FabricMember(FabricPlace place, nic::FabricTransport* carrier, std::unique_ptr<nic::FabricTransport>&& owned,
               const nic::remote::SubscriberOptions& options, const Tell& tell)
      : NodeMember(std::move(owned), options),
        place_(std::move(place)),
        carrier_(carrier),
        tell_(tell),
        retry_(kReopenNs, kLongestReopenNs, tell) {}

  void look_after(std::uint64_t now_ns) {
    if (next_) return join(now_ns);
    const std::string problem = carrier_->problem();
    if (problem.empty()) return retry_.works(now_ns);
    if (!is_lost_) {
      is_lost_ = true;
      return retry_.failed(now_ns, "the network is joined anew: " + problem);
    }
    if (!retry_.is_due(now_ns)) return;
    auto started = place_.start();
    if (!started) return retry_.failed(now_ns, started.message());
    next_ = std::move(started).value();
  }
  void join(std::uint64_t now_ns) {
    next_->progress();
    std::string problem = next_->problem();
    if (problem.empty() && !next_->is_joined()) return;
    if (problem.empty()) {
      nic::FabricTransport* const joined = next_.get();
      problem = move_to(std::move(next_));
      if (problem.empty()) {
        carrier_ = joined;
        is_lost_ = false;
        return tell_("the network is joined again, as node " + std::to_string(carrier_->node()));
      }
    }
    next_.reset();
    retry_.failed(now_ns, place_.cannot(problem));
  }

  FabricPlace place_;
  nic::FabricTransport* carrier_;               ///< Of the node.
  std::unique_ptr<nic::FabricTransport> next_;  ///< That joins in its place.
  Tell tell_;
  Retry retry_;
  bool is_lost_ = false;
  std::uint64_t next_look_ns_ = 0;
};

/// With a port at the appliance's node, which a broker opens; again when the appliance is back.
class ClientMember final : public Member {
 public:
  ClientMember(std::string socket, nic::remote::SubscriberOptions options, bool is_patient)
      : socket_(std::move(socket)), options_(std::move(options)) {
    bool is_refused = false;
    problem_ = open(is_refused);
    if (problem_.empty()) return;
    if (is_refused || !is_patient) throw ToolError(is_refused ? kExitRejected : kExitEnvironment, problem_);
    options_.log("waiting: " + problem_);
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
  std::string open(bool& is_refused) {
    auto client = nic::Client::open(socket_);
    if (!client) return client.message();
    const auto port = client.value()->subscribe(options_.ring);
    is_refused = !port;
    if (!port) return port.message();
    options_.publisher = port.value().node;
    options_.publisher_port = port.value().vpid;
    auto subscriber = Subscriber::open(*client.value(), options_);
    if (!subscriber) return subscriber.message();
    client_ = std::move(client).value();
    subscriber_ = std::move(subscriber).value();
    return {};
  }
  void reopen() {
    if (subscriber_ != nullptr) {
      const nic::remote::SubscriberCounters counters = subscriber_->counters();
      past_.records += counters.records;
      past_.fetched += counters.fetched;
      past_.lost += counters.lost;
      past_.sessions += counters.sessions;
      if (options_.log) options_.log("ring '" + options_.name + "': asking: the broker is gone");
    }
    subscriber_.reset();
    client_.reset();
    bool is_refused = false;
    problem_ = open(is_refused);
  }

  std::string socket_;
  nic::remote::SubscriberOptions options_;
  std::unique_ptr<nic::Client> client_;
  std::unique_ptr<Subscriber> subscriber_;  ///< Before its client.
  nic::remote::SubscriberCounters past_;    ///< Of those before.
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
      const std::uint64_t now = nic::steady_ns();
      const std::size_t work = member_->step(now);
      if (now >= next_look_ns) {
        next_look_ns = now + kLookNs;
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

}  // namespace

bool is_remote(std::string_view text) noexcept {
  return text.starts_with(kBroker) || text.find("://") != std::string_view::npos;
}

RemoteAddress parse_remote(const std::string& text) {
  using Carrier = RemoteAddress::Carrier;
  RemoteAddress address;
  std::string_view rest;
  for (const auto& [prefix, carrier] :
       {std::pair(kFabric, Carrier::Fabric), std::pair(kShm, Carrier::Shm), std::pair(kBroker, Carrier::Broker)}) {
    if (!text.starts_with(prefix)) continue;
    address.carrier = carrier;
    rest = std::string_view(text).substr(prefix.size());
  }
  const std::size_t slash = rest.rfind('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == rest.size()) {
    throw ToolError(kExitUsage, "'" + text +
                                    "' is no address of a published ring: fabric://HOST:PORT/RING, "
                                    "shm://NETWORK/RING or broker:SOCKET/RING");
  }
  address.place = rest.substr(0, slash);
  address.ring = rest.substr(slash + 1);
  if (address.carrier == Carrier::Fabric) {
    const std::size_t colon = address.place.rfind(':');
    const auto port = number_of<std::uint16_t>(std::string_view(address.place).substr(colon + 1));
    if (colon == std::string::npos || colon == 0 || !port || *port == 0) {
      throw ToolError(kExitUsage, "'" + text + "' has no port: fabric://HOST:PORT/RING");
    }
  }
  return address;
}

nic::remote::Filter parse_filter(const std::vector<std::string>& patterns) {
  nic::remote::Filter filter;
  for (const std::string& text : patterns) {
    nic::remote::Filter::Pattern pattern;
    pattern.mask = {.channel = 0, .template_id = 0, .value = 0};
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view part = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
      const std::size_t sign = part.find('=');
      const auto wrong = [&](const std::string& why) {
        throw ToolError(kExitUsage, "--filter '" + text + "': " + why);
      };
      if (sign == std::string_view::npos || sign == 0)
        wrong("a condition is channel=, template= or FIELD=, and a value");
      const std::string name(part.substr(0, sign));
      const std::string_view value = part.substr(sign + 1);
      if (name == "channel" || name == "template") {
        const auto number = number_of<std::uint32_t>(value);
        if (!number) wrong("a " + name + " is a number");
        (name == "channel" ? pattern.wanted.channel : pattern.wanted.template_id) = *number;
        (name == "channel" ? pattern.mask.channel : pattern.mask.template_id) = ~std::uint32_t{0};
      } else {
        if (!filter.field.empty() && filter.field != name) {
          wrong("values of one field are looked at, '" + filter.field + "'; '" + name + "' is another");
        }
        filter.field = name;
        pattern.wanted.value = value_of(value);
        pattern.mask.value = ~std::uint64_t{0};
      }
    }
    if (filter.patterns.size() == nic::remote::kMaxPatterns) {
      throw ToolError(kExitUsage, "--filter can be given " + std::to_string(nic::remote::kMaxPatterns) + " times");
    }
    filter.patterns.push_back(pattern);
  }
  return filter;
}

std::vector<Option> remote_options(RemoteArguments& arguments) {
  return {
      {.names = "--filter",
       .value = "CONDITIONS",
       .help = "Of a published ring: only records of these, as channel=7,template=30,SecurityID=3400: number of the "
               "channel, identifier of the template, value of a field anywhere in the record; text in quotes. "
               "Given several times, one has to fit. Events come always.",
       .target = &arguments.filter},
      {.names = "--from-start",
       .value = "",
       .help = "Of a published ring: begins with the oldest record that is still there, not with the next one.",
       .target = &arguments.from_start},
      {.names = "--lossless",
       .value = "",
       .help = "Of a published ring with lossless = true: its writer waits for this process, so that nothing is lost.",
       .target = &arguments.lossless},
      {.names = "--token-file",
       .value = "FILE",
       .help = "Of a published ring: its first line is what the publisher wants to be told.",
       .target = &arguments.token_file,
       .hint = file_hint()},
      {.names = "--provider",
       .value = "NAME",
       .help = "Of fabric://: the provider of libfabric, the publisher's. Default tcp;ofi_rxm.",
       .target = &arguments.provider},
      {.names = "--far",
       .value = "",
       .help = "Of shm://: the records are sent here, also if the publisher could write the ring itself.",
       .target = &arguments.is_far}};
}

std::unique_ptr<RemoteRing> RemoteRing::open(const std::string& address, const std::string& name, const How& how,
                                             std::function<void(const std::string&)> tell) {
  const RemoteAddress where = parse_remote(address);
  nic::remote::SubscriberOptions options;
  options.ring = where.ring;
  options.name = name;
  options.filter = parse_filter(how.arguments.filter);
  options.wants_history = how.arguments.from_start;
  options.is_lossless = how.arguments.lossless;
  options.records_read = how.records_read;
  options.follows = how.follows;
  options.way =
      how.arguments.is_far ? nic::remote::SubscriberOptions::Way::Far : nic::remote::SubscriberOptions::Way::Best;
  // Who refuses for good is told of by an error.
  options.log = [tell, begin = "ring '" + name + "': "](const std::string& line) {
    const std::string_view rest = std::string_view(line).substr(line.starts_with(begin) ? begin.size() : 0);
    if (!rest.starts_with(to_text(SubscriberState::Refused))) tell(std::string(rest));
  };
  if (!how.arguments.token_file.empty()) {
    constexpr std::size_t kMaxFileBytes = 4'096;
    options.token = read_file(how.arguments.token_file, kMaxFileBytes);
    options.token.resize(std::min(options.token.find_first_of("\r\n"), options.token.size()));
    if (options.token.size() > nic::remote::kMaxTokenBytes) {
      throw ToolError(kExitUsage, how.arguments.token_file + ": a token has at most " +
                                      std::to_string(nic::remote::kMaxTokenBytes) + " characters");
    }
  }
  const bool is_broker = where.carrier == RemoteAddress::Carrier::Broker;
  if (is_broker && options.way == nic::remote::SubscriberOptions::Way::Far) {
    throw ToolError(kExitUsage, "--far is of shm://: a broker's rings are written by the appliance");
  }
  if (is_broker && name.find_first_of("/.") != std::string::npos) {
    throw ToolError(kExitUsage, "the appliance makes the ring '" + name + "': its name can have no '/' and no '.'");
  }
  // A copy may be what the publisher still writes for one of us that was killed.
  if (const auto there = ring::Reader::open(name);
      there && there.value().origin() == ring::Origin::Own && there.value().writer() == ring::WriterState::Running) {
    throw ToolError(kExitEnvironment,
                    "the ring '" + there.value().path() + "' has a live writer; --ring gives another name");
  }
  if (is_broker)
    return std::make_unique<Receiving>(std::make_unique<ClientMember>(where.place, options, how.is_patient));
  if (where.carrier == RemoteAddress::Carrier::Fabric) {
    const FabricPlace place{where.place, how.arguments.provider};
    auto carrier = join_fabric(place, how.is_patient, tell);
    if (!carrier) return nullptr;
    return std::make_unique<Receiving>(std::make_unique<FabricMember>(place, std::move(carrier), options, tell));
  }
  auto carrier = join_shm(where.place, how.is_patient, tell);
  if (!carrier) return nullptr;
  return std::make_unique<Receiving>(std::make_unique<NodeMember>(std::move(carrier), options));
}

bool RemoteRing::wait(bool is_patient, const std::function<void(const std::string&)>& tell) const {
  Look now;
  const auto why = [&] { return now.problem.empty() ? std::string("the publisher does not answer") : now.problem; };
  for (Waiting waiting(is_patient, tell);;) {
    now = look();
    if (now.exists) return true;
    if (now.is_refused) throw ToolError(kExitRejected, now.problem);
    if (!waiting.go_on(why)) return false;
  }
}

}  // namespace stopbit::tools
