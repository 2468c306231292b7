#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "host/appliance/counter_set.hpp"
#include "host/appliance/settings.hpp"
#include "host/nic/node/broker.hpp"
#include "host/nic/node/node.hpp"
#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/transport.hpp"
#include "host/nic/transport/udp/udp_transport.hpp"
#include "host/os/doorbell.hpp"
#include "host/remote/publisher.hpp"

namespace stopbit::appliance {

/// A ring that can be published and that clients of the broker may have, with the counters of its use.
struct CountedOffer {
  OfferedRing ring;
  OfferCounterSet counter_set = {};
};

/// Hands the rings of an appliance to other processes: a node of the user-level network interface for those of this
/// host and one for other hosts, publishers of rings on them, and the broker that opens ports for processes of this
/// host. It reads rings like any other reader: agents do not know of it.
///
/// Call add_counters and open during set-up. Then either start() creates the thread, or the caller calls step. Another
/// thread takes the lines for the log, and may replace the entitlements.
class Distribution {
 public:
  explicit Distribution(const NicSettings& settings);
  Distribution(const Distribution&) = delete;
  Distribution& operator=(const Distribution&) = delete;
  ~Distribution() { stop(); }

  /// The counters, in the thread's part of the segment.
  void add_counters(CounterSetBuilder& builder);
  /// Nodes, publishers, the broker with its socket. The rings must exist.
  [[nodiscard]] Status open();

  /// `begin` is called by the thread, before anything else.
  void start(const std::function<void()>& begin = {});
  /// Ends the thread, when subscribers have what is left for them or some seconds are over, and closes the ports of all
  /// clients. Rings must have ended. Once; without a thread, too.
  void stop();
  /// Takes commands, answers clients. `now_ns` never goes back. @returns how much it did.
  std::size_t step(std::uint64_t now_ns);

  /// There may be new records: a thread that sleeps looks at once. From any thread.
  void wake() noexcept {
    if (settings_.thread.idle == Idle::Backoff) bell_.ring();
  }

  /// The next line for people. From one other thread.
  [[nodiscard]] bool next_line(std::string& line);
  /// Other entitlements from the next look at the clients on. From any thread.
  void entitle(std::vector<nic::Entitlement> entitlements);
  /// Publishes what [[publish]] says in settings that were read anew, from the next look on. All of it or, with the
  /// reason, none. @returns for people, what holds then. From any thread.
  [[nodiscard]] Result<std::string> republish(const NicSettings& settings);

  /// Whether these rings can be offered together.
  [[nodiscard]] static Status can_offer(const std::vector<OfferedRing>& rings);
  /// All rings that there are now, from the next look on: new ones exist already, and those that are not named have
  /// ended. From any thread.
  void offer(std::vector<CountedOffer> rings);

  /// Where nodes of other hosts join by libfabric, and by UDP: HOST:PORT; empty: nowhere.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  [[nodiscard]] std::string udp_address() const { return udp_ == nullptr ? std::string() : udp_->address(); }

 private:
  static constexpr std::uint64_t kBrokerNs = 1'000'000;      ///< How often clients and orders are looked at,
  static constexpr std::uint64_t kLookNs = 100'000'000;      ///< rings and counters,
  static constexpr std::uint64_t kSweepNs = 10'000'000'000;  ///< and what the dead have left.
  static constexpr std::uint64_t kStrangersNs =
      10'000'000'000;                                    ///< How often the log tells of those at the port of UDP.
  static constexpr std::uint64_t kLineNs = 100'000'000;  ///< So often a line may be said for long,
  /// What only the operator can mend is said again, ever less often.
  static constexpr std::uint64_t kFirstReminderNs = 60'000'000'000, kLastReminderNs = 3'600'000'000'000;
  /// How subscribers are at the end.
  struct Farewell {
    bool is_served = true;       ///< All have everything.
    bool waits = false;          ///< A lossless one has not.
    std::uint64_t progress = 0;  ///< Changes as long as one of them gets on.
  };
  static constexpr std::uint64_t kFarewellNs =
      3'000'000'000;  ///< Time for which subscribers are served at the end; lossless ones, after their last progress,
  static constexpr std::uint64_t kLongestFarewellNs = 8'000'000'000;  ///< but within the unit's TimeoutStopSec.
  static constexpr std::uint64_t kGoodbyeNs = 100'000'000;            ///< For what the publishers say last.
  static constexpr std::size_t kLines = 64;  ///< and the size of a burst, so that unknown peers cannot fill the log.
  /// How much of one kind of line may still be said: each kind has its own, so that none is drowned by another.
  struct Voice {
    std::uint64_t credit_ns = kLines * kLineNs;
    std::uint64_t last_ns = 0;
  };
  /// A carrier, the node on it, and the publisher.
  struct Way {
    std::string name;
    std::unique_ptr<nic::Transport> carrier;
    nic::LinkOptions link;
    std::unique_ptr<nic::Node> node;
    std::unique_ptr<remote::Publisher> publisher;
    bool PublishSettings::*wanted = nullptr;  ///< Says which rings are.
    PublisherCounterSet counter_set;
    UnitsCounterSet units;
    Voice voice;
    using Occupant = std::tuple<nic::NodeId, nic::Vpid, std::uint64_t>;  ///< And since when.
    std::vector<std::optional<Occupant>> occupants;                      ///< Of the places in `counter_set`.
  };
  /// Rings published by each carrier, in the order of `ways_`.
  using Publications = std::vector<std::vector<remote::PublishedRing>>;
  /// A ring for clients of the broker, and which segment has its name.
  struct Offer {
    CountedOffer of;
    std::string path = {};  ///< Empty: the ring has ended.
    bool has_feed = false;  ///< The broker has it.
    dev_t device = 0;
    ino_t inode = 0;
  };

