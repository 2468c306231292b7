#include "host/ports/dpdk/dpdk_port.hpp"

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_prefetch.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "host/feed/packet/plain_frame.hpp"
#include "host/os/clock.hpp"
#include "host/ports/arrival_clock.hpp"
#include "host/ports/dpdk/handover.hpp"
#include "host/ports/igmp/igmp.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::ingest {
namespace {

constexpr std::uint16_t kMaxBurst = 512;
constexpr unsigned kPoolCache = 256;
constexpr std::uint64_t kLooksPerSecond = 10;                   ///< At the card's own counters.
constexpr std::uint64_t kReportSeconds = 60;                    ///< Between two unsolicited IGMP reports.
constexpr std::uint64_t kPlausibleStampNs = 10 * kNsPerSecond;  ///< A driver's UTC is this close to ours.
constexpr std::size_t kPrefetchAhead = 4;
constexpr std::size_t kReportFrameBytes = 1'518;
/// Space that a driver may need in the buffer beside the frame: VLAN tags, a header of its own (virtio). Without room
/// for it virtio refuses the queue.
constexpr std::size_t kDriverBytes = 64;
/// At the end, for what is still to be sent: stopping a card forgets it, and groups would be left without a word.
constexpr unsigned kLastFramesUs = 10'000;
constexpr std::uint32_t kAllHosts = 0xE0000001;  ///< 224.0.0.1: where routers ask who is in which group.
constexpr int kBurstsForOthers = 8;              ///< Bursts in a poll that may belong entirely to other queues.

std::string rte_error(int error) {
  return rte_strerror(error < 0 ? -error : error);
}

/// "(0,1,5)": the processors that this thread may use, as EAL reads them.
std::string cpu_list(const cpu_set_t& set) {
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) text += (text.empty() ? "(" : ",") + std::to_string(cpu);
  }
  return text + ")";
}

std::string out_of_bounds(std::string_view what, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value >= least && value <= most) return {};
  return "dpdk: " + std::string(what) + " is " + std::to_string(value) + ", must be from " + std::to_string(least) +
         " to " + std::to_string(most);
}

/// Where a driver leaves its time stamp in a buffer.
struct StampPlace {
  int offset = -1;
  std::uint64_t flag = 0;
  record::TimeQuality quality = record::TimeQuality::Hardware;
};

/// An open device. Its queues share it; the last one closes it.
class Device {
 public:
  Device(std::string name, std::uint16_t number) : name_(std::move(name)), number_(number) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    rte_eth_dev_info info{};
    const bool known = rte_eth_dev_info_get(number_, &info) == 0;
    if (started_) {
      rte_delay_us_sleep(kLastFramesUs);
      (void)rte_eth_dev_stop(number_);
    }
    (void)rte_eth_dev_close(number_);
    if (is_ours_ && known && info.device != nullptr) (void)rte_dev_remove(info.device);
    handover_.reset();
    rte_mempool_free(pool_);
  }

  Status start(const DpdkPortOptions& options);
  void take_groups(std::span<const Membership> memberships);
  Status bring(const Membership& membership, std::uint16_t queue);
  void send_reports(std::uint16_t queue, std::span<const std::vector<std::byte>> frames) noexcept;

  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const StampPlace& stamps() const noexcept { return stamps_; }
  [[nodiscard]] const MacAddress& mac() const noexcept { return mac_; }
  [[nodiscard]] std::uint16_t queues() const noexcept { return queues_; }
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }
  /// Null: whatever comes to a queue belongs there.
  [[nodiscard]] Handover* handover() const noexcept { return is_handed_over_ ? handover_.get() : nullptr; }
  /// How many IGMP queries have come, to whichever queue.
  [[nodiscard]] std::atomic<std::uint32_t>& queries() noexcept { return queries_; }
  /// The NUMA node of the card; nothing if it has none.
  [[nodiscard]] std::optional<std::uint32_t> node() const noexcept {
    const int node = rte_eth_dev_socket_id(number_);
    return node < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(node));
  }
  /// It was attached for us and is detached at the end.
  void set_ours() noexcept { is_ours_ = true; }
  /// Frames that found no room in the card or no buffer, since it was opened.
  [[nodiscard]] std::uint64_t missed() const noexcept {
    rte_eth_stats stats{};
    return rte_eth_stats_get(number_, &stats) == 0 ? stats.imissed + stats.rx_nombuf : 0;
  }

 private:
  [[nodiscard]] Failure failure(const std::string& what, int error) const {
    return Failure{name_ + ": " + what + ": " + rte_error(error)};
  }
  Status set_up_queues(const DpdkPortOptions& options, const rte_eth_dev_info& info);
  Status make_memory(std::uint32_t buffers, std::uint16_t room, std::uint32_t between_queues);
  [[nodiscard]] bool steer(const Membership& membership, std::uint16_t queue);
  void note(const std::string& text) {
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
  }

  std::string name_;
  std::uint16_t number_;
  std::uint16_t queues_ = 0;
  bool is_ours_ = false;
  bool started_ = false;
  rte_mempool* pool_ = nullptr;
  std::unique_ptr<Handover> handover_;  ///< Null: one queue.
  bool is_handed_over_ = false;
  std::atomic<std::uint32_t> queries_ = 0;
  StampPlace stamps_;
  MacAddress mac_{};
  std::vector<rte_ether_addr> groups_;
  std::vector<std::string> notes_;
};

