// Whatever a port writes into its commands, and whatever another node puts into its packets: only bytes inside of the
// window change, and only for a port that knows its capability; answers change only what a Get has asked for; nothing
// is read or written outside; everything ends.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "host/nic/transport/model/network.hpp"
#include "tests/nic/host.hpp"

namespace {

using namespace stopbit::nic;

constexpr std::byte kCanary{0xC5};

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ModelOptions options;
  options.frame_bytes = 512;
  ModelNetwork network(options);
  Host origin(network.port(0));
  Host target(network.port(1));
  HostPort& from = origin.open(1);
  HostPort& to = target.open(2);
  const auto mine = origin.add_memory(1, 1, Access::ReadWrite);
  const auto theirs = target.add_memory(2, 2, Access::ReadWrite);
  const auto window = target.rma.open_window(2, theirs->nla + 1024, 2048, Access::ReadWrite);
  const auto hidden = target.rma.open_window(2, theirs->nla + kPageBytes, 2048, Access::ReadWrite);
  require(window && hidden);
  std::ranges::fill(theirs->bytes(), kCanary);
  std::vector<bool> asked(kPageBytes);  // bytes of the origin's memory that Gets were to write
  std::uint64_t now = 0;
  const auto step = [&] {
    network.set_time(now += 1'000);
    origin.step(now);
    target.step(now);
  };
  // Chunks: a byte that says how long it is, a byte that says what it is for, and the chunk.
  for (std::size_t at = 0; at + 2 <= size;) {
    const std::size_t length = std::min<std::size_t>(data[at], size - at - 2);
    const std::uint8_t kind = data[at + 1];
    const std::span<const std::byte> chunk(reinterpret_cast<const std::byte*>(data) + at + 2, length);
    at += 2 + length;
    if (kind % 2 == 0) {  // a command, as it lies in the queue
      Command command;
      std::memcpy(&command, chunk.data(), std::min(length, sizeof(command)));
      if (kind % 4 == 0) {  // from a port that knows the window and its own memory
        command.capability = window->capability;
        command.window = window->id;
        command.target_node %= 3;
        command.target_vpid %= 4;
        if (command.operation == Operation::Put || command.operation == Operation::Get) {
          command.address = mine->nla + command.address % (2 * kPageBytes);
        }
      } else if (command.capability == window->capability || command.capability == hidden->capability) {
        continue;  // as likely as 2^-63
      }
      if (origin.rma.is_busy(1)) continue;
      const Nla begin = command.address - mine->nla;
      if (command.operation == Operation::Get && begin < kPageBytes && command.length <= kPageBytes - begin) {
        std::fill_n(asked.begin() + static_cast<std::ptrdiff_t>(begin), command.length, true);
      }
      origin.rma.start(1, command, now);
    } else {                                   // a packet of a node that lies, once in each way
      const bool answers = (kind & 16U) != 0;  // it is for the requester
      Rma& victim = answers ? origin.rma : target.rma;
      const NodeId liar = answers ? 1 : 0;
      std::vector<std::byte> packet(chunk.begin(), chunk.end());
      if (kind % 4 == 1 && packet.size() >= sizeof(RmaHeader)) {
        RmaHeader header;
        std::memcpy(&header, packet.data(), sizeof(header));
        header.capability = window->capability;
        header.window = window->id;
        header.target_vpid = answers ? 1 : 2;
        header.source_vpid %= 12;
        std::memcpy(packet.data(), &header, sizeof(header));
      }
      const std::uint8_t status = (kind & 4U) != 0 ? victim.early(liar, VirtualChannel::Low, packet) : std::uint8_t{0};
      const VirtualChannel channel = (kind & 8U) != 0 ? VirtualChannel::High : VirtualChannel::Low;
      (void)victim.ordered(liar, channel, packet, status);
    }
    step();
    Notification told;
    while (from.notifications.take(told) || to.notifications.take(told)) {
      require(to_name(told.error)[4] != '?' && to_text(told.teller)[0] != '?');
    }
  }
  for (int i = 0; i < 300 && (i < 8 || !origin.is_idle() || !target.is_idle()); ++i) step();
  const std::span<const std::byte> bytes = theirs->bytes();
  require(std::all_of(bytes.begin(), bytes.begin() + 1024, [](std::byte b) { return b == kCanary; }));
  require(std::all_of(bytes.begin() + 3072, bytes.end(), [](std::byte b) { return b == kCanary; }));
  const std::span<const std::byte> own = mine->bytes();
  for (std::size_t i = 0; i < own.size(); ++i) require(asked[i] || own[i] == std::byte{});
  return 0;
}
