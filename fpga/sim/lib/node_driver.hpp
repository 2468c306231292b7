#pragma once

#include <Vrtl_node.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../htax/host_memory.hpp"
#include "atu_driver.hpp"
#include "bench.hpp"
#include "bits.hpp"
#include "host/nic/notify/notification.hpp"
#include "host/nic/queue/command.hpp"
#include "host/nic/queue/page.hpp"
#include "link_wire.hpp"
#include "queue_driver.hpp"
#include "rma_driver.hpp"
#include "start_cell.hpp"
#include "velo_driver.hpp"

/// A whole node in RTL (fpga/rtl/node) with its host: memory, supervisor, processes.
namespace stopbit::sim::node {

namespace protocol = nic::protocol;

inline constexpr std::size_t kPorts = 8;
inline constexpr std::size_t kWindows = 1024;
inline constexpr std::uint64_t kFirstUnitPort = 4;  ///< Of HTAX: the first unit,
inline constexpr std::uint64_t kCommandsPort = 8;   ///< the queue of commands,
inline constexpr std::uint64_t kMessagesPort = 9;   ///< and the message unit.

// Where the host has what is not a port's registered memory.
inline constexpr std::uint64_t kRings = 0x1000'0000;         ///< Of notifications, a page for each port,
inline constexpr std::uint64_t kCommandRings = 0x2000'0000;  ///< and of commands.
inline constexpr std::uint64_t kMailboxes = 0x3000'0000;     ///< Of messages, kMailboxBytes for each ring,
inline constexpr std::uint64_t kTables = 0x4000'0000;        ///< Of translations.
inline constexpr std::uint64_t kMailboxBytes = nic::PageLayout::kMailboxSlots * nic::PageLayout::kMaxSlotBytes;
inline constexpr std::uint64_t kLimits = std::uint64_t{0x6B6}
                                         << 28U;  ///< Pages of ports for the limits of their rings.
inline constexpr std::uint64_t kElsewhere = std::uint64_t{0x7B7} << 28U;  ///< Addresses for no unit.
inline constexpr std::uint64_t kRingLines = nic::PageLayout::kNotifications;

/// What a node counts, in the order of node_events_t, and how many bits it has there.
enum class Count : std::uint8_t {
  Ended,
  Error,
  Served,
  Refused,
  Stale,
  Strange,
  Damaged,
  Malformed,
  Late,
  Expired,
  Waits,
  Hit,
  Miss,
  Fault,
  Failed,
  MalformedMessage,
  RefusedMessage,
  LateEntry,
  UnaskedEntry,
  BadCommand,
  StaleCommand,
  LateCommand,
  ExpiredCommand,
  MessageSent,
  Misshapen,
  ForeignMessage,
  MalformedPacket,
  Crowded,
  Unfinished,
  MessageFailed,
  LateMessage,
  BadStore,
  StrayPart,
  BadTranslation,
  Holds,
  DroppedNotice,
  LostWrite,
  Foreign,
  Unasked,
  RefusedPacket,
  StrayPacket,
  Sent,
  NetworkLoss,
  Last
};
inline constexpr std::array<unsigned, static_cast<std::size_t>(Count::Last)> kCountBits = {
    1, 5, 2, 2, 1, 2, 2, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1};

/// The lowest bit of a count.
[[nodiscard]] constexpr unsigned bit_of(Count which) {
  unsigned bit = 0;
  for (std::size_t i = kCountBits.size(); --i > static_cast<std::size_t>(which);) bit += kCountBits[i];
  return bit;
}

/// An event of a port, as software sees it.
struct PortEvent {
  nic::Vpid vpid = 0;
  std::uint64_t number = 0;
};

/// One node, its host's memory and its supervisor.
class Node {
 public:
  struct Write {
    std::uint64_t address = 0;
    std::uint64_t word = 0;
    std::uint8_t mask = 0;
  };

