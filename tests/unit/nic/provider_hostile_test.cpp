// What a peer of the provider may send that no honest one does: packets are given to a node as if a peer had sent them.

#include <gtest/gtest.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/nic/provider/address_vector.hpp"
#include "host/nic/provider/domain.hpp"
#include "host/nic/provider/endpoint.hpp"
#include "host/nic/provider/queues.hpp"

namespace stopbit::nic::provider {
namespace {

constexpr std::uint64_t kKey = 7;
/// Also of processes that this one starts.
const std::string kNetwork = "provider-hostile-" + std::to_string(::getpid());

void must(int result) {
  if (result != 0) throw std::runtime_error(fi_strerror(-result));
}

/// A node of this process with an endpoint and memory that others reach.
struct Node {
  Node() : domain(open()) {
    fi_cq_attr cq_attr{};
    fi_av_attr av_attr{};
    must(fi_cq_open(domain.get(), &cq_attr, &cq, nullptr));
    must(fi_av_open(domain.get(), &av_attr, &av, nullptr));
    must(fi_mr_reg(domain.get(), memory.data(), memory.size(), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, kKey, 0, &region,
                   nullptr));
    open_endpoint();
  }
  ~Node() {
    close_endpoint();
    EXPECT_EQ(fi_close(&region->fid), 0);
    EXPECT_EQ(fi_close(&cq->fid), 0);
    EXPECT_EQ(fi_close(&av->fid), 0);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  static std::unique_ptr<Domain> open() {
    Parameters parameters;
    parameters.network = kNetwork;
    auto made = Domain::open(parameters, {.is_shared = false, .has_basic_regions = false}, nullptr);
    if (!made) throw std::runtime_error(made.message());
    return std::move(made).value();
  }
  void open_endpoint() {
    fi_info info{};
    must(fi_endpoint(domain.get(), &info, &ep, nullptr));
    must(fi_ep_bind(ep, &av->fid, 0));
    must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
    must(fi_enable(ep));
  }
  void close_endpoint() { EXPECT_EQ(fi_close(&ep->fid), 0); }

  [[nodiscard]] PeerName name() const { return domain->own_name(Endpoint::of(ep).number); }
  [[nodiscard]] CompletionQueue& queue() const { return *static_cast<CompletionQueue*>(cq); }
  [[nodiscard]] fi_addr_t insert(const Node& other) const {
    const Name name = other.domain->own_full_name(other.name().endpoint);
    fi_addr_t address = 0;
    EXPECT_EQ(fi_av_insert(av, &name, 1, &address, 0, nullptr), 1);
    return address;
  }

  std::unique_ptr<Domain> domain;
  std::vector<std::byte> memory = std::vector<std::byte>(64);
  fid_cq* cq = nullptr;
  fid_av* av = nullptr;
  fid_mr* region = nullptr;
  fid_ep* ep = nullptr;
};

template <class... Parts>
std::vector<std::byte> packet_of(const Parts&... parts) {
  std::vector<std::byte> packet;
  const auto add = [&](const auto& part) {
    const auto* const at = reinterpret_cast<const std::byte*>(&part);
    packet.insert(packet.end(), at, at + sizeof(part));
  };
  (add(parts), ...);
  return packet;
}
Head head_of(Kind kind, const PeerName& from, const PeerName& to) {
  Head head;
  head.kind = kind;
  head.flags = kRemote;
  head.source = from.endpoint;
  head.source_birth = from.birth;
  head.target = to.endpoint;
  head.target_birth = to.birth;
  return head;
}
/// False: it finds no room.
bool give(Node& node, const PeerName& from, const std::vector<std::byte>& packet) {
  PacketSink& sink = *node.domain;
  return sink.ordered(from.node, VirtualChannel::Low, packet, 0);
}

TEST(ProviderHostile, only_writes_bring_data_and_no_slot_is_taken_that_was_not_reserved) {
  Node victim;
  Node peer;
  Head head = head_of(Kind::Atomic, peer.name(), victim.name());
  head.flags |= kWantsDone | kHasData;
  head.tag = packed({AtomicForm::Write, FI_UINT64, FI_SUM, 1});
  EXPECT_TRUE(give(victim, peer.name(), packet_of(head, RemoteBody{kKey, 0}, std::uint64_t{5})));
  EXPECT_EQ(victim.domain->counters().malformed, 1U);
  EXPECT_EQ(victim.queue().count, 0U);
  EXPECT_EQ(victim.queue().held, 0U);
  EXPECT_EQ(victim.memory[0], std::byte{0});
  // As it is without data.
  head.flags = kRemote | kWantsDone;
  EXPECT_TRUE(give(victim, peer.name(), packet_of(head, RemoteBody{kKey, 0}, std::uint64_t{5})));
  EXPECT_EQ(victim.memory[0], std::byte{5});
}

TEST(ProviderHostile, bytes_that_went_with_their_packet_are_asked_for_in_vain) {
  Node victim;
  Node peer;
  const fi_addr_t to = victim.insert(peer);
  // The buffer of an inject is the program's again after the call.
  auto buffer = std::make_unique<std::array<std::byte, 256>>();
  ASSERT_EQ(fi_inject_write(victim.ep, buffer->data(), buffer->size(), to, 0, kKey), 0);
  const iovec piece{buffer->data(), buffer->size()};
  fi_msg message{};
  message.msg_iov = &piece;
  message.iov_count = 1;
  message.addr = to;
  ASSERT_EQ(fi_sendmsg(victim.ep, &message, FI_INJECT | FI_DELIVERY_COMPLETE), 0);
  buffer.reset();
  Head head = head_of(Kind::Ask, peer.name(), victim.name());
  head.tag = sizeof(*buffer);
  EXPECT_TRUE(give(victim, peer.name(), packet_of(head)));
  EXPECT_EQ(victim.domain->counters().malformed, 1U);
  head.flags = 0;
  EXPECT_TRUE(give(victim, peer.name(), packet_of(head)));
  EXPECT_EQ(victim.domain->counters().malformed, 2U);
  victim.domain->progress();
  EXPECT_EQ(victim.domain->counters().piece_bytes, 0U);
}

TEST(ProviderHostile, a_late_packet_for_a_closed_endpoint_does_not_reach_the_next_one) {
  Node node;
  Node peer;
  const fi_addr_t to = node.insert(peer);
  const PeerName before = node.name();
  std::array<std::byte, 8> first{};
  std::array<std::byte, 8> second{};
  ASSERT_EQ(fi_read(node.ep, first.data(), first.size(), nullptr, to, 0, kKey, nullptr), 0);
  node.close_endpoint();
  node.open_endpoint();
  EXPECT_NE(node.name(), before);
  ASSERT_EQ(fi_read(node.ep, second.data(), second.size(), nullptr, to, 0, kKey, nullptr), 0);
  // The answer to the first read, which has the second one's number.
  const Head head = head_of(Kind::Result, peer.name(), before);
  EXPECT_TRUE(give(node, peer.name(), packet_of(head, ~std::uint64_t{0})));
  EXPECT_EQ(second[0], std::byte{0});
  EXPECT_EQ(node.queue().count, 0U);
  EXPECT_EQ(node.domain->counters().refused, 1U);
  EXPECT_TRUE(give(node, peer.name(), packet_of(head_of(Kind::Result, peer.name(), node.name()), ~std::uint64_t{0})));
  EXPECT_EQ(second[0], std::byte{0xFF});
  EXPECT_EQ(node.queue().count, 1U);
}

TEST(ProviderHostile, endpoints_are_opened_and_closed_without_end) {
  Node node;
  for (int i = 0; i < 70; ++i) {  // more often than there are places
    node.close_endpoint();
    node.open_endpoint();
  }
  // It is found by its number.
  std::array<std::byte, 8> into{};
  node.memory[0] = std::byte{5};
  ASSERT_EQ(fi_read(node.ep, into.data(), into.size(), nullptr, node.insert(node), 0, kKey, nullptr), 0);
  while (node.queue().count == 0) node.domain->progress();
  EXPECT_EQ(into[0], std::byte{5});
}

TEST(ProviderHostile, a_message_that_waits_in_an_endpoint_fails_when_it_closes) {
  Node sender;
  Node peer;
  const std::vector<std::byte> bytes(20'000);
  ASSERT_EQ(fi_send(sender.ep, bytes.data(), bytes.size(), nullptr, sender.insert(peer), nullptr), 0);
  const auto both = [&] {
    peer.domain->progress();
    sender.domain->progress();
  };
  while (peer.domain->counters().unexpected == 0) both();
  peer.close_endpoint();
  peer.open_endpoint();
  for (int i = 0; i < 10'000 && sender.queue().count == 0; ++i) both();
  ASSERT_EQ(sender.queue().count, 1U);
  EXPECT_EQ(sender.queue().entries[sender.queue().first].entry.err, FI_ECONNREFUSED);
}

TEST(ProviderHostile, a_peer_that_takes_no_answers_holds_up_no_other) {
  Node victim;
  Node peer;
  Node other;
  (void)victim.insert(peer);
  (void)victim.insert(other);
  const auto packet_from = [&](const Node& from) {
    Head head = head_of(Kind::Write, from.name(), victim.name());
    head.flags |= kWantsDone;
    return packet_of(head, RemoteBody{.key = kKey + 1, .address = 0}, std::uint64_t{5});
  };
  int taken = 0;
  while (taken < 10'000 && give(victim, peer.name(), packet_from(peer))) ++taken;
  EXPECT_GE(taken, 64);  // more than an honest peer has under way
  EXPECT_LT(taken, 1'000);
  EXPECT_TRUE(give(victim, other.name(), packet_from(other)));
}

/// A node in another process, which does nothing and ends with this object.
class OtherProcess {
 public:
  OtherProcess() {
    int pipes[2];
    must(::pipe(pipes));
    pid_ = ::fork();
    if (pid_ == 0) {
      const Node node;
      const PeerName name = node.name();
      if (::write(pipes[1], &name, sizeof(name)) != sizeof(name)) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(pipes[1]);
    if (::read(pipes[0], &name_, sizeof(name_)) != sizeof(name_)) throw std::runtime_error("no other process");
    ::close(pipes[0]);
  }
  ~OtherProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  [[nodiscard]] const PeerName& name() const { return name_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  PeerName name_;
  pid_t pid_ = 0;
};

TEST(ProviderHostile, a_peer_names_no_process_but_its_own) {
  const OtherProcess peer;
  Node victim;
  const std::vector<std::byte> secret(20'000, std::byte{0x5E});
  std::vector<std::byte> wide(20'000);
  fid_mr* region = nullptr;
  must(fi_mr_reg(victim.domain.get(), wide.data(), wide.size(), FI_REMOTE_WRITE, 0, kKey + 1, 0, &region, nullptr));
  // The victim may read its own memory, also where Yama forbids it to the peer.
  OfferBody offer;
  offer.length = wide.size();
  offer.address = reinterpret_cast<std::uint64_t>(secret.data());
  offer.process = victim.domain->process();
  offer.process_space = victim.domain->process_space();
  Head head = head_of(Kind::LongWrite, peer.name(), victim.name());
  head.flags |= kWantsDone;
  EXPECT_TRUE(give(victim, peer.name(), packet_of(head, RemoteBody{kKey + 1, 0}, offer)));
  EXPECT_EQ(victim.domain->counters().malformed, 1U);

  ASSERT_EQ(fi_recv(victim.ep, wide.data(), wide.size(), nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  head.kind = Kind::Offer;
  head.flags = kWantsDone;
  EXPECT_TRUE(give(victim, peer.name(), packet_of(head, offer)));
  EXPECT_EQ(victim.domain->counters().malformed, 2U);

  Name name = victim.domain->own_full_name(0);
  name.peer = peer.name();
  fi_addr_t to = 0;
  ASSERT_EQ(fi_av_insert(victim.av, &name, 1, &to, 0, nullptr), 1);
  ASSERT_EQ(fi_read(victim.ep, wide.data(), wide.size(), nullptr, to, 0, kKey, nullptr), 0);
  head = head_of(Kind::Grant, peer.name(), victim.name());
  head.tag = offer.address;
  head.data = std::uint64_t{offer.process} << 32U;
  EXPECT_TRUE(give(victim, peer.name(), packet_of(head)));
  EXPECT_EQ(victim.domain->counters().malformed, 3U);

  EXPECT_EQ(victim.domain->counters().copied_bytes, 0U);
  EXPECT_EQ(wide, std::vector<std::byte>(20'000));
  EXPECT_EQ(fi_close(&region->fid), 0);
}

TEST(ProviderHostile, the_kernel_names_the_process_of_a_peer) {
  // Memory that both have at one address since the fork, the peer's as it was then.
  std::vector<std::byte> bytes(20'000, std::byte{1});
  const OtherProcess peer;
  std::fill(bytes.begin(), bytes.end(), std::byte{2});
  Node victim;
  OfferBody offer;
  offer.length = bytes.size();
  offer.address = reinterpret_cast<std::uint64_t>(bytes.data());
  offer.process = static_cast<std::uint32_t>(peer.pid());
  offer.process_space = victim.domain->process_space();
  std::vector<std::byte> into(bytes.size());
  ASSERT_EQ(fi_recv(victim.ep, into.data(), into.size(), nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  Head head = head_of(Kind::Offer, peer.name(), victim.name());
  head.flags = kWantsDone;
  EXPECT_TRUE(give(victim, peer.name(), packet_of(head, offer)));
  EXPECT_EQ(victim.domain->counters().malformed, 0U);
  if (victim.domain->counters().copied_bytes == 0) GTEST_SKIP() << "the kernel allows no copies between processes";
  EXPECT_EQ(into, std::vector<std::byte>(20'000, std::byte{1}));
}

}  // namespace
}  // namespace stopbit::nic::provider