Status Device::start(const DpdkPortOptions& options) {
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(number_, &info); error != 0) return failure("no information", error);
  queues_ = options.queues;
  if (queues_ > info.max_rx_queues || queues_ > info.max_tx_queues) {
    return Failure{name_ + ": has " + std::to_string(std::min(info.max_rx_queues, info.max_tx_queues)) +
                   " queues, not " + std::to_string(queues_)};
  }

  rte_eth_conf configuration{};
  if (queues_ > 1) {
    configuration.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    configuration.rx_adv_conf.rss_conf.rss_hf =
        info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_NONFRAG_IPV4_UDP);
    if (configuration.rx_adv_conf.rss_conf.rss_hf == 0) {
      configuration.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
      notes_.emplace_back("the card has no RSS");
    }
  }
  if ((info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0) {
    configuration.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
    if (std::string_view(info.driver_name) == "net_af_packet") stamps_.quality = record::TimeQuality::Kernel;
    if (rte_mbuf_dyn_rx_timestamp_register(&stamps_.offset, &stamps_.flag) != 0) stamps_ = {};
  }
  constexpr std::uint32_t kHeaderBytes = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
  const std::uint32_t most = std::min<std::uint32_t>(info.max_mtu, info.max_rx_pktlen - kHeaderBytes);
  const std::uint32_t mtu = std::min(options.max_frame_bytes - kHeaderBytes, most);
  if (mtu > RTE_ETHER_MTU) configuration.rxmode.mtu = mtu;
  if (const int error = rte_eth_dev_configure(number_, queues_, queues_, &configuration); error != 0) {
    return failure("cannot be configured", error);
  }
  if (auto set_up = set_up_queues(options, info); !set_up) return set_up;
  if (const int error = rte_eth_dev_start(number_); error != 0) return failure("does not start", error);
  started_ = true;
  rte_ether_addr mac{};
  if (rte_eth_macaddr_get(number_, &mac) == 0)
    std::copy(std::begin(mac.addr_bytes), std::end(mac.addr_bytes), mac_.begin());
  return Done{};
}

