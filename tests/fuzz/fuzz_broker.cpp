// Whatever a client says to the broker of its node, whatever it passes, and whatever it writes into its pages: the
// broker answers or closes, and when the client has exited nothing of it is left. Another port goes on.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "host/nic/node/broker.hpp"
#include "host/nic/node/fd_passing.hpp"
#include "host/nic/transport/model/network.hpp"
#include "tests/lib/nic/fixture.hpp"
#include "tests/lib/scratch.hpp"

namespace {

using namespace stopbit::nic;
namespace os = stopbit::os;

void require(bool holds) {
  if (!holds) std::abort();
}

/// A node with a broker and a feed, for all inputs.
struct Host {
  Host() : network(one_node()), node(network.port(0), few()) {
    BrokerOptions options;
    options.socket = scratch.path("broker");
    Entitlement any;
    any.domain = 3;
    any.feeds = {"feed"};
    any.memory_bytes = 16 * kPageBytes;
    any.unpinned_bytes = 64 * kPageBytes;
    any.resident_bytes = 64 * kPageBytes;
    any.hold_us = 1'000;
    options.entitlements = {any};
    options.log = options.log_refusal = [this](const std::string& line) { logged += line.size(); };
    auto opened = Broker::open(node, options);
    require(opened.ok());
    broker = std::move(opened).value();
    require(broker->add_feed("feed", scratch.write("feed", std::string(5000, 'f'))).ok());
    other_vpid = node.open_port(other.page(), 4, {}).value();
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, options.socket.c_str(), options.socket.size() + 1);
  }
  static ModelOptions one_node() {
    ModelOptions options;
    options.nodes = 1;
    return options;
  }
  static NodeOptions few() {
    NodeOptions options;
    options.ports = 16;
    options.atu.entries = 64;
    options.rma.windows = 8;
    return options;
  }
  void step() {
    for (int i = 0; i < 4; ++i) {
      network.set_time(now += 1'000'000);
      (void)node.step(now);
      (void)broker->step();
    }
  }

  stopbit::testing::Scratch scratch;
  ModelNetwork network;
  Node node;
  std::unique_ptr<Broker> broker;
  PageMemory other;
  Vpid other_vpid = 0;
  sockaddr_un address{};
  std::uint64_t now = 0;
  std::size_t logged = 0;
};

/// Takes all replies; the pages of the port, if they are among what was passed.
void take_replies(int socket, SharedMemory& pages) {
  for (;;) {
    BrokerReply reply;
    iovec vector{&reply, sizeof(reply)};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0) return;
    require(reply.magic == kBrokerMagic && static_cast<std::uint8_t>(reply.error) < kErrors);
    require(std::find(std::begin(reply.text), std::end(reply.text), '\0') != std::end(reply.text));
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    os::Descriptor passed(fd);
    if (reply.call == BrokerCall::Open) {
      require(pages.map(std::move(passed), PageLayout::kBytes, SharedMemory::Use::Write));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Host host;
  const os::Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  require(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&host.address), sizeof(host.address)) == 0);
  SharedMemory pages;
  std::array<std::uint64_t, kCommandRings> issued{};
  // Chunks: a byte that says how long it is, a byte that says what it is for, and the chunk.
  for (std::size_t at = 0; at + 2 <= size;) {
    const std::size_t length = std::min<std::size_t>(data[at], size - at - 2);
    const std::uint8_t kind = data[at + 1];
    const std::uint8_t* const chunk = data + at + 2;
    at += 2 + length;
    if (kind % 4 == 0) {  // a packet as it is
      (void)send_packet(socket.get(), chunk, length, -1);
    } else if (kind % 4 == 1) {  // a request of this version, with what belongs to it, or something else
      BrokerRequest request;
      std::memcpy(reinterpret_cast<std::byte*>(&request) + offsetof(BrokerRequest, call), chunk,
                  std::min(length, sizeof(request) - offsetof(BrokerRequest, call)));
      if (request.call < BrokerCall::Segments) request.limit = 0;
      SharedMemory memory;
      const bool is_shared = request.call == BrokerCall::Share || request.call == BrokerCall::ShareFile;
      if (is_shared && kind < 128) require(memory.create("fuzz", 4 * kPageBytes));
      const int unsealed = kind >= 192 ? ::memfd_create("unsealed", MFD_CLOEXEC) : -1;
      (void)send_packet(socket.get(), &request, sizeof(request), unsealed >= 0 ? unsealed : memory.descriptor());
      if (unsealed >= 0) ::close(unsealed);
    } else if (pages.span().empty()) {
      continue;
    } else if (kind % 4 == 2) {  // a command
      const std::size_t which = kind / 4 % kCommandRings;
      std::array<std::uint64_t, 7> words{};
      std::memcpy(words.data(), chunk, std::min(length, sizeof(words)));
      const std::size_t slot =
          place_of(static_cast<CommandRing>(which)).at + issued[which] % PageLayout::kCommands * kLineBytes;
      for (std::size_t word = 0; word < words.size(); ++word) pages.page().word(slot, word).store(words[word]);
      pages.page().word(slot, words.size()).store(++issued[which]);
    } else if (length > 2) {  // anything anywhere
      const std::size_t where = (std::size_t{chunk[0]} << 8U | chunk[1]) % (PageLayout::kBytes - 256);
      std::memcpy(pages.span().data() + where, chunk + 2, length - 2);
    }
    host.step();
    take_replies(socket.get(), pages);
  }
  ::shutdown(socket.get(), SHUT_RDWR);
  for (int i = 0; i < 100'000 && (host.broker->clients() != 0 || host.broker->unflushed() != 0); ++i) {
    host.step();
    if (i >= 100) ::usleep(100);  // for the thread that writes back what was changed in a file
  }
  require(host.broker->clients() == 0 && host.broker->unflushed() == 0);
  require(host.broker->counters().shared_bytes == 0 && host.broker->paging().memories == 0);
  // The other port still talks to itself.
  const CommandQueue queue(host.other.page());
  Command command;
  command.operation = Operation::FastSend;
  command.target_vpid = host.other_vpid;
  command.window = 1;
  require(queue.insert({&command, 1}).reply == Reply::NoError);
  host.step();
  std::array<std::byte, kMaxMessageBytes> into;
  static MailboxReader reader(host.other.page(), Priority::Low);
  const auto head = reader.poll(into);
  require(head && head->vpid == host.other_vpid && !reader.poll(into));
  return 0;
}
