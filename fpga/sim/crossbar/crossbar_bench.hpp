#pragma once

#include <Vstopbit_crossbar.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "host/lab/network/engine/credits.hpp"
#include "link_wire.hpp"
#include "start_cell.hpp"

/// The crossbar with neighbours that keep to their credits, and a model of what has to come out.
namespace stopbit::sim {

inline constexpr std::size_t kUnits = 4;
inline constexpr std::size_t kLinks = 6;
inline constexpr std::size_t kPorts = kUnits + kLinks;
inline constexpr std::size_t kSlots = 128;
inline constexpr std::size_t kReserve = 4;
inline constexpr std::size_t kMostSlots = 4;
inline constexpr std::uint64_t kRouteThrough = 16;  // cycles, from the first cell in to the first cell out

enum Table : std::uint8_t { Own, Global, Local, Groups };

using Packet = std::vector<Cell>;
inline std::size_t slots_of(const Packet& packet) {
  return std::max<std::size_t>(1, (packet.size() - 2 + 7) / 8);
}

/// The tables of a port, and where they lead: an own reading of the page, not of the RTL.
struct Tables {
  std::uint16_t own = 0;
  std::array<std::uint32_t, 64> globals{};
  std::array<std::uint32_t, 1024> locals{};
  std::array<std::uint32_t, 256> groups{};

  struct Way {
    std::size_t port;
    std::size_t vc;
  };
  [[nodiscard]] static Way of(std::uint32_t entry, std::uint64_t traffic_class) {
    constexpr std::array<unsigned, 4> kAt{6, 17, 22, 27};
    const std::uint32_t way = entry >> kAt[traffic_class];
    return {kUnits + (way >> 2 & 7), way & 3};
  }
  [[nodiscard]] std::uint32_t entry(const Start& start) const {
    return start.node >> 10 != own >> 10U ? globals[start.node >> 10] : locals[start.node & 1023];
  }
  /// Of a packet without adaptive choice.
  [[nodiscard]] std::vector<Way> ways(const Start& start, std::size_t in) const {
    if (start.is_multicast) return group_ways(start, in);
    Way way{start.unit, start.vc};
    if (start.node == own) {
      if (start.unit >= kUnits) return {};
    } else {
      way = of(entry(start), start.traffic_class);
    }
    if (way.port >= kPorts || way.vc >= kVcs) return {};
    return {way};
  }
  [[nodiscard]] std::vector<Way> group_ways(const Start& start, std::size_t in) const {
    const std::uint32_t group = groups[start.node & 255];
    std::vector<Way> ways;
    if ((group >> 25 & 1) == 0 || start.vc > 1) return ways;
    const std::uint32_t unit_vc = group >> 19 & 3;
    if ((group >> 18 & 1) != 0 && start.unit < kUnits && unit_vc < kVcs) ways.push_back({start.unit, unit_vc});
    for (std::size_t link = 0; link < kLinks; ++link) {
      const std::size_t vc = group >> ((start.vc == 0 ? 6 : 12) + link) & 1;
      if ((group >> link & 1) != 0 && kUnits + link != in) ways.push_back({kUnits + link, vc});
    }
    return ways;
  }
};

/// What the crossbar counts at a port.
struct Events {
  std::uint64_t stray = 0;
  std::uint64_t cut = 0;
  std::uint64_t overrun = 0;
  std::uint64_t malformed = 0;
  std::uint64_t unroutable = 0;
  std::uint64_t circled = 0;
  std::uint64_t discarded = 0;
  std::uint64_t excess = 0;
  bool operator==(const Events&) const = default;
};
inline void PrintTo(const Events& events, std::ostream* out) {
  *out << "stray " << events.stray << ", cut " << events.cut << ", overrun " << events.overrun << ", malformed "
       << events.malformed << ", unroutable " << events.unroutable << ", circled " << events.circled << ", discarded "
       << events.discarded << ", excess " << events.excess;
}

class CrossbarTest : public ::testing::Test {
 protected:
  struct Received {
    std::size_t out = 0;
    std::size_t channel = 0;
    std::uint64_t began = 0;  ///< The cycle of its first cell, and of its last.
    std::uint64_t ended = 0;
    Packet packet;
  };