  /// `nodes`: how many there are. All but this one are at the other end of the link.
  Node(Random& random, std::uint64_t model_seed, nic::NodeId id, std::size_t nodes)
      : random_(random), bench_(model_seed), id_(id), nodes_(nodes) {
    auto& m = model();
    m.node_i = id;
    m.last_node_i = static_cast<std::uint16_t>(nodes - 1);
    m.limit_i = 64;
    m.patience_i = 0;
    constexpr std::uint32_t kFirstChannels = 0b001'001'001'001;  // one for each class: order is kept
    m.channels_i = kFirstChannels | kFirstChannels << kChannels;
    set_intervals(0, 0);
    m.message_patience_i = 1000;
    m.table_valid_i = m.page_valid_i = m.tick_i = 0;
    m.config_i = m.set_valid_i = m.ring_valid_i = m.port_write_i = m.window_write_i = m.end_valid_i = m.base_write_i =
        m.flush_valid_i = m.link_signal_i = m.host_valid_i = m.host_ready_i = 0;
    reset();
    for (std::size_t i = 0; i < kPorts; ++i) rma_ports.emplace_back(i, rma::PortEntry{});
    for (std::size_t i = 0; i < kWindows; ++i) windows.emplace_back(i, rma::WindowEntry{});
  }

  Vrtl_node& model() { return *bench_.operator->(); }
  [[nodiscard]] std::uint64_t now() const { return bench_.cycles(); }
  [[nodiscard]] nic::NodeId id() const { return id_; }

