#include <Vstopbit_network_bus_registers.h>
#include <Vstopbit_network_bus_registers___024root.h>
#include <Vstopbit_network_crossbar_port_registers.h>
#include <Vstopbit_network_crossbar_port_registers___024root.h>
#include <Vstopbit_network_crossbar_registers.h>
#include <Vstopbit_network_crossbar_unit_registers.h>
#include <Vstopbit_network_crossbar_unit_registers___024root.h>
#include <Vstopbit_network_link_registers.h>
#include <Vstopbit_network_link_registers___024root.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bench.hpp"
#include "block_model.hpp"
#include "generated/network_wires.hpp"

namespace stopbit::sim {
namespace {

using network_registers::kWires;
using Wire = RegisterWire<network_registers::Port>;

/// Gives `visit` the port of a block that has a bundle of wires.
template <class Model, class Visit>
void with_port(Model& model, Bundle bundle, Visit visit) {
  switch (bundle) {
    case Bundle::Written:
      if constexpr (requires { model.written_o; }) visit(model.written_o);
      break;
    case Bundle::Command:
      if constexpr (requires { model.command_o; }) visit(model.command_o);
      break;
    case Bundle::Shown:
      if constexpr (requires { model.shown_i; }) visit(model.shown_i);
      break;
    case Bundle::Raised:
      if constexpr (requires { model.raised_i; }) visit(model.raised_i);
      break;
    case Bundle::Counted:
      if constexpr (requires { model.counted_i; }) visit(model.counted_i);
      break;
    case Bundle::Kept:
      if constexpr (requires { model.kept_i; }) visit(model.kept_i);
      break;
  }
}

/// A block and its model in lock-step.
template <class Block>
class LockStep {
 public:
  LockStep(std::string_view block, std::uint32_t bytes, std::uint64_t seed)
      : random_(seed), bench_(seed), model_(block), bytes_(bytes) {
    for (const auto* row : model_.rows()) {
      for (const Wire& wire : kWires) {
        if (wire.address == row->address) wires_.push_back({row, &wire});
      }
    }
    bench_->access_i = 0;
    bench_->write_i = 0;
    bench_.settle();  // so that the first step is an edge
    reset();
  }

  void reset() {
    bench_->access_i = 0;
    bench_.reset(1 + static_cast<int>(random_.below(3)));
    model_.reset();
  }
  /// Events in this share of the cycles, accesses in that one.
  void run(int cycles, std::uint32_t events, std::uint32_t accesses) {
    for (int i = 0; i < cycles && !testing::Test::HasFailure(); ++i) cycle(events, accesses);
  }
  /// As if a counter, which has this register in the model of the RTL, had counted all but `left` of what it can.
  template <class Register>
  void count_all_but(std::uint64_t left, std::uint32_t address, Register& counter) {
    counter = static_cast<Register>(static_cast<Register>(~Register{0}) - left);
    model_.set_counter(address, counter);
  }
  auto& root() { return *bench_->rootp; }
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t refused = 0;

 private:
  struct Place {
    const device::RegisterRow* row;
    const Wire* wire;
  };