Status Device::set_up_queues(const DpdkPortOptions& options, const rte_eth_dev_info& info) {
  std::uint16_t receive = options.descriptors;
  std::uint16_t send = 64;
  if (const int error = rte_eth_dev_adjust_nb_rx_tx_desc(number_, &receive, &send); error != 0) {
    return failure("descriptors", error);
  }
  // Frames that the card holds, those between two queues, those of a poll, and those in the caches of threads.
  const std::uint32_t between = queues_ > 1 ? receive : 0;
  const std::uint32_t needed =
      queues_ * (std::uint32_t{receive} + between + send + options.burst) + (queues_ + 2U) * kPoolCache;
  const auto room = static_cast<std::uint16_t>(
      std::max<std::size_t>({options.max_frame_bytes, info.min_rx_bufsize, kReportFrameBytes}) + kDriverBytes +
      RTE_PKTMBUF_HEADROOM);
  if (auto made = make_memory(std::max(options.buffers, needed), room, between); !made) return made;
  const int socket = rte_eth_dev_socket_id(number_);
  for (std::uint16_t queue = 0; queue < queues_; ++queue) {
    if (const int error =
            rte_eth_rx_queue_setup(number_, queue, receive, static_cast<unsigned>(socket), nullptr, pool_);
        error != 0) {
      return failure("receive queue " + std::to_string(queue), error);
    }
    if (const int error = rte_eth_tx_queue_setup(number_, queue, send, static_cast<unsigned>(socket), nullptr);
        error != 0) {
      return failure("send queue " + std::to_string(queue), error);
    }
  }
  return Done{};
}

/// Buffers in the memory of the card's node, or wherever there is some.
Status Device::make_memory(std::uint32_t buffers, std::uint16_t room, std::uint32_t between_queues) {
  static std::atomic<unsigned> pools = 0;
  const std::string name = "stopbit" + std::to_string(pools++);
  int socket = rte_eth_dev_socket_id(number_);
  const auto make_pool = [&] { pool_ = rte_pktmbuf_pool_create(name.c_str(), buffers, kPoolCache, 0, room, socket); };
  make_pool();
  if (pool_ == nullptr && socket > 0) {
    note("not enough memory for its frames on its node, " + std::to_string(socket));
    socket = SOCKET_ID_ANY;
    make_pool();
  }
  if (pool_ == nullptr) return failure("not enough memory for its frames", rte_errno);
  if (queues_ == 1) return Done{};
  auto handover = Handover::make(name, queues_, between_queues, socket);
  if (!handover) return Failure{name_ + ": " + handover.message()};
  handover_ = std::move(handover).value();
  return Done{};
}

/// Lets frames of these groups, and the questions of routers, through the card: by its list of addresses, or all
/// multicast, or everything.
void Device::take_groups(std::span<const Membership> memberships) {
  const auto add = [this](std::uint32_t address) {
    const MacAddress mac = multicast_mac(address);
    const bool known = std::any_of(groups_.begin(), groups_.end(), [&mac](const rte_ether_addr& group) {
      return std::equal(mac.begin(), mac.end(), std::begin(group.addr_bytes));
    });
    if (known) return;
    rte_ether_addr& group = groups_.emplace_back();
    std::copy(mac.begin(), mac.end(), std::begin(group.addr_bytes));
  };
  add(kAllHosts);
  for (const Membership& membership : memberships) add(membership.group.address);
  if (rte_eth_dev_set_mc_addr_list(number_, groups_.data(), static_cast<std::uint32_t>(groups_.size())) == 0) return;
  if (rte_eth_allmulticast_enable(number_) == 0) return;
  if (rte_eth_promiscuous_enable(number_) == 0) return;
  note("the card cannot receive all multicast");
}

/// Brings a group to a queue: by a rule in the card, or in software.
Status Device::bring(const Membership& membership, std::uint16_t queue) {
  if (!handover_) return Done{};
  if (auto wanted = handover_->want(membership, queue); !wanted) return Failure{name_ + ": " + wanted.message()};
  if (!steer(membership, queue)) {
    is_handed_over_ = true;
    note(
        "the card has no flow rules: packets that arrive on another queue than their group's are handed over in "
        "software");
  }
  return Done{};
}