  CrossbarTest() { restart(); }

  /// A crossbar as after its start, with tables that lead everywhere.
  void restart(std::uint64_t seed = 1) {
    bench_.emplace(seed);
    random_ = Random(seed);
    model().up_i = (1U << kPorts) - 1;
    model().patience_i = 0;
    model().config_i = 0;
    clear_inputs();
    bench_->reset();
    forget();
    make_tables();
    wait_until_ready();
  }
  void wait_until_ready() {
    for (int i = 0; model().ready_o == 0; ++i) {
      ASSERT_LT(i, 1000);
      watch();
      bench_->step();
    }
    for (const Events& events : events_) EXPECT_EQ(events, Events()) << "in a reset";
  }
  /// A reset: what was on its way is gone, the tables are not.
  void reset() {
    clear_inputs();
    bench_->reset();
    forget();
    configure(Own, 0, tables_[0].own);
    wait_until_ready();
  }

  Vstopbit_crossbar& model() { return *bench_->operator->(); }
  [[nodiscard]] std::uint64_t cycles() const { return bench_->cycles(); }

  void configure(Table table, std::uint32_t address, std::uint32_t data, std::uint32_t ports = (1U << kPorts) - 1) {
    model().config_i = 1;
    model().config_ports_i = static_cast<std::uint16_t>(ports);
    model().config_table_i = table;
    model().config_address_i = static_cast<std::uint16_t>(address);
    model().config_data_i = data;
    watch();
    bench_->step();
    model().config_i = 0;
    for (std::size_t port = 0; port < kPorts; ++port) {
      if ((ports >> port & 1) == 0) continue;
      if (table == Own) tables_[port].own = static_cast<std::uint16_t>(data);
      if (table == Global) tables_[port].globals[address] = data;
      if (table == Local) tables_[port].locals[address] = data;
      if (table == Groups) tables_[port].groups[address] = data;
    }
  }
  /// Local node n goes out on link n % 6, on channel n % 3; by class a link further. No adaptive ports.
  static std::uint32_t entry(std::size_t link, std::size_t vc) {
    std::uint32_t entry = 0;
    constexpr std::array<unsigned, 4> kAt{6, 17, 22, 27};
    for (std::size_t i = 0; i < kClasses; ++i) {
      entry |= static_cast<std::uint32_t>(((link + i) % kLinks) << 2 | vc) << kAt[i];
    }
    return entry;
  }
  void make_tables() {
    configure(Own, 0, 0x1403);
    for (std::uint32_t i = 0; i < 1024; ++i) configure(Local, i, entry(i % kLinks, i / kLinks % kVcs));
    for (std::uint32_t i = 0; i < 64; ++i) configure(Global, i, entry((i + 3) % kLinks, (i / kLinks + 1) % kVcs));
    for (std::uint32_t i = 0; i < 256; ++i) configure(Groups, i, 0);
  }