  [[nodiscard]] Status open_ways();
  [[nodiscard]] Status open_fabric(Way& way);
  [[nodiscard]] Status open_udp(Way& way);
  [[nodiscard]] std::vector<remote::PublishedRing> rings_of(std::size_t way) const;
  [[nodiscard]] Status open_publisher(std::size_t number);
  [[nodiscard]] Status open_broker();
  [[nodiscard]] Farewell look_at_subscribers() const;
  void run();
  void close();
  void rest();
  [[nodiscard]] bool is_at_rest() const;
  void say(Voice& voice, std::string line);
  void sweep();
  void look_at_rings();
  void publish_counters();
  static void publish_units(const nic::Node& node, const UnitsCounterSet& counter_set);
  void publish_fabric();
  void tell_of_fabric();
  void publish_udp();
  void tell_of_udp();
  void publish_broker();
  void publish_subscribers(Way& way);
  void take_orders();
  void take_rings(std::vector<CountedOffer> rings);
  [[nodiscard]] Status feed_broker(Offer& offer);

  const NicSettings& settings_;
  NicCounterSet counter_set_;
  std::vector<Offer> offers_;               ///< None without a broker.
  std::vector<std::unique_ptr<Way>> ways_;  ///< The first is of this host, and the broker's.
  Publications published_;                  ///< What [[publish]] says, as it is in force.
  std::string address_;
  const nic::FabricTransport* fabric_ = nullptr;  ///< Of the way with its name, if there is one.
  FabricCounterSet fabric_counter_set_;
  std::uint64_t told_deaths_ = 0;
  const nic::UdpTransport* udp_ = nullptr;  ///< The same.
  UdpCounterSet udp_counter_set_;
  nic::UdpCounters told_udp_;  ///< As they were when the last line was said.
  std::uint64_t next_udp_line_ns_ = 0;
  std::uint64_t next_cut_off_ns_ = 0;  ///< When it is said (again) that it is cut off.
  std::uint64_t cut_off_pause_ns_ = kFirstReminderNs;
  std::unique_ptr<nic::Broker> broker_;
  std::uint64_t next_broker_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t next_sweep_ns_ = 0;
  std::uint64_t now_ns_ = 0;
  Voice broker_voice_;   ///< What becomes of clients and rings;
  Voice refusal_voice_;  ///< apart from it, what strangers can cause,
  Voice fabric_voice_;   ///< at a socket of the broker and over the network,
  Voice udp_voice_;      ///< by any carrier.

  std::mutex mutex_;  ///< Guards data exchanged with other threads; not used on the data path.
  std::deque<std::string> lines_;
  std::optional<std::vector<nic::Entitlement>> entitlements_;
  std::optional<Publications> publications_;
  std::optional<std::vector<CountedOffer>> new_rings_;
  std::vector<OfferedRing> rings_;        ///< That can be published.
  std::atomic<bool> has_orders_ = false;  ///< One of these.

  std::uint32_t asleep_ = 0;
  os::Doorbell bell_{asleep_};  ///< Agents ring when they have records.
  std::thread thread_;
  std::atomic<bool> stop_ = false;
  bool is_closed_ = false;
};

}  // namespace stopbit::appliance