/// False: the card has no such rules.
bool Device::steer(const Membership& membership, std::uint16_t queue) {
  rte_flow_attr attributes{};
  attributes.ingress = 1;
  rte_flow_item_ipv4 ip{};
  rte_flow_item_ipv4 ip_mask{};
  ip.hdr.dst_addr = rte_cpu_to_be_32(membership.group.address);
  ip_mask.hdr.dst_addr = ~rte_be32_t{0};
  if (membership.source) {
    ip.hdr.src_addr = rte_cpu_to_be_32(*membership.source);
    ip_mask.hdr.src_addr = ~rte_be32_t{0};
  }
  rte_flow_item_udp udp{};
  rte_flow_item_udp udp_mask{};
  udp.hdr.dst_port = rte_cpu_to_be_16(membership.group.port);
  udp_mask.hdr.dst_port = static_cast<rte_be16_t>(0xFFFF);
  const rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = nullptr, .last = nullptr, .mask = nullptr},
                                   {.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .last = nullptr, .mask = &ip_mask},
                                   {.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .last = nullptr, .mask = &udp_mask},
                                   {.type = RTE_FLOW_ITEM_TYPE_END, .spec = nullptr, .last = nullptr, .mask = nullptr}};
  const rte_flow_action_queue target{.index = queue};
  const rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &target},
                                     {.type = RTE_FLOW_ACTION_TYPE_END, .conf = nullptr}};
  rte_flow_error error{};
  return rte_flow_validate(number_, &attributes, pattern, actions, &error) == 0 &&
         rte_flow_create(number_, &attributes, pattern, actions, &error) != nullptr;
}

void Device::send_reports(std::uint16_t queue, std::span<const std::vector<std::byte>> frames) noexcept {
  for (const std::vector<std::byte>& frame : frames) {
    rte_mbuf* buffer = rte_pktmbuf_alloc(pool_);
    if (buffer == nullptr) return;  // all are in flight: the next report comes
    char* const to = rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(frame.size()));
    if (to != nullptr) std::memcpy(to, frame.data(), frame.size());
    if (to == nullptr || rte_eth_tx_burst(number_, queue, &buffer, 1) == 0) rte_pktmbuf_free(buffer);
  }
}

/// One receive queue.
class QueuePort final : public Port {
 public:
  QueuePort(std::shared_ptr<Device> device, std::uint16_t queue, const DpdkPortOptions& options)
      : device_(std::move(device)),
        queue_(queue),
        name_(device_->name() + (options.queues > 1 ? " queue " + std::to_string(queue) : "")),
        notes_(device_->notes()),
        burst_(options.burst),
        address_(options.address),
        look_ticks_(rte_get_tsc_hz() / kLooksPerSecond),
        report_ticks_(rte_get_tsc_hz() * kReportSeconds) {}

  ~QueuePort() override {
    release();
    device_->send_reports(queue_, igmp_reports(GroupReport::Leave, memberships_, device_->mac(), address_));
  }

  Status join(const Membership& membership) override {
    if (auto brought = device_->bring(membership, queue_); !brought) return brought;
    memberships_.push_back(membership);
    const bool is_multicast = membership.group.address >> 28 == 0xE;
    if (is_multicast) device_->take_groups({&membership, 1});
    notes_ = device_->notes();
    if (!is_multicast) return Done{};
    reports_ = igmp_reports(GroupReport::Current, memberships_, device_->mac(), address_);
    device_->send_reports(queue_, igmp_reports(GroupReport::Current, {&membership, 1}, device_->mac(), address_));
    return Done{};
  }