  /// A node whose packets leave on `out`, of this class, and the channel they get.
  Start to(std::size_t out, std::size_t traffic_class = 0, std::size_t vc_in = 0, std::size_t vc_out = 0) {
    const std::uint64_t own = tables_[0].own;
    if (out < kUnits) return {.node = own, .unit = out, .traffic_class = traffic_class, .vc = vc_in};
    for (std::uint64_t i = 0; i < 1024; ++i) {
      const std::uint64_t node = (own & 0xFC00) | i;
      const Tables::Way way = Tables::of(tables_[0].locals[i], traffic_class);
      if (node != own && way.port == out && way.vc == vc_out) {
        return {.node = node, .traffic_class = traffic_class, .vc = vc_in};
      }
    }
    ADD_FAILURE() << "no node for " << out;
    return {};
  }
  /// With a payload of `cells` random cells. The VPID says where it came in, so that order can be checked by input.
  Packet packet(Start start, std::size_t in, std::size_t cells) {
    start.vpid = in | (random_.bits() & 0x3F) << 4;
    Packet packet{{Cell::Start, start.data()}};
    for (std::size_t i = 0; i < cells; ++i) packet.push_back({Cell::Payload, random_.bits()});
    packet.push_back({Cell::End, random_.bits() >> 1});
    return packet;
  }
  Start any_start() {
    Start start{.node = random_.bits() & 0xFFFF,
                .unit = random_.below(kUnits),
                .traffic_class = random_.below(kClasses),
                .vc = random_.below(kVcs),
                .marker = (random_.bits() & 0x3F) << 8 | random_.below(40)};
    if (random_.chance(40)) start.node = tables_[0].own;
    return start;
  }

  /// Queues a packet at an input. What has to come of it is noted when it goes in: channels may overtake each other.
  void send(std::size_t in, Packet packet) {
    waiting_[in].push_back(std::move(packet));
    ++sent_;
  }
  /// Cells as they are, whatever the credits; nothing is expected of them.
  void inject(std::size_t in, Cell cell) { raw_[in].push_back(cell); }
  void inject(std::size_t in, const Packet& packet) { raw_[in].insert(raw_[in].end(), packet.begin(), packet.end()); }
  [[nodiscard]] bool injects(std::size_t in) const { return !raw_[in].empty(); }
  /// A credit at an output, whatever was used.
  void grant(std::size_t out, std::size_t channel) { raw_freed_[out].push_back(channel); }

  void expect(std::size_t in, const Packet& packet) {
    const Start start = Start::of(packet.front().data);
    const auto ways = tables_[in].ways(start, in);
    if (ways.empty()) ++lost_;
    for (const auto& way : ways) expect_at(in, way.port, way.vc, packet);
  }
  void expect_at(std::size_t in, std::size_t out, std::size_t vc, const Packet& packet) {
    Start start = Start::of(packet.front().data);
    start.vc = vc;
    if (out >= kUnits) start.marker = (start.marker & 0x3F00) | ((start.marker + 1) & 0xFF);
    Packet leaves = packet;
    leaves.front().data = start.data();
    expected_[in][out][start.channel()].push_back(std::move(leaves));
    ++due_;
  }
  /// What is due at this output need not come.
  void give_up(std::size_t out) {
    for (auto& outputs : expected_) {
      for (auto& queue : outputs[out]) {
        due_ -= queue.size();
        queue.clear();
      }
    }
  }
  /// Packets of random lengths from all inputs but `not_in`, to all outputs but `not_out`.
  void feed(std::uint64_t packets, std::size_t not_in = kPorts, std::size_t not_out = kPorts) {
    const std::uint64_t end = sent_ + packets;
    while (sent_ < end) {
      for (std::size_t in = 0; in < kPorts; ++in) {
        if (in == not_in || waiting_[in].size() >= 4) continue;
        const Start start = any_start();
        const auto ways = tables_[in].ways(start, in);
        if (ways.empty() || ways.front().port == not_out) continue;
        send(in, packet(start, in, random_.below(9)));
      }
      cycle();
      if (HasFailure()) return;
    }
  }
  /// Outputs that take nothing: their credits stay away.
  void hold(std::size_t out, bool holds) { held_[out] = holds; }
  void set_stalls(std::uint32_t in, std::uint32_t freeing) {
    stall_in_ = in;
    stall_freeing_ = freeing;
    for (std::size_t i = 0; i < kPorts; ++i) gates_[i].emplace(random_, in);
  }
  /// In `received_`.
  void keep_received(bool keeps) { keeps_ = keeps; }