  void cycle(std::uint32_t events, std::uint32_t accesses) {
    BlockModel::Inputs inputs;
    for (const Place& place : wires_) give(place, events, inputs);
    std::optional<BlockModel::Access> access;
    if (random_.chance(accesses)) access = choose();
    bench_->access_i = access.has_value();
    const BlockModel::Access shown = access.value_or(choose());
    bench_->write_i = shown.write;
    // The block gets the lower bits of the address: it begins at a multiple of its size.
    bench_->address_i = static_cast<std::remove_reference_t<decltype(bench_->address_i)>>(shown.address & (bytes_ - 1));
    bench_->write_data_i = shown.data;
    bench_.settle();
    for (const Place& place : wires_) see(place, access);
    const auto answer = model_.cycle(access, inputs);
    bench_.step();
    for (const Place& place : wires_) see_written(place);
    if (!answer) {
      EXPECT_FALSE(bench_->refused_o);
      return;
    }
    ASSERT_EQ(bench_->refused_o, answer->refused)
        << std::hex << access->address << (access->write ? " written" : " read");
    if (answer->data) {
      ASSERT_EQ(bench_->data_o, *answer->data) << std::hex << access->address;
    }
    ++(answer->refused ? refused : access->write ? writes : reads);
  }
  void give(const Place& place, std::uint32_t events, BlockModel::Inputs& inputs) {
    const Wire& wire = *place.wire;
    if (wire.bundle == Bundle::Written || wire.bundle == Bundle::Command) return;
    const bool happens = random_.chance(events);
    std::uint64_t value = random_.bits() & (wire.width == 64 ? ~0ULL : (1ULL << wire.width) - 1);
    if (wire.bundle == Bundle::Raised) value &= random_.bits();
    if (wire.bundle == Bundle::Counted && wire.width == 1) value = 1;
    if (!happens && wire.bundle != Bundle::Shown && wire.bundle != Bundle::Kept) value = 0;
    if (happens || wire.bundle != Bundle::Kept) inputs[wire.address] = value;
    with_port(*bench_.operator->(), wire.bundle, [&](auto& port) {
      set_wire(port, wire.at, wire.width, value);
      if (wire.bundle == Bundle::Kept) set_wire(port, wire.valid, 1, happens ? 1 : 0);
    });
  }
  /// Most accesses are to registers; the others hit anything.
  BlockModel::Access choose() {
    const auto& rows = model_.rows();
    const device::RegisterRow& row = *rows[random_.below(rows.size())];
    std::uint32_t address = row.address;
    if (row.bits == 64 && random_.chance(50)) address += 4;
    if (row.words > 1) address += static_cast<std::uint32_t>(4 * random_.below(random_.chance(50) ? 4 : row.words));
    if (random_.chance(5)) address = (address & ~0x1FU) + static_cast<std::uint32_t>(4 * random_.below(8));
    if (random_.chance(2))
      address = (address & ~(bytes_ - 1)) + static_cast<std::uint32_t>(random_.below(bytes_) & ~3U);
    return {random_.chance(40), address, static_cast<std::uint32_t>(random_.bits())};
  }
  void see(const Place& place, const std::optional<BlockModel::Access>& access) {
    const Wire& wire = *place.wire;
    if (wire.bundle != Bundle::Command) return;
    const auto expected = access ? model_.command(*access) : std::nullopt;
    const bool is_mine = expected && expected->address == wire.address;
    with_port(*bench_.operator->(), wire.bundle, [&](auto& port) {
      ASSERT_EQ(wire_bits(port, wire.valid, 1), is_mine) << std::hex << wire.address;
      if (!is_mine) return;
      ASSERT_EQ(wire_bits(port, wire.at, wire.width), expected->data);
      if (wire.index_width > 0) {
        ASSERT_EQ(wire_bits(port, wire.index, wire.index_width), expected->index);
      }
    });
  }
  void see_written(const Place& place) {
    const Wire& wire = *place.wire;
    if (wire.bundle != Bundle::Written) return;
    with_port(*bench_.operator->(), wire.bundle, [&](auto& port) {
      ASSERT_EQ(wire_bits(port, wire.at, wire.width), model_.written(*place.row)) << std::hex << wire.address;
    });
  }