  std::size_t poll(std::span<Arrival> batch) noexcept override {
    if (!thread_is_known_) register_thread();
    release();
    look_ns_ = os::monotonic_clock_ns();
    if (const std::uint64_t ticks = rte_rdtsc(); ticks >= next_look_) look_around(ticks);
    const auto wanted = static_cast<std::uint16_t>(std::min<std::size_t>(batch.size(), burst_));
    if (Handover* const handover = device_->handover()) return poll_shared(*handover, batch.first(wanted));
    receive(wanted);
    const bool is_empty = held_ < wanted;
    const std::size_t count = hand_out(batch, nullptr);
    if (is_empty) note_empty();
    return count;
  }

  std::uint64_t complete_until() const noexcept override { return complete_until_ns_; }
  const PortCounters& counters() const noexcept override { return counters_; }
  std::string_view name() const noexcept override { return name_; }
  std::span<const std::string> notes() const noexcept override { return notes_; }
  std::optional<std::uint32_t> node() const noexcept override { return device_->node(); }

 private:
  void receive(std::uint16_t wanted) noexcept {
    held_ = rte_eth_rx_burst(device_->number(), queue_, buffers_.data(), wanted);
  }

  /// Bursts of the queue's own and what other queues have handed over, in turns. A burst of which nothing is ours must
  /// not look like a quiet line.
  std::size_t poll_shared(Handover& handover, std::span<Arrival> batch) noexcept {
    const std::span room = std::span(buffers_).first(batch.size());
    for (int burst = 0; burst < kBurstsForOthers; ++burst) {
      is_turn_of_others_ = !is_turn_of_others_;
      if (is_turn_of_others_) held_ = static_cast<std::uint16_t>(handover.take(queue_, room));
      if (held_ != 0) return hand_out(batch, nullptr);
      receive(static_cast<std::uint16_t>(batch.size()));
      if (held_ == 0) {
        held_ = static_cast<std::uint16_t>(handover.take(queue_, room));
        const bool is_empty = held_ < room.size();
        const std::size_t count = hand_out(batch, nullptr);
        if (is_empty) note_empty();
        return count;
      }
      if (const std::size_t count = hand_out(batch, &handover); count != 0 || held_ != 0) return count;
    }
    return 0;
  }

  /// Received packets as arrivals, without those of other queues. @returns how many.
  std::size_t hand_out(std::span<Arrival> batch, Handover* handover) noexcept {
    if (held_ == 0) return 0;
    const std::uint64_t before = os::monotonic_clock_ns();
    const std::uint64_t wall = os::wall_clock_ns();
    clock_.read(before, wall, os::monotonic_clock_ns());
    const std::uint64_t now = clock_.wall_ns();
    const std::size_t received = held_;
    const std::size_t ahead = std::min<std::size_t>(received, kPrefetchAhead);
    for (std::size_t i = 0; i < ahead; ++i) rte_prefetch0(rte_pktmbuf_mtod(buffers_[i], const void*));
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    held_ = 0;
    for (std::size_t i = 0; i < received; ++i) {
      if (i + kPrefetchAhead < received) rte_prefetch0(rte_pktmbuf_mtod(buffers_[i + kPrefetchAhead], const void*));
      rte_mbuf* const buffer = buffers_[i];
      const std::span frame(rte_pktmbuf_mtod(buffer, const std::byte*), buffer->data_len);
      Arrival& arrival = batch[count];
      bool has_datagram = true;
      if (net::Datagram plain; net::parse_plain_frame(frame, plain)) [[likely]] {
        arrival.payload = plain.payload;
        arrival.source = plain.source;
        arrival.destination = plain.destination;
      } else {
        has_datagram = take_other(frame, buffer->pkt_len, arrival);
      }
      if (handover != nullptr && has_datagram) {
        const std::uint16_t owner = handover->owner(arrival.destination, arrival.source.address, queue_);
        if (owner != queue_) {
          handover->give(queue_, owner, buffer);
          continue;
        }
      }
      buffers_[held_++] = buffer;
      bytes += buffer->pkt_len;
      if (!has_datagram) continue;
      ++count;
      stamp(*buffer, now, arrival);
    }
    counters_.frames.add(held_);
    counters_.bytes.add(bytes);
    counters_.verdicts[static_cast<std::size_t>(net::Verdict::Accepted)].add(count);
    return count;
  }

