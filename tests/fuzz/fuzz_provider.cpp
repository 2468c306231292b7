// What a peer of the provider of libfabric may put into its packets: two nodes exchange messages and reach each other's
// memory, and among their packets come forged ones. Only memory that was asked for, or is registered for it, changes;
// every operation ends once, at the latest with its endpoint; no slot of a queue is lost.

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/nic/provider/address_vector.hpp"
#include "host/nic/provider/domain.hpp"
#include "host/nic/provider/endpoint.hpp"
#include "host/nic/provider/queues.hpp"

namespace {

using namespace stopbit::nic;
using namespace stopbit::nic::provider;

constexpr std::uint64_t kKey = 7;
constexpr std::uint64_t kReadOnlyKey = 8;
constexpr std::size_t kRegion = 20'000;
constexpr std::size_t kMargin = 64;
constexpr std::byte kCanary{0xC5};

void require(bool holds) {
  if (!holds) __builtin_trap();
}
template <class T>
T* opened(int result, T* made) {
  require(result == 0);
  return made;
}

/// The bytes of the input, and zeros after its end.
class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  [[nodiscard]] bool is_empty() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  std::span<const std::uint8_t> bytes(std::size_t most) {
    const auto taken = bytes_.first(std::min(most, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  std::size_t length() {
    constexpr std::size_t kLengths[] = {0, 1, 8, 128, 129, 1024, 8192, 8193, 20'000, 20'001};
    return kLengths[byte() % std::size(kLengths)];
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// A node of this process. Its domain serves all inputs.
std::unique_ptr<Domain> open_node(bool copies_once) {
  Parameters parameters;
  parameters.network = "fuzz-provider-" + std::to_string(::getpid()) + (copies_once ? "-copies" : "-pieces");
  parameters.copies_once = copies_once;
  auto made = Domain::open(parameters, {.is_shared = false, .has_basic_regions = false}, nullptr);
  require(made.ok());
  return std::move(made).value();
}

struct Side {
  explicit Side(Domain& node) : domain(node) {
    fi_cq_attr cq_attr{};
    cq_attr.format = FI_CQ_FORMAT_TAGGED;
    fi_av_attr av_attr{};
    require(fi_cq_open(&domain, &cq_attr, &cq, nullptr) == 0);
    require(fi_av_open(&domain, &av_attr, &av, nullptr) == 0);
    fi_info info{};
    info.caps = FI_DIRECTED_RECV;
    require(fi_endpoint(&domain, &info, &ep, nullptr) == 0);
    require(fi_ep_bind(ep, &av->fid, 0) == 0 && fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV) == 0);
    require(fi_enable(ep) == 0);
    std::ranges::fill(memory, kCanary);
    std::ranges::fill(only_read, kCanary);
    open_region();
    require(fi_mr_reg(&domain, only_read.data(), only_read.size(), FI_REMOTE_READ, 0, kReadOnlyKey, 0, &read_only,
                      nullptr) == 0);
  }
  void open_region() {
    require(fi_mr_reg(&domain, memory.data() + kMargin, kRegion, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, kKey, 0, &region,
                      nullptr) == 0);
  }
  void close_region() {
    if (region != nullptr) require(fi_close(&region->fid) == 0);
    region = nullptr;
  }
  fi_addr_t insert(const Side& other) const {
    Name name;
    std::size_t length = sizeof(name);
    require(fi_getname(&other.ep->fid, &name, &length) == 0);
    fi_addr_t address = 0;
    require(fi_av_insert(av, &name, 1, &address, 0, nullptr) == 1);
    return address;
  }
  /// Completions that have come: of operations that were posted, each once.
  void read() {
    for (;;) {
      fi_cq_tagged_entry entry{};
      ssize_t count = fi_cq_read(cq, &entry, 1);
      void* context = entry.op_context;
      if (count == -FI_EAVAIL) {
        fi_cq_err_entry error{};
        require(fi_cq_readerr(cq, &error, 0) == 1);
        context = error.op_context;
        count = 1;
      }
      if (count != 1) return;
      if (context == nullptr) continue;  // data of a peer's write
      const auto posted = std::ranges::find(buffers, context, [](const auto& buffer) { return buffer.get(); });
      require(posted != buffers.end());
      require(is_posted[static_cast<std::size_t>(posted - buffers.begin())]);
      is_posted[static_cast<std::size_t>(posted - buffers.begin())] = false;
    }
  }
  /// A buffer of exactly this length, so that AddressSanitizer sees what leaves it.
  std::byte* buffer(std::size_t length) {
    buffers.push_back(std::make_unique<std::byte[]>(std::max<std::size_t>(length, 1)));
    is_posted.push_back(true);
    return buffers.back().get();
  }
  /// The call refused the last buffer.
  void check(ssize_t result) {
    if (result != 0) is_posted.back() = false;
  }
  void close() {
    close_region();
    require(fi_close(&read_only->fid) == 0);
    auto& queue = *static_cast<CompletionQueue*>(cq);
    require(fi_close(&ep->fid) == 0);
    read();
    require(queue.held == 0);  // neither lost nor doubled
    require(fi_close(&cq->fid) == 0 && fi_close(&av->fid) == 0);
    for (std::size_t i = 0; i < kMargin; ++i) require(memory[i] == kCanary && memory[kMargin + kRegion + i] == kCanary);
    require(std::ranges::all_of(only_read, [](std::byte byte) { return byte == kCanary; }));
  }

  Domain& domain;
  fid_cq* cq = nullptr;
  fid_av* av = nullptr;
  fid_ep* ep = nullptr;
  fid_mr* region = nullptr;
  fid_mr* read_only = nullptr;
  std::vector<std::byte> memory = std::vector<std::byte>(kRegion + 2 * kMargin);
  std::vector<std::byte> only_read = std::vector<std::byte>(256);
  std::vector<std::unique_ptr<std::byte[]>> buffers;
  std::vector<bool> is_posted;
};

/// An operation of one side on the other's memory.
void reach(Side& side, fi_addr_t to, Input& input) {
  const std::uint8_t how = input.byte();
  const std::uint64_t key = how % 8 == 0 ? input.byte() : how % 8 == 1 ? kReadOnlyKey : kKey;
  const std::uint64_t address = std::uint64_t{input.byte()} * 8;
  if (how % 3 == 0) {
    const std::size_t length = input.length();
    std::byte* const into = side.buffer(length);
    side.check(fi_read(side.ep, into, length, nullptr, to, address, key, into));
  } else if (how % 3 == 1) {
    const std::size_t length = input.length();
    std::byte* const from = side.buffer(length);
    side.check(how % 2 == 0 ? fi_write(side.ep, from, length, nullptr, to, address, key, from)
                            : fi_writedata(side.ep, from, length, nullptr, 5, to, address, key, from));
  } else {
    const std::size_t count = input.byte() % 4 + 1;
    std::byte* const values = side.buffer(count * 24);
    const auto type = static_cast<fi_datatype>(input.byte() % (FI_DOUBLE + 1));
    const auto op = static_cast<fi_op>(input.byte() % FI_ATOMIC_OP_LAST);
    if (op >= FI_CSWAP) {
      side.check(fi_compare_atomic(side.ep, values, count, nullptr, values + count * 8, nullptr, values + count * 16,
                                   nullptr, to, address, key, type, op, values));
    } else if (how % 2 == 0) {
      side.check(fi_atomic(side.ep, values, count, nullptr, to, address, key, type, op, values));
    } else {
      side.check(fi_fetch_atomic(side.ep, values, count, nullptr, values + count * 16, nullptr, to, address, key, type,
                                 op, values));
    }
  }
}

void exchange(Side& side, fi_addr_t other, Input& input) {
  const std::uint8_t how = input.byte();
  const std::size_t length = input.length();
  std::byte* const buffer = side.buffer(length);
  const std::uint64_t tag = how / 16;
  if (how % 4 == 0) side.check(fi_tsend(side.ep, buffer, length, nullptr, other, tag, buffer));
  if (how % 4 == 1) side.check(fi_trecv(side.ep, buffer, length, nullptr, other, tag, how % 8 / 4, buffer));
  if (how % 4 == 2) side.check(fi_send(side.ep, buffer, length, nullptr, other, buffer));
  if (how % 4 == 3) side.check(fi_recv(side.ep, buffer, length, nullptr, FI_ADDR_UNSPEC, buffer));
}

/// A packet to `to` that says it is from `from`'s endpoint. Numbers that only an observer knows are mostly right, so
/// that what comes after them is reached.
void forge(const Side& from, Side& to, Input& input) {
  const std::uint8_t right = input.byte();
  std::array<std::byte, sizeof(Head) + sizeof(RemoteBody) + sizeof(OfferBody) + 64> packet{};
  const auto raw = input.bytes(input.byte() % (packet.size() + 1));
  std::memcpy(packet.data(), raw.data(), raw.size());
  Head head;
  std::memcpy(&head, packet.data(), sizeof(head));
  const PeerName source = from.domain.own_name(Endpoint::of(from.ep).number);
  const PeerName target = to.domain.own_name(Endpoint::of(to.ep).number);
  if ((right & 1U) == 0) head.kind = static_cast<Kind>(static_cast<std::uint8_t>(head.kind) % 16U);
  if ((right & 2U) == 0) {
    head.source = source.endpoint;
    head.source_birth = source.birth;
  }
  if ((right & 4U) == 0) {
    head.target = target.endpoint;
    head.target_birth = target.birth;
  }
  if ((right & 8U) == 0) head.request %= 4;
  if ((right & 16U) == 0) head.tag %= 32'768;
  if ((right & 32U) == 0) head.flags = static_cast<std::uint8_t>(head.flags | kWantsDone);
  // Memory of this process alone: what another has is not the input's to choose.
  if (head.kind == Kind::Grant) {
    head.tag = reinterpret_cast<std::uint64_t>(from.memory.data()) + head.tag % kMargin;
    head.data = std::uint64_t{to.domain.process()} << 32U | (head.data & 3U);
  }
  std::memcpy(packet.data(), &head, sizeof(head));
  const auto point = [&](std::size_t at) {
    OfferBody offer;
    std::memcpy(&offer, packet.data() + at, sizeof(offer));
    offer.process = to.domain.process();
    offer.address = reinterpret_cast<std::uint64_t>(from.memory.data());
    if ((right & 64U) == 0) offer.process_space = to.domain.process_space();
    if ((right & 128U) == 0) offer.length %= kRegion;
    std::memcpy(packet.data() + at, &offer, sizeof(offer));
  };
  std::size_t length = raw.size();
  if (head.kind == Kind::Offer) {
    point(sizeof(Head));
    if ((right & 128U) == 0) length = sizeof(Head) + sizeof(OfferBody);
  } else if (head.kind == Kind::LongWrite || head.kind == Kind::Read) {
    point(sizeof(Head) + sizeof(RemoteBody));
    if ((right & 128U) == 0) length = sizeof(Head) + sizeof(RemoteBody) + sizeof(OfferBody);
  }
  if (is_request(head.kind) && head.kind != Kind::Eager && head.kind != Kind::Offer && (right & 8U) == 0) {
    RemoteBody body;
    std::memcpy(&body, packet.data() + sizeof(Head), sizeof(body));
    body.key = body.key % 2 == 0 ? kKey : kReadOnlyKey;
    body.address %= kRegion;
    std::memcpy(packet.data() + sizeof(Head), &body, sizeof(body));
  }
  PacketSink& sink = to.domain;
  (void)sink.ordered(source.node, is_request(head.kind) ? VirtualChannel::Low : VirtualChannel::High,
                     std::span(packet).first(length), 0);
}

void run(Domain& first, Domain& second, Input& input) {
  Side a(first);
  Side b(second);
  const fi_addr_t to_b = a.insert(b);
  const fi_addr_t to_a = b.insert(a);
  const auto step = [&] {
    a.read();
    b.read();
  };
  for (int operations = 0; !input.is_empty() && operations < 200; ++operations) {
    const std::uint8_t what = input.byte();
    Side& side = what % 2 == 0 ? a : b;
    Side& other = what % 2 == 0 ? b : a;
    const fi_addr_t to_other = what % 2 == 0 ? to_b : to_a;
    switch (what / 2 % 8) {
      case 0: exchange(side, to_other, input); break;
      case 1: reach(side, to_other, input); break;
      case 2: side.region != nullptr ? side.close_region() : side.open_region(); break;
      case 3: step(); break;
      default: forge(side, other, input); break;
    }
  }
  for (int i = 0; i < 20; ++i) step();
  a.close();
  b.close();
  first.flush();
  second.flush();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::unique_ptr<Domain> nodes[4] = {open_node(true), open_node(true), open_node(false),
                                                   open_node(false)};
  Input input({data, size});
  const std::size_t first = input.byte() % 2 * 2;
  run(*nodes[first], *nodes[first + 1], input);
  return 0;
}
