// Whatever frames a network brings, also for what was sent, and whatever a port writes into its pages: nothing is read
// or written outside, each packet number is delivered at most once and in order, and taking commands ends.

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "host/nic/link/links.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "host/nic/transport/model/network.hpp"
#include "microcode/image/crc32c.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace {

using namespace stopbit::nic;

void require(bool holds) {
  if (!holds) std::abort();
}

class Sink final : public PacketSink {
 public:
  [[nodiscard]] std::uint8_t early(NodeId from, VirtualChannel, std::span<const std::byte> packet) override {
    require(from < 2 && packet.size() <= 256);
    return static_cast<std::uint8_t>(packet.size());
  }
  [[nodiscard]] bool ordered(NodeId from, VirtualChannel, std::span<const std::byte> packet,
                             std::uint8_t status) override {
    require(from < 2 && (status == 0 || status == static_cast<std::uint8_t>(packet.size())));
    return packet.size() % 7 != 6;  // some are never taken
  }
  void lost(NodeId) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ModelOptions options;
  options.frame_bytes = 256;
  ModelNetwork network(options);
  Links links(network.port(1), LinkOptions{});
  Sink sink;
  PageMemory memory;
  memory.set_state(PortState::Enabled);
  const CommandQueue queue(memory.page());
  CommandSource source(memory.page());
  std::uint64_t now = 0;
  Links other(network.port(0), LinkOptions{});
  (void)other.send(1, VirtualChannel::Low, std::array<std::byte, 1>{}, false, now);
  for (int i = 0; i < 4; ++i) {
    network.set_time(now += 1'000);
    (void)other.step(sink, now);
    (void)links.step(sink, now);
  }
  require(links.session(0).own != 0);
  // Chunks: a byte that says how long it is, a byte that says what it is for, and the chunk.
  for (std::size_t at = 0; at + 2 <= size;) {
    const std::size_t length = std::min<std::size_t>(data[at], size - at - 2);
    const std::uint8_t kind = data[at + 1];
    const std::uint8_t* chunk = data + at + 2;
    at += 2 + length;
    network.set_time(now += std::uint64_t{kind} << 8U);
    if (kind % 4 == 0) {  // the port writes nonsense somewhere
      const std::size_t where = length < 2 ? 0 : (std::size_t{chunk[0]} << 8U | chunk[1]) % (PageLayout::kBytes - 256);
      std::memcpy(memory.span().data() + where, chunk, length);
    } else if (kind % 4 == 1 && (kind & 8U) != 0) {  // something to acknowledge
      const auto packet = std::as_bytes(std::span(chunk, std::min(length, links.packet_bytes())));
      (void)links.send(0, (kind & 16U) != 0 ? VirtualChannel::High : VirtualChannel::Low, packet, (kind & 32U) != 0,
                       now);
    } else if (kind % 4 == 1) {
      std::vector<Command> commands(length % 70);
      for (Command& command : commands) command.operation = static_cast<Operation>(1 + kind % 6);
      const Issue issue = queue.insert(commands);
      require(issue.accepted <= commands.size());
    } else {
      std::vector<std::byte> frame(length);
      if (length != 0) std::memcpy(frame.data(), chunk, length);
      if (kind % 4 == 2 &&
          length >= sizeof(LinkHeader) + sizeof(std::uint32_t)) {  // an honest checksum, version and receiver
        LinkHeader header;
        std::memcpy(&header, frame.data(), sizeof(header));
        header.magic = kLinkMagic;
        header.target = 1;
        if ((kind & 4U) != 0) {  // of the session with node 0
          header.source = 0;
          header.session = links.session(0).theirs;
          header.peer_session = links.session(0).own;
        }
        std::memcpy(frame.data(), &header, sizeof(header));
        const std::size_t behind = length - sizeof(std::uint32_t);
        const std::uint32_t checksum = stopbit::image::crc32c(std::span<const std::byte>(frame).first(behind));
        std::memcpy(frame.data() + behind, &checksum, sizeof(checksum));
      }
      if (!frame.empty()) (void)network.port(0).send(1, frame);
    }
    (void)links.step(sink, now);
    Command command;
    for (std::size_t taken = 0; source.take(command); ++taken) require(taken <= PageLayout::kCommands);
  }
  return 0;
}