  /// A frame that is not plain. @returns whether it brings a datagram all the same; if not, it is counted.
  [[nodiscard]] bool take_other(std::span<const std::byte> frame, std::size_t original_bytes,
                                Arrival& arrival) noexcept {
    net::Datagram datagram;
    const net::Verdict verdict = net::parse_frame(net::LinkType::Ethernet, frame, original_bytes, datagram);
    if (verdict != net::Verdict::Accepted) {
      counters_.verdicts[static_cast<std::size_t>(verdict)].add(1);
      if (verdict == net::Verdict::NotUdp && is_igmp_query(frame)) device_->queries().fetch_add(1);
      return false;
    }
    arrival.payload = datagram.payload;
    arrival.source = datagram.source;
    arrival.destination = datagram.destination;
    return true;
  }

  /// A thread that DPDK knows has a cache of buffers.
  void register_thread() noexcept {
    thread_is_known_ = true;
    if (rte_lcore_id() == LCORE_ID_ANY) (void)rte_thread_register();
  }

  void release() noexcept {
    if (held_ != 0) rte_pktmbuf_free_bulk(buffers_.data(), held_);
    held_ = 0;
  }

  /// Work that is not needed for every packet: the card's counters and IGMP.
  void look_around(std::uint64_t ticks) noexcept {
    next_look_ = ticks + look_ticks_;
    const std::uint64_t missed = queue_ == 0 ? device_->missed() : 0;
    const Handover* const handover = device_->handover();
    counters_.dropped_by_nic.set(missed + (handover == nullptr ? 0 : handover->dropped(queue_)));
    const std::uint32_t queries = device_->queries().load(std::memory_order_relaxed);
    if (reports_.empty() || (queries == queries_ && ticks < next_report_)) return;
    queries_ = queries;
    next_report_ = ticks + report_ticks_;
    device_->send_reports(queue_, reports_);
  }

  /// Nothing was left in the queue when the poll began, but for what it has handed out.
  void note_empty() noexcept { arrivals_.empty_ns = complete_until_ns_ = std::max(complete_until_ns_, look_ns_); }

  void stamp(const rte_mbuf& buffer, std::uint64_t now, Arrival& arrival) noexcept {
    arrival.arrival_ns = now;
    arrival.t_ns = clock_.monotonic_ns();
    arrival.time_quality = record::TimeQuality::Poll;
    const StampPlace& stamps = device_->stamps();
    if (stamps.offset < 0 || (buffer.ol_flags & stamps.flag) == 0) return;
    const std::uint64_t time = *RTE_MBUF_DYNFIELD(&buffer, stamps.offset, const std::uint64_t*);
    if (time + kPlausibleStampNs < now || time > now + kPlausibleStampNs) return;  // ticks, or a clock of its own
    arrival.arrival_ns = time;
    const ArrivalClock::Mapped mapped = clock_.map(time, arrivals_, counters_.clamped);
    arrival.t_ns = mapped.t_ns;
    arrival.time_quality = stamps.quality;
    // A queue is read in order: what came before this one has been handed out.
    if (!mapped.is_clamped) complete_until_ns_ = std::max(complete_until_ns_, arrival.t_ns);
  }

  std::shared_ptr<Device> device_;
  std::uint16_t queue_;
  std::string name_;
  std::vector<std::string> notes_;
  std::uint16_t burst_;
  std::uint32_t address_;
  std::vector<Membership> memberships_;
  std::vector<std::vector<std::byte>> reports_;  ///< All memberships, ready to be sent.
  std::array<rte_mbuf*, kMaxBurst> buffers_{};
  std::uint16_t held_ = 0;  ///< Of buffers_: what the last poll handed out.
  ArrivalClock clock_;
  std::uint64_t look_ns_ = 0;      ///< Monotonic: when the last poll began.
  ArrivalClock::Source arrivals_;  ///< Empty: when the last poll began that read the queue to its end.
  std::uint64_t complete_until_ns_ = 0;
  bool thread_is_known_ = false;
  bool is_turn_of_others_ = false;
  std::uint32_t queries_ = 0;  ///< Answered.
  std::uint64_t look_ticks_;
  std::uint64_t report_ticks_;
  std::uint64_t next_look_ = 0;
  std::uint64_t next_report_ = 0;
  PortCounters counters_;
};

}  // namespace

