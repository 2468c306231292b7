#pragma once

#include <array>
#include <cstdint>

#include "host/device/register_list.hpp"

/// Registers of a node's network: its switch, the ports of its units, and its links. Byte offsets for programs; the
/// page for people is fpga/registers/generated/network.md.
/// Made by fpga/registers/generate.py from network.toml: change that.
namespace stopbit::device::network_registers {

/// What answers in the bus's clock, whatever the others do. Offsets are from its base.
namespace bus {
inline constexpr std::uint32_t kCount = 1;
inline constexpr std::uint32_t kBase = 0x0;
/// CRC-32 of this list without its words: a program that was made from another one does not use the registers.
inline constexpr std::uint32_t kRevision = 0x000;
inline constexpr std::uint32_t kRevisionValue = 0xA2FFB9B9;
/// What the node has. Other units and ports do nothing and count nothing; other links refuse.
inline constexpr std::uint32_t kShape = 0x004;
/// Units.
inline constexpr std::uint32_t kShapeUnitsShift = 0;
/// Links.
inline constexpr std::uint32_t kShapeLinksShift = 8;
/// Settings of the whole network.
inline constexpr std::uint32_t kControl = 0x008;
/// Resets switch, ports, links and their registers, however short it is set.
inline constexpr std::uint32_t kControlReset = 1U << 0;
/// How the network is.
inline constexpr std::uint32_t kState = 0x00C;
/// It has left its reset, and that of control.
inline constexpr std::uint32_t kStateRuns = 1U << 0;
/// Accesses that were answered with an error, those that were given up not among them.
inline constexpr std::uint32_t kRefused = 0x010;
/// Accesses that were given up because a block did not answer in time: its clock is stopped.
inline constexpr std::uint32_t kGaveUp = 0x014;
/// The last of these accesses.
inline constexpr std::uint32_t kLastError = 0x018;
/// Its address.
inline constexpr std::uint32_t kLastErrorAddressShift = 0;
/// It was a write.
inline constexpr std::uint32_t kLastErrorWrite = 1U << 16;
/// It was given up: a write may have been done or not.
inline constexpr std::uint32_t kLastErrorGaveUp = 1U << 17;
}  // namespace bus

/// The switch: tables, and settings that its ports share. Offsets are from its base.
namespace crossbar {
inline constexpr std::uint32_t kCount = 1;
inline constexpr std::uint32_t kBase = 0x4000;
/// Writes this node's number, into the inputs of inputs. Until then their links stay off and their units send nothing.
inline constexpr std::uint32_t kOwnNode = 0x000;
/// Inputs of the switch that own_node and the tables are written to: a bit for each unit, then for each link.
inline constexpr std::uint32_t kInputs = 0x004;
/// Cycles after which the switch drops what waits for a link that takes nothing; 0 waits for ever.
inline constexpr std::uint32_t kPatience = 0x008;
/// What units may send to.
inline constexpr std::uint32_t kLimits = 0x00C;
/// The highest node.
inline constexpr std::uint32_t kLimitsLastNodeShift = 0;
/// The highest unit.
inline constexpr std::uint32_t kLimitsLastUnitShift = 16;
/// How the switch is.
inline constexpr std::uint32_t kState = 0x010;
/// It takes packets: some cycles after a reset.
inline constexpr std::uint32_t kStateReady = 1U << 0;
/// Whose stream tap_word and tap_store are about (stopbit_network_tap).
inline constexpr std::uint32_t kTapSelect = 0x014;
/// The unit.
inline constexpr std::uint32_t kTapSelectUnitShift = 0;
/// Address in its taps: 0 to 3 what it sends, 4 to 7 what comes.
inline constexpr std::uint32_t kTapSelectAddressShift = 4;
/// What tap_store writes.
inline constexpr std::uint32_t kTapData = 0x018;
/// What is at that address.
inline constexpr std::uint32_t kTapWord = 0x020;
/// Writes tap_data to that address.
inline constexpr std::uint32_t kTapStore = 0x028;
/// Ways to other parts of the network, by the upper 6 bits of a node's number: route_t.
inline constexpr std::uint32_t kGlobals = 0x100;
inline constexpr std::uint32_t kGlobalsWords = 64;
/// Ways of multicast groups: group_t.
inline constexpr std::uint32_t kGroups = 0x400;
inline constexpr std::uint32_t kGroupsWords = 256;
/// Ways within this part, by the lower 10 bits of a node's number: route_t.
inline constexpr std::uint32_t kLocals = 0x1000;
inline constexpr std::uint32_t kLocalsWords = 1024;
}  // namespace crossbar

/// The network port of a unit. Offsets are from its base.
namespace crossbar_unit {
inline constexpr std::uint32_t kCount = 4;
constexpr std::uint32_t base(std::uint32_t index) {
  return 0x4800 + index * 0x40;
}
/// Channels on which its packets may begin: bit 3 × class + virtual channel. 0: none is sent.
inline constexpr std::uint32_t kChannels = 0x000;
/// Packets go to the unit as they come; else when they are whole and good.
inline constexpr std::uint32_t kCutThrough = 0x004;
/// Packets of the unit that went to the switch.
inline constexpr std::uint32_t kSent = 0x008;
/// Packets of the unit to nodes, units or groups beyond the limits, of a class without a channel, or before own_node.
inline constexpr std::uint32_t kRefused = 0x010;
/// Damaged packets that did not reach the unit.
inline constexpr std::uint32_t kDropped = 0x014;
/// Words of the unit that were no packet.
inline constexpr std::uint32_t kUnfit = 0x018;
}  // namespace crossbar_unit

/// A port of the switch: of each unit, then of each link. Offsets are from its base.
namespace crossbar_port {
inline constexpr std::uint32_t kCount = 10;
constexpr std::uint32_t base(std::uint32_t index) {
  return 0x6000 + index * 0x20;
}
/// Packets without a way: dropped.
inline constexpr std::uint32_t kUnroutable = 0x000;
/// Packets that were forwarded too often: dropped.
inline constexpr std::uint32_t kCircled = 0x004;
/// Packets that waited too long for a link: dropped.
inline constexpr std::uint32_t kDiscarded = 0x008;
/// Packets with a wrong CRC of their start, or of a channel that does not exist: dropped.
inline constexpr std::uint32_t kMalformed = 0x00C;
/// Rules that a neighbour broke: cells outside of packets, packets that were cut, cells and credits beyond the slots.
inline constexpr std::uint32_t kBroken = 0x010;
}  // namespace crossbar_port

/// A link to another node. Offsets are from its base.
namespace link {
inline constexpr std::uint32_t kCount = 6;
constexpr std::uint32_t base(std::uint32_t index) {
  return 0x8000 + index * 0x100;
}
/// Settings of the link.
inline constexpr std::uint32_t kControl = 0x000;
/// Without it, or before own_node is written to its input, it acts as if its wires had no signal.
inline constexpr std::uint32_t kControlOn = 1U << 0;
/// How the link is now.
inline constexpr std::uint32_t kState = 0x004;
/// It is up.
inline constexpr std::uint32_t kStateUp = 1U << 0;
/// own_node has been written to its input of the switch since the last reset.
inline constexpr std::uint32_t kStateNumbered = 1U << 1;
/// Channels on which a packet may begin: the other side has room.
inline constexpr std::uint32_t kStateCreditShift = 16;
/// What has happened.
inline constexpr std::uint32_t kEvents = 0x008;
/// It came up.
inline constexpr std::uint32_t kEventsWentUp = 1U << 0;
/// It went down.
inline constexpr std::uint32_t kEventsWentDown = 1U << 1;
/// Something came damaged.
inline constexpr std::uint32_t kEventsDamaged = 1U << 2;
/// Packets were lost: the other side was reset.
inline constexpr std::uint32_t kEventsDropped = 1U << 3;
/// The other side granted more than there can be.
inline constexpr std::uint32_t kEventsExcess = 1U << 4;
/// Takes the values of sent, answered, resent, damaged and dropped, all of the same cycle; until then they read as
/// before.
inline constexpr std::uint32_t kSnapshot = 0x00C;
/// Packets that left for the first time.
inline constexpr std::uint32_t kSent = 0x010;
/// Packets that have arrived at the other side.
inline constexpr std::uint32_t kAnswered = 0x018;
/// Packets that left again.
inline constexpr std::uint32_t kResent = 0x020;
/// Cells and packets that came with wrong bits.
inline constexpr std::uint32_t kDamaged = 0x024;
/// Packets that are lost: the other side was reset.
inline constexpr std::uint32_t kDropped = 0x028;
/// Grants of the other side beyond what there can be.
inline constexpr std::uint32_t kExcess = 0x02C;
/// How often the link came up since this was last read.
inline constexpr std::uint32_t kUps = 0x030;
/// How often it went down since this was last read.
inline constexpr std::uint32_t kDowns = 0x034;
/// Channels without credit while the link is up, summed over its cycles since the lower half was last read.
inline constexpr std::uint32_t kStarved = 0x038;
}  // namespace link

// clang-format off
/// Every register of every block, for programs that show or check all of them.
inline constexpr std::array<RegisterRow, 171> kRegisters{{
    {.block = "bus", .index = 0, .name = "revision", .address = 0x0000, .bits = 32, .width = 32, .kind = RegisterKind::Constant, .value = 0xA2FFB9B9},
    {.block = "bus", .index = 0, .name = "shape", .address = 0x0004, .bits = 32, .width = 16, .kind = RegisterKind::Read},
    {.block = "bus", .index = 0, .name = "control", .address = 0x0008, .bits = 32, .width = 1, .kind = RegisterKind::Write},
    {.block = "bus", .index = 0, .name = "state", .address = 0x000C, .bits = 32, .width = 1, .kind = RegisterKind::Read},
    {.block = "bus", .index = 0, .name = "refused", .address = 0x0010, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "bus", .index = 0, .name = "gave_up", .address = 0x0014, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "bus", .index = 0, .name = "last_error", .address = 0x0018, .bits = 32, .width = 18, .kind = RegisterKind::Kept},
    {.block = "crossbar", .index = 0, .name = "own_node", .address = 0x4000, .bits = 32, .width = 16, .kind = RegisterKind::Command},
    {.block = "crossbar", .index = 0, .name = "inputs", .address = 0x4004, .bits = 32, .width = 10, .kind = RegisterKind::Write},
    {.block = "crossbar", .index = 0, .name = "patience", .address = 0x4008, .bits = 32, .width = 32, .kind = RegisterKind::Write},
    {.block = "crossbar", .index = 0, .name = "limits", .address = 0x400C, .bits = 32, .width = 19, .kind = RegisterKind::Write},
    {.block = "crossbar", .index = 0, .name = "state", .address = 0x4010, .bits = 32, .width = 1, .kind = RegisterKind::Read},
    {.block = "crossbar", .index = 0, .name = "tap_select", .address = 0x4014, .bits = 32, .width = 7, .kind = RegisterKind::Write},
    {.block = "crossbar", .index = 0, .name = "tap_data", .address = 0x4018, .bits = 64, .width = 64, .kind = RegisterKind::Write},
    {.block = "crossbar", .index = 0, .name = "tap_word", .address = 0x4020, .bits = 64, .width = 64, .kind = RegisterKind::Read},
    {.block = "crossbar", .index = 0, .name = "tap_store", .address = 0x4028, .bits = 32, .width = 1, .kind = RegisterKind::Command},
    {.block = "crossbar", .index = 0, .name = "globals", .address = 0x4100, .bits = 32, .width = 32, .kind = RegisterKind::Table, .words = 64},
    {.block = "crossbar", .index = 0, .name = "groups", .address = 0x4400, .bits = 32, .width = 32, .kind = RegisterKind::Table, .words = 256},
    {.block = "crossbar", .index = 0, .name = "locals", .address = 0x5000, .bits = 32, .width = 32, .kind = RegisterKind::Table, .words = 1024},
    {.block = "crossbar_unit", .index = 0, .name = "channels", .address = 0x4800, .bits = 32, .width = 12, .kind = RegisterKind::Write},
    {.block = "crossbar_unit", .index = 0, .name = "cut_through", .address = 0x4804, .bits = 32, .width = 1, .kind = RegisterKind::Write},
    {.block = "crossbar_unit", .index = 0, .name = "sent", .address = 0x4808, .bits = 64, .width = 64, .kind = RegisterKind::Counter},
    {.block = "crossbar_unit", .index = 0, .name = "refused", .address = 0x4810, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_unit", .index = 0, .name = "dropped", .address = 0x4814, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_unit", .index = 0, .name = "unfit", .address = 0x4818, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_unit", .index = 1, .name = "channels", .address = 0x4840, .bits = 32, .width = 12, .kind = RegisterKind::Write},
    {.block = "crossbar_unit", .index = 1, .name = "cut_through", .address = 0x4844, .bits = 32, .width = 1, .kind = RegisterKind::Write},
    {.block = "crossbar_unit", .index = 1, .name = "sent", .address = 0x4848, .bits = 64, .width = 64, .kind = RegisterKind::Counter},
    {.block = "crossbar_unit", .index = 1, .name = "refused", .address = 0x4850, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_unit", .index = 1, .name = "dropped", .address = 0x4854, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_unit", .index = 1, .name = "unfit", .address = 0x4858, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_unit", .index = 2, .name = "channels", .address = 0x4880, .bits = 32, .width = 12, .kind = RegisterKind::Write},
    {.block = "crossbar_unit", .index = 2, .name = "cut_through", .address = 0x4884, .bits = 32, .width = 1, .kind = RegisterKind::Write},
    {.block = "crossbar_unit", .index = 2, .name = "sent", .address = 0x4888, .bits = 64, .width = 64, .kind = RegisterKind::Counter},
    {.block = "crossbar_unit", .index = 2, .name = "refused", .address = 0x4890, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_unit", .index = 2, .name = "dropped", .address = 0x4894, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_unit", .index = 2, .name = "unfit", .address = 0x4898, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_unit", .index = 3, .name = "channels", .address = 0x48C0, .bits = 32, .width = 12, .kind = RegisterKind::Write},
    {.block = "crossbar_unit", .index = 3, .name = "cut_through", .address = 0x48C4, .bits = 32, .width = 1, .kind = RegisterKind::Write},
    {.block = "crossbar_unit", .index = 3, .name = "sent", .address = 0x48C8, .bits = 64, .width = 64, .kind = RegisterKind::Counter},
    {.block = "crossbar_unit", .index = 3, .name = "refused", .address = 0x48D0, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_unit", .index = 3, .name = "dropped", .address = 0x48D4, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_unit", .index = 3, .name = "unfit", .address = 0x48D8, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 0, .name = "unroutable", .address = 0x6000, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 0, .name = "circled", .address = 0x6004, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 0, .name = "discarded", .address = 0x6008, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 0, .name = "malformed", .address = 0x600C, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 0, .name = "broken", .address = 0x6010, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 1, .name = "unroutable", .address = 0x6020, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 1, .name = "circled", .address = 0x6024, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 1, .name = "discarded", .address = 0x6028, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 1, .name = "malformed", .address = 0x602C, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 1, .name = "broken", .address = 0x6030, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 2, .name = "unroutable", .address = 0x6040, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 2, .name = "circled", .address = 0x6044, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 2, .name = "discarded", .address = 0x6048, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 2, .name = "malformed", .address = 0x604C, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 2, .name = "broken", .address = 0x6050, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 3, .name = "unroutable", .address = 0x6060, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 3, .name = "circled", .address = 0x6064, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 3, .name = "discarded", .address = 0x6068, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 3, .name = "malformed", .address = 0x606C, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 3, .name = "broken", .address = 0x6070, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 4, .name = "unroutable", .address = 0x6080, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 4, .name = "circled", .address = 0x6084, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 4, .name = "discarded", .address = 0x6088, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 4, .name = "malformed", .address = 0x608C, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 4, .name = "broken", .address = 0x6090, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 5, .name = "unroutable", .address = 0x60A0, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 5, .name = "circled", .address = 0x60A4, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 5, .name = "discarded", .address = 0x60A8, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 5, .name = "malformed", .address = 0x60AC, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 5, .name = "broken", .address = 0x60B0, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 6, .name = "unroutable", .address = 0x60C0, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 6, .name = "circled", .address = 0x60C4, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 6, .name = "discarded", .address = 0x60C8, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 6, .name = "malformed", .address = 0x60CC, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 6, .name = "broken", .address = 0x60D0, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 7, .name = "unroutable", .address = 0x60E0, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 7, .name = "circled", .address = 0x60E4, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 7, .name = "discarded", .address = 0x60E8, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 7, .name = "malformed", .address = 0x60EC, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 7, .name = "broken", .address = 0x60F0, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 8, .name = "unroutable", .address = 0x6100, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 8, .name = "circled", .address = 0x6104, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 8, .name = "discarded", .address = 0x6108, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 8, .name = "malformed", .address = 0x610C, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 8, .name = "broken", .address = 0x6110, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 9, .name = "unroutable", .address = 0x6120, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 9, .name = "circled", .address = 0x6124, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 9, .name = "discarded", .address = 0x6128, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 9, .name = "malformed", .address = 0x612C, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "crossbar_port", .index = 9, .name = "broken", .address = 0x6130, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "link", .index = 0, .name = "control", .address = 0x8000, .bits = 32, .width = 1, .kind = RegisterKind::Write},
    {.block = "link", .index = 0, .name = "state", .address = 0x8004, .bits = 32, .width = 28, .kind = RegisterKind::Read},
    {.block = "link", .index = 0, .name = "events", .address = 0x8008, .bits = 32, .width = 5, .kind = RegisterKind::Sticky},
    {.block = "link", .index = 0, .name = "snapshot", .address = 0x800C, .bits = 32, .width = 1, .kind = RegisterKind::Command, .snapshot = true},
    {.block = "link", .index = 0, .name = "sent", .address = 0x8010, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .snapshot = true},
    {.block = "link", .index = 0, .name = "answered", .address = 0x8018, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .snapshot = true},
    {.block = "link", .index = 0, .name = "resent", .address = 0x8020, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 0, .name = "damaged", .address = 0x8024, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 0, .name = "dropped", .address = 0x8028, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 0, .name = "excess", .address = 0x802C, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "link", .index = 0, .name = "ups", .address = 0x8030, .bits = 32, .width = 16, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Read},
    {.block = "link", .index = 0, .name = "downs", .address = 0x8034, .bits = 32, .width = 16, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Read},
    {.block = "link", .index = 0, .name = "starved", .address = 0x8038, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .clear = RegisterClear::Read},
    {.block = "link", .index = 1, .name = "control", .address = 0x8100, .bits = 32, .width = 1, .kind = RegisterKind::Write},
    {.block = "link", .index = 1, .name = "state", .address = 0x8104, .bits = 32, .width = 28, .kind = RegisterKind::Read},
    {.block = "link", .index = 1, .name = "events", .address = 0x8108, .bits = 32, .width = 5, .kind = RegisterKind::Sticky},
    {.block = "link", .index = 1, .name = "snapshot", .address = 0x810C, .bits = 32, .width = 1, .kind = RegisterKind::Command, .snapshot = true},
    {.block = "link", .index = 1, .name = "sent", .address = 0x8110, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .snapshot = true},
    {.block = "link", .index = 1, .name = "answered", .address = 0x8118, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .snapshot = true},
    {.block = "link", .index = 1, .name = "resent", .address = 0x8120, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 1, .name = "damaged", .address = 0x8124, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 1, .name = "dropped", .address = 0x8128, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 1, .name = "excess", .address = 0x812C, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "link", .index = 1, .name = "ups", .address = 0x8130, .bits = 32, .width = 16, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Read},
    {.block = "link", .index = 1, .name = "downs", .address = 0x8134, .bits = 32, .width = 16, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Read},
    {.block = "link", .index = 1, .name = "starved", .address = 0x8138, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .clear = RegisterClear::Read},
    {.block = "link", .index = 2, .name = "control", .address = 0x8200, .bits = 32, .width = 1, .kind = RegisterKind::Write},
    {.block = "link", .index = 2, .name = "state", .address = 0x8204, .bits = 32, .width = 28, .kind = RegisterKind::Read},
    {.block = "link", .index = 2, .name = "events", .address = 0x8208, .bits = 32, .width = 5, .kind = RegisterKind::Sticky},
    {.block = "link", .index = 2, .name = "snapshot", .address = 0x820C, .bits = 32, .width = 1, .kind = RegisterKind::Command, .snapshot = true},
    {.block = "link", .index = 2, .name = "sent", .address = 0x8210, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .snapshot = true},
    {.block = "link", .index = 2, .name = "answered", .address = 0x8218, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .snapshot = true},
    {.block = "link", .index = 2, .name = "resent", .address = 0x8220, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 2, .name = "damaged", .address = 0x8224, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 2, .name = "dropped", .address = 0x8228, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 2, .name = "excess", .address = 0x822C, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "link", .index = 2, .name = "ups", .address = 0x8230, .bits = 32, .width = 16, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Read},
    {.block = "link", .index = 2, .name = "downs", .address = 0x8234, .bits = 32, .width = 16, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Read},
    {.block = "link", .index = 2, .name = "starved", .address = 0x8238, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .clear = RegisterClear::Read},
    {.block = "link", .index = 3, .name = "control", .address = 0x8300, .bits = 32, .width = 1, .kind = RegisterKind::Write},
    {.block = "link", .index = 3, .name = "state", .address = 0x8304, .bits = 32, .width = 28, .kind = RegisterKind::Read},
    {.block = "link", .index = 3, .name = "events", .address = 0x8308, .bits = 32, .width = 5, .kind = RegisterKind::Sticky},
    {.block = "link", .index = 3, .name = "snapshot", .address = 0x830C, .bits = 32, .width = 1, .kind = RegisterKind::Command, .snapshot = true},
    {.block = "link", .index = 3, .name = "sent", .address = 0x8310, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .snapshot = true},
    {.block = "link", .index = 3, .name = "answered", .address = 0x8318, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .snapshot = true},
    {.block = "link", .index = 3, .name = "resent", .address = 0x8320, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 3, .name = "damaged", .address = 0x8324, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 3, .name = "dropped", .address = 0x8328, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 3, .name = "excess", .address = 0x832C, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "link", .index = 3, .name = "ups", .address = 0x8330, .bits = 32, .width = 16, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Read},
    {.block = "link", .index = 3, .name = "downs", .address = 0x8334, .bits = 32, .width = 16, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Read},
    {.block = "link", .index = 3, .name = "starved", .address = 0x8338, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .clear = RegisterClear::Read},
    {.block = "link", .index = 4, .name = "control", .address = 0x8400, .bits = 32, .width = 1, .kind = RegisterKind::Write},
    {.block = "link", .index = 4, .name = "state", .address = 0x8404, .bits = 32, .width = 28, .kind = RegisterKind::Read},
    {.block = "link", .index = 4, .name = "events", .address = 0x8408, .bits = 32, .width = 5, .kind = RegisterKind::Sticky},
    {.block = "link", .index = 4, .name = "snapshot", .address = 0x840C, .bits = 32, .width = 1, .kind = RegisterKind::Command, .snapshot = true},
    {.block = "link", .index = 4, .name = "sent", .address = 0x8410, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .snapshot = true},
    {.block = "link", .index = 4, .name = "answered", .address = 0x8418, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .snapshot = true},
    {.block = "link", .index = 4, .name = "resent", .address = 0x8420, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 4, .name = "damaged", .address = 0x8424, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 4, .name = "dropped", .address = 0x8428, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 4, .name = "excess", .address = 0x842C, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "link", .index = 4, .name = "ups", .address = 0x8430, .bits = 32, .width = 16, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Read},
    {.block = "link", .index = 4, .name = "downs", .address = 0x8434, .bits = 32, .width = 16, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Read},
    {.block = "link", .index = 4, .name = "starved", .address = 0x8438, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .clear = RegisterClear::Read},
    {.block = "link", .index = 5, .name = "control", .address = 0x8500, .bits = 32, .width = 1, .kind = RegisterKind::Write},
    {.block = "link", .index = 5, .name = "state", .address = 0x8504, .bits = 32, .width = 28, .kind = RegisterKind::Read},
    {.block = "link", .index = 5, .name = "events", .address = 0x8508, .bits = 32, .width = 5, .kind = RegisterKind::Sticky},
    {.block = "link", .index = 5, .name = "snapshot", .address = 0x850C, .bits = 32, .width = 1, .kind = RegisterKind::Command, .snapshot = true},
    {.block = "link", .index = 5, .name = "sent", .address = 0x8510, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .snapshot = true},
    {.block = "link", .index = 5, .name = "answered", .address = 0x8518, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .snapshot = true},
    {.block = "link", .index = 5, .name = "resent", .address = 0x8520, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 5, .name = "damaged", .address = 0x8524, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 5, .name = "dropped", .address = 0x8528, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .snapshot = true},
    {.block = "link", .index = 5, .name = "excess", .address = 0x852C, .bits = 32, .width = 32, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Write},
    {.block = "link", .index = 5, .name = "ups", .address = 0x8530, .bits = 32, .width = 16, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Read},
    {.block = "link", .index = 5, .name = "downs", .address = 0x8534, .bits = 32, .width = 16, .kind = RegisterKind::Counter, .saturates = true, .clear = RegisterClear::Read},
    {.block = "link", .index = 5, .name = "starved", .address = 0x8538, .bits = 64, .width = 64, .kind = RegisterKind::Counter, .clear = RegisterClear::Read},
}};
// clang-format on

}  // namespace stopbit::device::network_registers