  /// All that is under way is forgotten, also at the host; memory and the tables of remote memory access are not.
  void reset() {
    auto& m = model();
    posted.clear();
    requests.clear();
    responses.clear();
    reads_.clear();
    answers_.clear();
    flushes.clear();
    events.clear();
    tables.clear();
    pages.clear();
    part_events.clear();
    m.page_valid_i = 0;
    reports.clear();
    refusals.clear();
    ring_ends.clear();
    read_.fill(0);
    offered_ = {};
    at_ = {};
    posted_out_ = requests_out_ = responses_out_ = {};
    m.host_valid_i = m.flush_valid_i = m.set_valid_i = m.ring_valid_i = m.end_valid_i = m.table_valid_i = 0;
    bench_.reset();
    reset_cycle_ = now();
    fetched_.fill(0);
    for (nic::Vpid vpid = 0; vpid < kPorts; ++vpid) forget_notifications(vpid);
    configure(0, 0, id_);
    // The one link leads to all others; packets for this one go to its units.
    for (std::uint32_t to = 0; to < nodes_; ++to) configure(2, to, 0);
  }
  /// Tables of the switch; `ports`: of units and link, a bit each.
  void configure(std::uint8_t table, std::uint32_t address, std::uint32_t data, std::uint8_t ports = 7) {
    auto& m = model();
    m.config_i = 1;
    m.config_ports_i = ports;
    m.config_table_i = table;
    m.config_address_i = static_cast<std::uint16_t>(address);
    m.config_data_i = data;
    bench_.step();
    m.config_i = 0;
  }
  /// Where addresses of the host lead: to the queue of commands, to the message unit, and those of kElsewhere to `port`
  /// of HTAX by `channels`, a bit each (a supervisor should set none). Changed only while the host sends nothing.
  void set_intervals(std::uint64_t port, std::uint64_t channels) {
    BitWriter intervals(model().intervals_i);
    const auto put = [&](std::uint64_t to, std::uint64_t by, std::uint64_t first) {
      intervals.put(by, 4);
      intervals.put(to, 4);
      intervals.put(first + 0xFFF'FFFF, 48);
      intervals.put(first, 48);
      intervals.put(by != 0, 1);
    };
    put(kCommandsPort, 1U << htax::kPosted | 1U << htax::kNonposted, queue::kWindow);
    put(kMessagesPort, 1U << htax::kPosted, kLimits);
    put(port, channels, kElsewhere);
  }
  /// Of the tables of translations of a node: the first one.
  void set_base() {
    auto& m = model();
    m.base_write_i = 1;
    m.base_index_i = 0;
    m.base_i =
        static_cast<std::uint32_t>(protocol::kGatBasePresent.put(1) | protocol::kGatBaseAddress.put(kTables >> 21U));
    bench_.step();
    m.base_write_i = 0;
  }

  // ---- the supervisor; what it does is under way until cycle() has done it
  struct QueuePort {
    nic::Vpid vpid = 0;
    queue::State state = queue::State::Closed;
    std::uint64_t life = 0;
  };
  std::deque<QueuePort> queue_ports;
  std::deque<std::pair<nic::Vpid, bool>> rings;  ///< Of notifications: open or not.
  std::deque<std::pair<std::size_t, rma::PortEntry>> rma_ports;
  std::deque<std::pair<std::size_t, rma::WindowEntry>> windows;
  std::deque<std::pair<bool, std::uint16_t>> ends;   ///< A port, or else a node.
  std::deque<std::uint64_t> flushes;                 ///< Pages.
  std::deque<velo::Row> tables;                      ///< Of the message unit.
  std::deque<std::pair<std::uint64_t, bool>> pages;  ///< Of parts: class and port, open or not.

  void map(std::uint64_t page, nic::Vpid owner, std::uint64_t number, nic::Access access) {
    memory[kTables + 8 * page] = protocol::kGatEntryOwner.put(owner) | protocol::kGatEntryNumber.put(number) |
                                 protocol::kGatEntryAccess.put(static_cast<std::uint64_t>(access)) |
                                 protocol::kGatEntryPresent.put(1);
  }
  void unmap(std::uint64_t page) { memory[kTables + 8 * page] = 0; }
  /// Everything of a port.
  void open(nic::Vpid vpid, nic::Pdid domain, std::uint64_t life = 1) {
    queue_ports.push_back({vpid, queue::State::Enabled, life});
    rings.emplace_back(vpid, true);
    rma_ports.emplace_back(vpid, rma::PortEntry{true, domain, 0});
    tables.push_back(velo::row_of(vpid, velo::Port{.domain = domain}));
    for (const bool is_high : {false, true}) {
      const std::uint64_t ring = ring_of(vpid, is_high);
      set_ring(ring, false, velo::Ring{.address = kMailboxes + ring * kMailboxBytes});
      limit(vpid, is_high, false, 0);
      pages.emplace_back((is_high ? kPorts : 0) + vpid, true);
    }
    read_.at(vpid) = 0;
    fetched_.at(vpid) = 0;
  }
  [[nodiscard]] static constexpr std::uint64_t ring_of(nic::Vpid vpid, bool is_high) {
    return vpid * std::uint64_t{2} + (is_high ? 1 : 0);
  }
  void set_ring(std::uint64_t ring, bool has_segments, const velo::Ring& setup) {
    tables.push_back(velo::row_of(velo::index_of(ring, has_segments, kPorts), setup));
  }
  [[nodiscard]] bool is_set() const {
    return queue_ports.empty() && rings.empty() && rma_ports.empty() && windows.empty() && ends.empty() &&
           flushes.empty() && tables.empty() && pages.empty();
  }

  // ---- a process
  /// A part of a message; `words` of it are written.
  void write_part(nic::Vpid vpid, bool is_high, const nic::Command& part, std::size_t words) {
    const queue::Line line = queue::to_line(part);
    posted.push_back(queue::write_of(
        kLimits | std::uint64_t{vpid} << 12U | 1U << 11U | (is_high ? 1U << 10U : 0U) | (lines_++ % 16) << 6U,
        {line.begin(), line.begin() + static_cast<std::ptrdiff_t>(words)}));
  }
  /// How many slots a port has read, or segments posted.
  void limit(nic::Vpid vpid, bool is_high, bool has_segments, std::uint64_t count) {
    posted.push_back(queue::write_of(
        kLimits | std::uint64_t{vpid} << 12U | (has_segments ? 16U : 0U) | (is_high ? 8U : 0U), {count}));
  }
  /// A command as a posted write of a line to the port's page.
  void write(nic::Vpid vpid, const nic::Command& command) {
    posted.push_back(queue::write_line(vpid, lines_++ % 32, queue::to_line(command)));
  }
  /// As a line that is answered.
  void ask(nic::Vpid vpid, const nic::Command& command) {
    requests.push_back(queue::request_line(vpid, queue::to_line(command)));
  }
  /// In the port's ring in memory, with a load that announces them.
  void trigger(nic::Vpid vpid, const std::vector<nic::Command>& commands) {
    for (nic::Command command : commands) {
      const std::uint64_t at = kCommandRings + vpid * nic::kPageBytes + fetched_.at(vpid) % 64 * nic::kLineBytes;
      command.number = ++fetched_[vpid];
      const queue::Line line = queue::to_line(command);
      for (std::size_t i = 0; i < line.size(); ++i) memory[at + 8 * i] = line[i];
    }
    requests.push_back(queue::request_trigger(vpid, queue::Trigger::Issue, commands.size()));
  }
  /// The next notification in the port's ring, which tells the node that it was read.
  [[nodiscard]] std::optional<nic::Notification> take(nic::Vpid vpid) {
    std::optional<nic::Notification> notification = look(vpid);
    if (notification) {
      ++read_[vpid];
      requests.push_back(queue::request_trigger(vpid, queue::Trigger::NotificationsRead, 1));
    }
    return notification;
  }
  /// What a ring had for the last owner of a port.
  void forget_notifications(nic::Vpid vpid) {
    for (std::uint64_t i = 0; i < kRingLines * 8; ++i) memory.erase(kRings + vpid * nic::kPageBytes + 8 * i);
  }
  /// Of a port that does not tell the node.
  [[nodiscard]] std::optional<nic::Notification> look(nic::Vpid vpid) {
    const std::uint64_t at = kRings + vpid * nic::kPageBytes + read_.at(vpid) % kRingLines * nic::kLineBytes;
    if (memory[at + 56] != read_[vpid] + 1) return std::nullopt;
    nic::Notification notification;
    std::array<std::uint64_t, 8> words{};
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = memory[at + 8 * i];
    std::memcpy(static_cast<void*>(&notification), words.data(), sizeof(words));
    return notification;
  }
  void skip(nic::Vpid vpid) { ++read_.at(vpid); }

  // ---- wires
  [[nodiscard]] Cell out() { return {static_cast<std::uint8_t>(model().link_kind_o & 3U), model().link_data_o}; }
  void in(const Cell& cell, bool has_signal) {
    model().link_kind_i = cell.kind;
    model().link_data_i = cell.data;
    model().link_signal_i = has_signal;
  }
  [[nodiscard]] bool is_up() { return (model().links_o >> 6U & 1U) != 0; }
  /// The network is, and translation has cleared its cache.
  [[nodiscard]] bool is_ready() { return model().ready_o != 0 && now() > reset_cycle_ + atu::kClearCycles; }

  void cycle() {
    auto& m = model();
    const auto goes = [&] { return !random_.chance(stall_percent); };
    drive_supervisor();
    // The host's packets.
    offer(htax::kPosted, posted, goes());
    offer(htax::kNonposted, requests, goes());
    offer_answer(goes());
    unsigned ready = 0;
    if (goes() && !writes_are_shut) ready |= 1U << htax::kPosted;
    if (goes() && !reads_are_shut) ready |= 1U << htax::kNonposted;
    if (goes() && !answers_are_shut) ready |= 1U << htax::kResponse;
    m.host_ready_i = static_cast<std::uint8_t>(ready);
    bench_.settle();

    take_host_inputs();
    const unsigned moves = m.host_valid_o & ready;
    for (std::size_t channel = 0; channel < 3; ++channel) {
      if ((moves >> channel & 1U) == 0) continue;
      ++moved;
      const std::uint64_t phit = m.host_phit_o[2 * channel] | std::uint64_t{m.host_phit_o[2 * channel + 1]} << 32U;
      if (channel == htax::kPosted && posted_out_.put(phit)) take_write(posted_out_.packet());
      if (channel == htax::kNonposted && requests_out_.put(phit)) take_read(requests_out_.packet());
      if (channel == htax::kResponse && responses_out_.put(phit)) responses.push_back(responses_out_.packet());
    }
    const bool set = m.set_valid_i != 0 && m.set_ready_o != 0;
    const bool ring = m.ring_valid_i != 0 && m.ring_ready_o != 0;
    const bool end = m.end_valid_i != 0 && m.end_ready_o != 0;
    const bool flush = m.flush_valid_i != 0 && m.flush_ready_o != 0;
    const bool page = m.page_valid_i != 0 && m.page_ready_o != 0;
    if (m.part_event_valid_o != 0) part_events.push_back(m.part_event_o);
    const bool row = m.table_valid_i != 0 && m.table_ready_o != 0;
    if (m.report_valid_o != 0) reports.push_back(velo::report_of(m.report_o, now()));
    if (m.refusal_valid_o != 0) refusals.push_back(velo::refusal_of(m.refusal_o));
    if (m.ring_end_valid_o != 0) {
      ring_ends.push_back({std::uint64_t{m.ring_end_o}, static_cast<nic::Error>(m.ring_end_error_o),
                           std::uint64_t{m.ring_end_culprit_o}});
    }
    flushed += m.flush_done_o;
    if (m.event_valid_o != 0) {
      events.push_back({static_cast<nic::Vpid>(m.event_vpid_o), m.event_number_o});
      if (on_event) on_event(events.back());
    }
    signals += m.signal_valid_o;
    unsigned at = 0;
    for (std::size_t i = kCountBits.size(); i-- > 0;) {
      const std::uint64_t bits = m.events_o >> at & ((1U << kCountBits[i]) - 1);
      if (i == static_cast<std::size_t>(Count::Error)) {
        const bool has_ended = (m.events_o >> (at + kCountBits[i]) & 1U) != 0;
        counts_[i] += has_ended && bits != 0 ? 1 : 0;
        if (has_ended) last_error = static_cast<nic::Error>(bits);
      } else {
        counts_[i] += static_cast<std::uint64_t>(__builtin_popcountll(bits));
      }
      at += kCountBits[i];
    }
    waits = (m.events_o >> kWaitsBit & 1U) != 0;
    holds = static_cast<std::uint8_t>(m.events_o >> kHoldsBit & 3U);
    bench_.step();
    if (set) {
      queue_ports.pop_front();
      m.set_valid_i = 0;
    }
    if (ring) {
      rings.pop_front();
      m.ring_valid_i = 0;
    }
    if (page) {
      pages.pop_front();
      m.page_valid_i = 0;
    }
    if (row) {
      tables.pop_front();
      m.table_valid_i = 0;
    }
    if (end) {
      ends.pop_front();
      m.end_valid_i = 0;
    }
    if (flush) {
      flushes.pop_front();
      m.flush_valid_i = 0;
    }
    m.port_write_i = m.window_write_i = 0;
  }
  /// Nothing is under way that the host sees.
  [[nodiscard]] bool is_quiet() const { return has_nothing_to_do() && !waits; }
  /// ... but answers of other nodes.
  [[nodiscard]] bool has_nothing_to_do() const {
    return posted.empty() && requests.empty() && (is_mute || reads_.empty()) && answers_.empty() && is_set();
  }
  [[nodiscard]] std::uint64_t count(Count which) const { return counts_.at(static_cast<std::size_t>(which)); }

  std::uint32_t stall_percent = 0;
  std::uint32_t error_percent = 0;  ///< Of answers of memory.
  bool answers_in_any_order = false;
  bool writes_are_shut = false;   ///< The host takes no write,
  bool reads_are_shut = false;    ///< or no read,
  bool is_mute = false;           ///< or answers none,
  bool answers_are_shut = false;  ///< or takes no answer.
  bool ticks_by_itself = true;    ///< Of the time of messages,
  bool tick = false;              ///< or in the next cycle.
  std::function<std::uint64_t()> latency = [] { return std::uint64_t{1}; };
  /// Memory that is not in `memory`: true, or a word, if it is.
  std::function<bool(const Write&)> store;
  std::function<std::optional<std::uint64_t>(std::uint64_t)> load;
  std::function<void(const Write&)> on_write;
  std::function<void(std::uint64_t)> on_read;
  std::function<void(const PortEvent&)> on_event;
  std::unordered_map<std::uint64_t, std::uint64_t> memory;  ///< Words by their address.
  std::deque<htax::Packet> posted;
  std::deque<htax::Packet> requests;
  std::vector<htax::Packet> responses;
  std::vector<PortEvent> events;
  std::vector<velo::Report> reports;       ///< What became of messages at ports,
  std::vector<velo::Refusal> refusals;     ///< which of those of ports were refused,
  std::vector<velo::End> ring_ends;        ///< and which rings have ended.
  std::vector<std::uint64_t> part_events;  ///< wcb_event_t
  std::uint64_t flushed = 0;
  std::uint64_t signals = 0;
  std::uint64_t moved = 0;         ///< Phits between node and host.
  std::uint64_t header_cycle = 0;  ///< When the last header of a posted write was taken,
  std::uint64_t write_cycle = 0;   ///< the first write of the node came since it was set to 0,
  std::uint64_t read_cycle = 0;    ///< and the last read.
  bool waits = false;              ///< Commands wait for answers.
  std::uint8_t holds = 0;          ///< Messages of these classes wait for room at their port.
  nic::Error last_error = {};      ///< Of the last command that was sent away or refused.

 private:
  struct Read {
    std::uint64_t tag = 0;
    std::vector<std::uint64_t> words;
    std::uint64_t due = 0;
  };
  static constexpr unsigned kWaitsBit = bit_of(Count::Waits);
  static constexpr unsigned kHoldsBit = bit_of(Count::Holds);
  static constexpr std::uint64_t kTickCycles = 50;

  void drive_supervisor() {
    auto& m = model();
    m.tick_i = std::exchange(tick, false) || (ticks_by_itself && now() % kTickCycles == 0);
    if (!pages.empty()) {
      m.page_valid_i = 1;
      m.page_i = static_cast<std::uint8_t>(pages.front().first);
      m.page_open_i = pages.front().second;
    }
    if (!tables.empty()) {
      m.table_valid_i = 1;
      m.table_i = static_cast<std::uint8_t>(tables.front().table);
      m.table_index_i = static_cast<std::uint16_t>(tables.front().index);
      tables.front().put_into(m.table_data_i);
    }
    if (!queue_ports.empty()) {
      const QueuePort& port = queue_ports.front();
      m.set_valid_i = 1;
      m.set_port_i = static_cast<std::uint8_t>(port.vpid);
      m.set_i = static_cast<std::uint8_t>((port.life & 15U) << 2U | static_cast<std::uint64_t>(port.state));
      m.set_ring_i = (kCommandRings + port.vpid * nic::kPageBytes) >> 6U;
    }
    if (!rings.empty()) {
      m.ring_valid_i = 1;
      m.ring_port_i = static_cast<std::uint8_t>(rings.front().first);
      m.ring_open_i = rings.front().second;
      m.ring_i = (kRings + rings.front().first * nic::kPageBytes) >> 12U;
    }
    if (!rma_ports.empty()) {
      const auto& [index, entry] = rma_ports.front();
      m.port_write_i = 1;
      m.port_index_i = static_cast<std::uint8_t>(index);
      m.port_i = std::uint64_t{entry.open} << 48U | std::uint64_t{entry.domain} << 32U | entry.life;
      rma_ports.pop_front();
    }
    if (!windows.empty()) {
      m.window_write_i = 1;
      m.window_index_i = static_cast<std::uint16_t>(windows.front().first);
      rma::put_window(m.window_i, windows.front().second);
      windows.pop_front();
    }
    if (!ends.empty()) {
      m.end_valid_i = 1;
      m.end_is_port_i = ends.front().first;
      m.end_index_i = ends.front().second;
    }
    if (!flushes.empty()) {
      m.flush_valid_i = 1;
      m.flush_page_i = static_cast<std::uint32_t>(flushes.front());
    }
  }
  void set_phit(std::size_t channel, std::uint64_t phit) {
    model().host_phit_i[2 * channel] = static_cast<std::uint32_t>(phit);
    model().host_phit_i[2 * channel + 1] = static_cast<std::uint32_t>(phit >> 32U);
  }
  void set_valid(std::size_t channel, bool valid) {
    auto& bits = model().host_valid_i;
    bits = static_cast<std::uint8_t>((bits & ~(1U << channel)) | (valid ? 1U << channel : 0U));
  }
  void offer(std::size_t channel, const std::deque<htax::Packet>& packets, bool goes) {
    offered_[channel] = !packets.empty() && (offered_[channel] || goes);
    set_valid(channel, offered_[channel]);
    set_phit(channel, offered_[channel] ? packets.front()[at_[channel]] : random_.bits());
  }
  void offer_answer(bool goes) {
    if (answers_.empty() && !is_mute) {
      std::vector<std::size_t> due;
      for (std::size_t i = 0; i < reads_.size(); ++i) {
        if (reads_[i].due <= now()) due.push_back(i);
      }
      if (!due.empty()) {
        const std::size_t at = due[answers_in_any_order ? random_.below(due.size()) : 0];
        Read& read = reads_[at];
        const bool fails = random_.chance(error_percent);
        if (fails) read.words.resize(random_.below(2) == 0 ? 0 : random_.below(read.words.size() + 1));
        answers_.push_back(
            htax::to_phit({.error = fails, .channel = htax::kResponse, .length = read.words.size(), .tag = read.tag}));
        answers_.insert(answers_.end(), read.words.begin(), read.words.end());
        reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    offered_[htax::kResponse] = !answers_.empty() && (offered_[htax::kResponse] || goes);
    set_valid(htax::kResponse, offered_[htax::kResponse]);
    set_phit(htax::kResponse, offered_[htax::kResponse] ? answers_.front() : random_.bits());
  }
  void take_host_inputs() {
    const unsigned taken = model().host_valid_i & model().host_ready_o;
    for (const std::size_t channel : {std::size_t{htax::kPosted}, std::size_t{htax::kNonposted}}) {
      if ((taken >> channel & 1U) == 0) continue;
      ++moved;
      auto& packets = channel == htax::kPosted ? posted : requests;
      if (channel == htax::kPosted && at_[channel] == 0) header_cycle = now();
      offered_[channel] = false;
      if (++at_[channel] == packets.front().size()) {
        packets.pop_front();
        at_[channel] = 0;
      }
    }
    if ((taken >> htax::kResponse & 1U) != 0) {
      ++moved;
      answers_.pop_front();
      offered_[htax::kResponse] = false;
    }
  }
  static void check(bool is_right, const char* what) {
    if (!is_right) throw std::runtime_error(what);
  }
  static bool is_in_line(std::uint64_t address, std::uint64_t words) {
    return address % 8 == 0 && words >= 1 && words <= 8 && address / 64 == (address + 8 * words - 1) / 64;
  }
  void take_write(const htax::Packet& packet) {
    const htax::Header header = htax::from_phit(packet[0]);
    check(header.channel == htax::kPosted && is_in_line(header.address, header.length),
          "the node writes what is no packet of a line");
    if (write_cycle == 0) write_cycle = now();
    const auto mask = static_cast<std::uint8_t>(header.length == 1 ? (header.origin & 7U) << 5U | header.tag : 0xFF);
    for (std::size_t i = 0; i < header.length; ++i) {
      const Write write{header.address + 8 * i, packet[i + 1], mask};
      if (on_write) on_write(write);
      if (store && store(write)) continue;
      std::uint64_t& old = memory[write.address];
      for (unsigned byte = 0; byte < 8; ++byte) {
        if ((mask >> byte & 1U) == 0) continue;
        const std::uint64_t bits = std::uint64_t{0xFF} << 8 * byte;
        old = (old & ~bits) | (write.word & bits);
      }
    }
  }
  void take_read(const htax::Packet& packet) {
    const htax::Header header = htax::from_phit(packet[0]);
    check(packet.size() == 2 && is_in_line(header.address, packet[1]), "the node reads what is not of a line");
    if (on_read) on_read(header.address);
    read_cycle = now();
    Read read{header.tag, {}, now() + latency()};
    for (std::size_t i = 0; i < packet[1]; ++i) {
      const std::uint64_t address = header.address + 8 * i;
      const std::optional<std::uint64_t> word = load ? load(address) : std::nullopt;
      read.words.push_back(word ? *word : memory[address]);
    }
    reads_.push_back(read);
  }

  Random& random_;
  Bench<Vrtl_node> bench_;
  nic::NodeId id_;
  std::size_t nodes_;
  std::vector<Read> reads_;
  std::deque<std::uint64_t> answers_;  // phits
  std::uint64_t reset_cycle_ = 0;
  std::array<std::uint64_t, kPorts> fetched_{};  // commands in rings
  std::array<bool, 3> offered_{};
  std::array<std::size_t, 3> at_{};
  htax::Collector posted_out_;
  htax::Collector requests_out_;
  htax::Collector responses_out_;
  std::array<std::uint64_t, kPorts> read_{};
  std::array<std::uint64_t, kCountBits.size()> counts_{};
  std::uint64_t lines_ = 0;
};

}  // namespace stopbit::sim::node