  Random random_;
  Bench<Block> bench_;
  BlockModel model_;
  std::uint32_t bytes_;
  std::vector<Place> wires_;
};

template <class Block>
void compare(std::string_view name, std::uint32_t bytes) {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << name << ", seed " << seed);
    LockStep<Block> block(name, bytes, seed);
    for (int round = 0; round < 4; ++round) {
      block.run(1'500, seed % 2 == 0 ? 100 : 30, 60);
      block.run(300, 0, 90);
      block.run(300, 90, 100);
      block.reset();
    }
    ASSERT_GT(block.reads, 3'000U);
    refused += block.refused;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(refused, 100U);
}

TEST(RegisterBlock, agrees_with_the_model_in_each_cycle) {
  compare<Vstopbit_network_bus_registers>("bus", 0x100);
  compare<Vstopbit_network_crossbar_registers>("crossbar", 0x4000);
  compare<Vstopbit_network_crossbar_unit_registers>("crossbar_unit", 0x40);
  compare<Vstopbit_network_crossbar_port_registers>("crossbar_port", 0x20);
  compare<Vstopbit_network_link_registers>("link", 0x100);
}

/// Without reads of the 16-bit counters, which would clear them.
TEST(RegisterBlock, counters_stay_at_their_highest_value) {
  LockStep<Vstopbit_network_link_registers> block("link", 0x100, 99);
  block.run(66'000, 100, 0);
  block.run(100, 0, 0);
  block.run(2'000, 100, 50);
  EXPECT_GT(block.reads, 100U);
}

/// Counters of 32 bits stay at their highest value, those of 64 bits begin anew. Nothing could count so far in a test,
/// so they begin near it.
TEST(RegisterBlock, wide_counters_end_as_the_list_says) {
  namespace map = device::network_registers;
  for (const std::uint64_t left : {0U, 1U, 5U}) {
    SCOPED_TRACE(left);
    const auto run = [](auto& block, std::uint64_t reads) {
      block.run(3, 100, 0);
      block.run(40, 80, 30);
      block.run(400, 60, 90);
      EXPECT_GT(block.reads, reads);
    };
    LockStep<Vstopbit_network_bus_registers> bus("bus", 0x100, 200 + left);
    bus.count_all_but(left, map::bus::kBase + map::bus::kRefused,
                      bus.root().stopbit_network_bus_registers__DOT__refused_q);
    bus.count_all_but(left, map::bus::kBase + map::bus::kGaveUp,
                      bus.root().stopbit_network_bus_registers__DOT__gave_up_q);
    run(bus, 100);

    LockStep<Vstopbit_network_crossbar_unit_registers> unit("crossbar_unit", 0x40, 210 + left);
    const std::uint32_t of_unit = map::crossbar_unit::base(0);
    auto& units = unit.root();
    unit.count_all_but(left, of_unit + map::crossbar_unit::kSent,
                       units.stopbit_network_crossbar_unit_registers__DOT__sent_q);
    unit.count_all_but(left, of_unit + map::crossbar_unit::kRefused,
                       units.stopbit_network_crossbar_unit_registers__DOT__refused_q);
    unit.count_all_but(left, of_unit + map::crossbar_unit::kDropped,
                       units.stopbit_network_crossbar_unit_registers__DOT__dropped_q);
    unit.count_all_but(left, of_unit + map::crossbar_unit::kUnfit,
                       units.stopbit_network_crossbar_unit_registers__DOT__unfit_q);
    run(unit, 100);

    LockStep<Vstopbit_network_crossbar_port_registers> port("crossbar_port", 0x20, 220 + left);
    const std::uint32_t of_port = map::crossbar_port::base(0);
    auto& ports = port.root();
    port.count_all_but(left, of_port + map::crossbar_port::kUnroutable,
                       ports.stopbit_network_crossbar_port_registers__DOT__unroutable_q);
    port.count_all_but(left, of_port + map::crossbar_port::kCircled,
                       ports.stopbit_network_crossbar_port_registers__DOT__circled_q);
    port.count_all_but(left, of_port + map::crossbar_port::kDiscarded,
                       ports.stopbit_network_crossbar_port_registers__DOT__discarded_q);
    port.count_all_but(left, of_port + map::crossbar_port::kMalformed,
                       ports.stopbit_network_crossbar_port_registers__DOT__malformed_q);
    port.count_all_but(left, of_port + map::crossbar_port::kBroken,
                       ports.stopbit_network_crossbar_port_registers__DOT__broken_q);
    run(port, 100);

    LockStep<Vstopbit_network_link_registers> link("link", 0x100, 230 + left);
    const std::uint32_t of_link = map::link::base(0);
    auto& links = link.root();
    link.count_all_but(left, of_link + map::link::kSent, links.stopbit_network_link_registers__DOT__sent_q);
    link.count_all_but(left, of_link + map::link::kAnswered, links.stopbit_network_link_registers__DOT__answered_q);
    link.count_all_but(left, of_link + map::link::kResent, links.stopbit_network_link_registers__DOT__resent_q);
    link.count_all_but(left, of_link + map::link::kDamaged, links.stopbit_network_link_registers__DOT__damaged_q);
    link.count_all_but(left, of_link + map::link::kDropped, links.stopbit_network_link_registers__DOT__dropped_q);
    link.count_all_but(left, of_link + map::link::kExcess, links.stopbit_network_link_registers__DOT__excess_q);
    link.count_all_but(left, of_link + map::link::kStarved, links.stopbit_network_link_registers__DOT__starved_q);
    run(link, 100);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace stopbit::sim
