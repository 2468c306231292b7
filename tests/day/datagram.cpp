#include <fmt/format.h>

#include <algorithm>

#include "tests/day/model.hpp"

namespace stopbit::day {
namespace {

void put(std::vector<std::byte>& to, std::uint64_t value, std::size_t bytes, bool big_endian) {
  for (std::size_t i = 0; i < bytes; ++i) {
    to.push_back(static_cast<std::byte>(value >> 8 * (big_endian ? bytes - 1 - i : i)));
  }
}

/// An unsigned integer of FAST.
void put_entity(std::vector<std::byte>& to, std::uint64_t value) {
  std::size_t groups = 1;
  while (groups < 10 && value >> 7 * groups != 0) ++groups;
  for (std::size_t i = groups; i-- > 0;) {
    to.push_back(static_cast<std::byte>((value >> 7 * i & 0x7F) | (i == 0 ? 0x80U : 0U)));
  }
}

constexpr std::byte kEntry{0x81};          ///< The template id of most messages,
constexpr std::byte kSequenceReset{0x83};  ///< and of those that announce.

/// A FAST message: presence map with a template id, then six unsigned integers.
void put_message(std::vector<std::byte>& to, const Copy& copy) {
  to.push_back(std::byte{0xC0});
  to.push_back(copy.announces != 0 ? kSequenceReset : kEntry);
  put_entity(to, copy.channel);
  put_entity(to, copy.run);
  put_entity(to, copy.number);
  put_entity(to, copy.chunk);
  put_entity(to, copy.salt);
  put_entity(to, copy.announces);
}

/// Where the dictionary is not reset with each datagram, the feed does it now and then.
constexpr std::array kFastReset = {std::byte{0xC0}, std::byte{0xF8}};  ///< Template 120.
bool begins_with_reset(const net::Framing& framing, std::uint64_t number) {
  return framing.reset == ResetRule::Template && number % 8 == 0;
}

void put_fixed(std::vector<std::byte>& to, const net::Framing& framing, const Copy& copy) {
  to.resize(framing.skip);
  if (begins_with_reset(framing, copy.number)) to.insert(to.end(), kFastReset.begin(), kFastReset.end());
  const auto field = [&](const net::PreambleField& at, std::uint64_t value) {
    for (std::size_t i = 0; i < at.bytes; ++i) {
      to[at.offset + i] = static_cast<std::byte>(value >> 8 * (at.big_endian ? at.bytes - 1U - i : i));
    }
  };
  std::vector<std::byte> message;
  put_message(message, copy);
  field(framing.sequence, copy.number);
  field(framing.length, message.size());
  to.insert(to.end(), message.begin(), message.end());
}

}  // namespace

void write_datagram(const ChannelPlan& channel, const Copy& copy, std::vector<std::byte>& to) {
  to.clear();
  switch (channel.framing.kind) {
    case net::FramingKind::Fixed: put_fixed(to, channel.framing, copy); break;
    case net::FramingKind::B3: {
      std::vector<std::byte> message;
      put_message(message, copy);
      put(to, copy.number, 4, true);
      put(to, copy.chunks, 2, true);
      put(to, copy.chunk, 2, true);
      put(to, message.size(), 2, true);
      to.insert(to.end(), message.begin(), message.end());
      break;
    }
    case net::FramingKind::T7: {
      to = {std::byte{0xC0}, std::byte{0x82}};
      put_entity(to, copy.sender);
      to.push_back(std::byte{0x84});
      put(to, copy.number, 4, true);
      to.push_back(std::byte{0x88});
      put(to, copy.number * 1'000, 8, true);
      put_message(to, copy);
      break;
    }
  }
  switch (copy.body) {
    case Body::Truncated: to.resize(to.size() - 3); break;
    case Body::Headless: to.resize(1); break;
    case Body::Oversized:
      while (to.size() <= channel.options.datagram_bytes) put_message(to, copy);
      break;
    case Body::Whole:
    case Body::Fragment: break;
  }
}

Identity read_message(std::span<const std::byte> message) noexcept {
  Identity identity;
  if (message.size() < 2 || message[0] != std::byte{0xC0}) return identity;
  if (message[1] != kEntry && message[1] != kSequenceReset) return identity;
  std::size_t at = 2;
  std::array<std::uint64_t, 6> values{};
  for (std::uint64_t& value : values) {
    bool stopped = false;
    while (!stopped && at < message.size()) {
      const auto byte = static_cast<std::uint8_t>(message[at++]);
      value = value << 7 | (byte & 0x7F);
      stopped = (byte & 0x80) != 0;
    }
    if (!stopped) return identity;
  }
  identity = {.is_whole = true,
              .channel = static_cast<std::uint8_t>(values[0]),
              .run = static_cast<std::uint32_t>(values[1]),
              .number = values[2],
              .chunk = static_cast<std::uint8_t>(values[3]),
              .salt = static_cast<std::uint32_t>(values[4]),
              .announces = static_cast<std::uint8_t>(values[5])};
  return identity;
}

Identity read_message(const ChannelPlan& channel, const arbitrate::Packet& packet) noexcept {
  std::size_t begin = packet.preamble.data_begin;
  if (channel.framing.kind == net::FramingKind::T7) {  // its header is a message of its own
    begin = 2;
    while (begin < packet.payload.size() && (packet.payload[begin] & std::byte{0x80}) == std::byte{}) ++begin;
    begin += 1 + 1 + 4 + 1 + 8;
  }
  const std::span<const std::byte> rest = packet.payload.subspan(std::min(begin, packet.payload.size()));
  if (rest.size() >= kFastReset.size() && std::equal(kFastReset.begin(), kFastReset.end(), rest.begin())) {
    begin += kFastReset.size();
  }
  return begin < packet.payload.size() ? read_message(packet.payload.subspan(begin)) : Identity();
}

const char* to_text(Count count) noexcept {
  switch (count) {
    case Count::Packets: return "packets sent";
    case Count::HandedOut: return "datagrams handed out by ports";
    case Count::Delivered: return "packets delivered";
    case Count::LostOnLines: return "numbers lost on the lines";
    case Count::LostLineDown: return "numbers lost while a line was down";
    case Count::LostKernel: return "numbers lost in a socket buffer";
    case Count::LostStall: return "numbers lost in a card, uncounted";
    case Count::LostLate: return "numbers lost because they were late";
    case Count::LostRoom: return "numbers lost for want of room";
    case Count::LostLeap: return "numbers left out by a run";
    case Count::LostSwitch: return "numbers passed during another run";
    case Count::LostDown: return "numbers passed while down";
    case Count::Overtaken: return "numbers overtaken in fast mode";
    case Count::Late: return "packets late";
    case Count::Starts: return "first runs";
    case Count::Senders: return "runs of another sender";
    case Count::Resets: return "runs after a reset";
    case Count::Cycles: return "cycles of carousels";
    case Count::Backs: return "switches back";
    case Count::WrongSwitches: return "wrong switches";
    case Count::Wraps16: return "wraps of 16 bits";
    case Count::Wraps32: return "wraps of 32 bits";
    case Count::Wraps64: return "wraps of 64 bits";
    case Count::StrangerPackets: return "strangers' packets";
    case Count::WildNear: return "wild numbers, near";
    case Count::WildFar: return "wild numbers, far";
    case Count::WildTurned: return "wild numbers, a bit turned";
    case Count::Conflicts: return "conflicts";
    case Count::Truncated: return "truncated datagrams";
    case Count::Headless: return "datagrams without a preamble";
    case Count::Fragments: return "fragments";
    case Count::Oversized: return "datagrams too long to hold";
    case Count::Chunked: return "chunks";
    case Count::Duplicates: return "duplicates on a line";
    case Count::KernelDrops: return "drops by the kernel";
    case Count::CardDrops: return "drops by the card";
    case Count::LinesDown: return "lines down";
    case Count::LinesLate: return "lines late";
    case Count::Memberships: return "memberships lost and regained";
    case Count::PortsDown: return "interfaces down";
    case Count::Stalls: return "poller stalls";
    case Count::Pauses: return "pauses of the machine";
    case Count::ClockSteps: return "clock steps";
    case Count::Clamped: return "stamps clamped";
    case Count::Kills: return "kills of the appliance";
    case Count::Announced: return "resets announced by the feed";
    case Count::Moves: return "moves to another address";
    case Count::Spoofers: return "strangers with the true address";
  }
  return "";
}

}  // namespace stopbit::day