Status start_dpdk(const DpdkOptions& options) {
  if (const std::string problem = out_of_bounds("memory_mb", options.memory_mb, 64, 65'536); !problem.empty()) {
    return Failure{problem};
  }
  cpu_set_t own{};
  if (::sched_getaffinity(0, sizeof(own), &own) != 0) return Failure{"dpdk: no core to run on"};
  // One logical core that may run wherever we may: DPDK starts no threads for packets, ours poll.
  std::vector<std::string> arguments = {"stopbit",
                                        "--no-telemetry",
                                        "--log-level=3",
                                        "--lcores=0@" + cpu_list(own),
                                        "-m",
                                        std::to_string(options.memory_mb)};
  // No files that other processes could attach to.
  arguments.emplace_back(options.huge_pages ? "--in-memory" : "--no-shconf");
  if (!options.huge_pages) arguments.emplace_back("--no-huge");
  // Allow one card that never is: DPDK takes none by itself, and ports can take any later.
  arguments.emplace_back("-a");
  arguments.emplace_back("0000:00:00.0");
  std::vector<char*> pointers;
  pointers.reserve(arguments.size());
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  static std::atomic<bool> started = false;
  if (started.exchange(true)) return Failure{"dpdk: already started"};
  const int status = rte_eal_init(static_cast<int>(pointers.size()), pointers.data());
  const int error = rte_errno;
  (void)::sched_setaffinity(0, sizeof(own), &own);
  if (status >= 0) return Done{};
  return Failure{"dpdk: cannot start: " + rte_error(error) +
                 (options.huge_pages ? " (see `stopbit check-host` for huge pages)" : "")};
}

Result<std::vector<std::unique_ptr<Port>>> open_dpdk_ports(const DpdkPortOptions& options) {
  for (const std::string& problem :
       {out_of_bounds("queues", options.queues, 1, 16), out_of_bounds("descriptors", options.descriptors, 32, 32'768),
        out_of_bounds("burst", options.burst, 1, kMaxBurst), out_of_bounds("buffers", options.buffers, 0, 1U << 24),
        out_of_bounds("max_frame_bytes", options.max_frame_bytes, 256, 16'384)}) {
    if (!problem.empty()) return Failure{problem};
  }
  const std::string name = options.device.substr(0, options.device.find(','));
  if (name.empty()) return Failure{"dpdk: the name of the device is missing"};
  std::uint16_t number = 0;
  const bool is_new = rte_eth_dev_get_port_by_name(name.c_str(), &number) != 0;
  if (is_new) {
    if (const int error = rte_dev_probe(options.device.c_str()); error != 0) {
      return Failure{"dpdk " + name + ": no such device, or it cannot start: " + rte_error(error)};
    }
    if (rte_eth_dev_get_port_by_name(name.c_str(), &number) != 0) {
      return Failure{"dpdk " + name + ": is not a network device"};
    }
  }
  const auto device = std::make_shared<Device>("dpdk " + name, number);
  if (is_new) device->set_ours();
  if (auto started = device->start(options); !started) return Failure{started.message()};
  std::vector<std::unique_ptr<Port>> ports;
  for (std::uint16_t queue = 0; queue < options.queues; ++queue) {
    ports.push_back(std::make_unique<QueuePort>(device, queue, options));
  }
  return ports;
}

}  // namespace stopbit::ingest