  void cycle() {
    for (std::size_t i = 0; i < kPorts; ++i) {
      drive(i);
      give_back(i);
    }
    watch();
    bench_->step();
    if (loop_) loop_();
  }
  template <class Until>
  void run(const Until& until, std::uint64_t patience = 300'000) {
    for (std::uint64_t i = 0; !until(); ++i) {
      ASSERT_LT(i, patience) << "stuck: " << due_ << " packets are due";
      cycle();
      if (HasFailure()) return;
    }
  }
  /// Until all that was sent has come out, and all credits are back.
  void finish() {
    run([this] { return due_ == 0 && is_quiet(); });
    if (HasFailure()) return;
    for (std::size_t i = 0; i < kPorts; ++i) {
      ASSERT_EQ(bank_.free(static_cast<network::ChannelId>(i)), kSlots) << "credits of input " << i;
    }
  }
  /// No output has lost a credit: each sends as many packets to a peer that frees nothing as its room says.
  void check_room() {
    const auto before = arrived_;
    for (std::size_t out = 0; out < kPorts; ++out) hold(out, true);
    for (std::size_t in = 0; in < kPorts; ++in) {
      const Start start = to((in + 1) % kPorts);
      for (int i = 0; i < 100; ++i) send(in, packet(start, in, 1));
    }
    settle(1'500);
    for (std::size_t out = 0; out < kPorts; ++out) {
      EXPECT_EQ(arrived_[out] - before[out], 1 + kSlots - kMostSlots - (kChannels - 1) * kReserve) << "output " << out;
    }
    for (std::size_t out = 0; out < kPorts; ++out) hold(out, false);
    finish();
  }
  /// Until nothing has come out for as many cycles.
  void settle(int cycles = 600) {
    auto before = arrived_;
    for (int quiet = 0; quiet < cycles && !HasFailure(); ++quiet) {
      cycle();
      if (arrived_ != before) quiet = 0;
      before = arrived_;
    }
  }
  [[nodiscard]] bool is_quiet() const {
    for (std::size_t i = 0; i < kPorts; ++i) {
      if (!waiting_[i].empty() || !raw_[i].empty() || !to_free_[i].empty() || !coming_[i].empty()) return false;
      if (bank_.free(static_cast<network::ChannelId>(i)) != kSlots) return false;
    }
    return true;
  }

  std::optional<Bench<Vstopbit_crossbar>> bench_;
  Random random_{1};
  std::array<Tables, kPorts> tables_;
  network::CreditBank bank_{kPorts, kChannels, kSlots, kReserve};
  std::array<Events, kPorts> events_;
  std::array<std::deque<Packet>, kPorts> waiting_;
  std::vector<Received> received_;
  std::array<std::uint64_t, kPorts> arrived_{};        ///< Packets, by output.
  std::array<std::uint64_t, kPorts> first_cell_in_{};  ///< The cycle in which the last packet began to come in.
  std::array<std::uint64_t, kPorts> surplus_{};        ///< Credits, by input, for cells that were not paid for.
  std::uint64_t sent_ = 0;
  std::uint64_t due_ = 0;
  std::uint64_t lost_ = 0;      ///< Packets that cannot be delivered.
  bool checks_ = true;          ///< What comes out is compared.
  std::function<void()> loop_;  ///< After each cycle.

 private:
  void clear_inputs() {
    model().valid_i = 0;
    model().kind_i = 0;
    model().freed_i = 0;
    model().config_ports_i = 0;
    model().config_table_i = 0;
    model().config_address_i = 0;
    model().config_data_i = 0;
    model().freed_channel_i = 0;
    for (std::size_t i = 0; i < 2 * kPorts; ++i) model().data_i[i] = 0;
  }
  void forget() {
    bank_ = network::CreditBank(kPorts, kChannels, kSlots, kReserve);
    events_ = {};
    sent_ = due_ = lost_ = 0;
    received_.clear();
    arrived_ = {};
    surplus_ = {};
    for (std::size_t i = 0; i < kPorts; ++i) {
      waiting_[i].clear();
      raw_[i].clear();
      raw_freed_[i].clear();
      to_free_[i].clear();
      coming_[i].clear();
      at_[i] = 0;
      used_[i] = {};
      held_[i] = false;
      for (auto& channels : expected_[i]) {
        for (auto& queue : channels) queue.clear();
      }
    }
    set_stalls(0, 0);
    checks_ = true;
    keeps_ = false;
    loop_ = nullptr;
  }

  void put(std::size_t in, const Cell& cell) {
    model().valid_i = static_cast<std::uint16_t>(model().valid_i | 1U << in);
    model().kind_i = (model().kind_i & ~(3U << 2 * in)) | std::uint32_t{cell.kind} << 2 * in;
    model().data_i[2 * in] = static_cast<std::uint32_t>(cell.data);
    model().data_i[2 * in + 1] = static_cast<std::uint32_t>(cell.data >> 32);
  }
  /// The next cell of an input: of raw cells, else of the first packet that waits and has credits.
  void drive(std::size_t in) {
    model().valid_i = static_cast<std::uint16_t>(model().valid_i & ~(1U << in));
    if (!raw_[in].empty() && at_[in] == 0) {
      put(in, raw_[in].front());
      raw_[in].pop_front();
      return;
    }
    if (waiting_[in].empty() || !gates_[in]->open()) return;
    const auto channel = static_cast<network::ChannelId>(in);
    if (at_[in] == 0) {
      // Those of a channel stay in order; a channel without credits does not stop the others.
      std::uint32_t seen = 0;
      std::size_t i = 0;
      for (; i < std::min<std::size_t>(waiting_[in].size(), 16); ++i) {
        const auto flow = static_cast<std::uint32_t>(Start::of(waiting_[in][i].front().data).channel());
        if ((seen >> flow & 1) == 0 && bank_.can_send(channel, flow, kMostSlots)) break;
        seen |= 1U << flow;
      }
      if (i == std::min<std::size_t>(waiting_[in].size(), 16)) return;
      const auto from = waiting_[in].begin() + static_cast<std::ptrdiff_t>(i);
      std::rotate(waiting_[in].begin(), from, from + 1);
      const Packet& next = waiting_[in].front();
      bank_.take(channel, static_cast<std::uint32_t>(Start::of(next.front().data).channel()),
                 static_cast<std::uint32_t>(slots_of(next)));
      first_cell_in_[in] = cycles();
      expect(in, next);
    }
    const Packet& packet = waiting_[in].front();
    put(in, packet[at_[in]]);
    if (++at_[in] < packet.size()) return;
    at_[in] = 0;
    waiting_[in].pop_front();
  }
  /// The neighbour at an output frees a slot, and the crossbar's own input does.
  void give_back(std::size_t port) {
    model().freed_i = static_cast<std::uint16_t>(model().freed_i & ~(1U << port));
    if (!raw_freed_[port].empty()) {
      auto& used = used_[port][raw_freed_[port].front()];
      used -= used != 0;
      free(port, raw_freed_[port].front());
      raw_freed_[port].pop_front();
      return;
    }
    if (held_[port] || to_free_[port].empty() || random_.chance(stall_freeing_)) return;
    const std::size_t channel = to_free_[port].front();
    to_free_[port].pop_front();
    used_[port][channel] -= used_[port][channel] != 0;
    free(port, channel);
  }
  void free(std::size_t port, std::size_t channel) {
    model().freed_i = static_cast<std::uint16_t>(model().freed_i | 1U << port);
    const std::uint64_t shift = 4 * port;
    model().freed_channel_i = (model().freed_channel_i & ~(std::uint64_t{15} << shift)) | std::uint64_t{channel}
                                                                                              << shift;
  }
  void watch() {
    const auto count = [&](std::uint64_t Events::*which, std::uint32_t bits) {
      for (std::size_t i = 0; i < kPorts; ++i) events_[i].*which += bits >> i & 1;
    };
    if ((model().stray_o | model().cut_o | model().overrun_o | model().malformed_o | model().unroutable_o |
         model().circled_o | model().discarded_o | model().excess_o) != 0) {
      count(&Events::stray, model().stray_o);
      count(&Events::cut, model().cut_o);
      count(&Events::overrun, model().overrun_o);
      count(&Events::malformed, model().malformed_o);
      count(&Events::unroutable, model().unroutable_o);
      count(&Events::circled, model().circled_o);
      count(&Events::discarded, model().discarded_o);
      count(&Events::excess, model().excess_o);
    }
    for (std::size_t i = 0; i < kPorts; ++i) {
      if ((model().freed_o >> i & 1) != 0) {
        const auto channel = static_cast<std::uint32_t>(model().freed_channel_o >> 4 * i & 15);
        if (bank_.used(static_cast<network::ChannelId>(i), channel) == 0) {
          ++surplus_[i];
          continue;
        }
        bank_.give_back(static_cast<network::ChannelId>(i), channel, 1);
      }
      if ((model().valid_o >> i & 1) != 0) {
        take(i, {static_cast<std::uint8_t>(model().kind_o >> 2 * i & 3),
                 model().data_o[2 * i] | std::uint64_t{model().data_o[2 * i + 1]} << 32});
      }
    }
  }
  void take(std::size_t out, const Cell& cell) {
    Packet& coming = coming_[out];
    if (cell.kind == Cell::Start) {
      ASSERT_TRUE(coming.empty()) << "a packet begins in another, output " << out;
      began_[out] = cycles();
    } else {
      ASSERT_FALSE(coming.empty()) << "a cell without a packet, output " << out;
    }
    coming.push_back(cell);
    ASSERT_LE(coming.size(), kMaxPayload + 2);
    const std::size_t channel = Start::of(coming.front().data).channel();
    ASSERT_LT(channel, kChannels);
    // The neighbour frees each slot when the next one begins, as one that sends on at once, and the last with the end.
    const bool begins_slot = cell.kind == Cell::Payload && coming.size() % 8 == 2 && coming.size() > 2;
    if (cell.kind == Cell::Start || begins_slot) ++used_[out][channel];
    if (cell.kind == Cell::End || begins_slot) to_free_[out].push_back(channel);
    std::size_t all = 0;
    for (const std::size_t used : used_[out]) all += used;
    ASSERT_LE(all, kSlots) << "more than there is room for, output " << out;
    if (cell.kind != Cell::End) return;
    ++arrived_[out];
    if (keeps_) received_.push_back({out, channel, began_[out], cycles(), coming});
    if (checks_) compare(out, channel, coming);
    coming.clear();
  }
  void compare(std::size_t out, std::size_t channel, const Packet& packet) {
    const std::size_t in = Start::of(packet.front().data).vpid & 15;
    ASSERT_LT(in, kPorts);
    auto& queue = expected_[in][out][channel];
    ASSERT_FALSE(queue.empty()) << "a packet too many from " << in << " to " << out << ", channel " << channel;
    ASSERT_TRUE(packet == queue.front()) << "another packet than due from " << in << " to " << out << ", channel "
                                         << channel;
    queue.pop_front();
    --due_;
  }

  std::array<std::deque<Cell>, kPorts> raw_;
  std::array<std::size_t, kPorts> at_{};
  std::array<std::optional<Gate>, kPorts> gates_;
  std::array<std::deque<std::size_t>, kPorts> raw_freed_;
  std::array<std::deque<std::size_t>, kPorts> to_free_;
  std::array<Packet, kPorts> coming_;
  std::array<std::uint64_t, kPorts> began_{};
  std::array<std::array<std::size_t, 16>, kPorts> used_{};
  std::array<bool, kPorts> held_{};
  std::array<std::array<std::array<std::deque<Packet>, kChannels>, kPorts>, kPorts> expected_;
  std::uint32_t stall_in_ = 0;
  std::uint32_t stall_freeing_ = 0;
  bool keeps_ = false;
};

}  // namespace stopbit::sim
