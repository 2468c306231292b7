#include "host/nic/transport/fabric/fabric_transport.hpp"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "host/nic/transport/fabric/library.hpp"
#include "host/nic/transport/fabric/membership.hpp"
#include "host/nic/transport/fabric/pool.hpp"
#include "host/os/clock.hpp"

namespace stopbit::nic {
namespace {

/// Left in each share for what keeps the membership alive.
constexpr std::size_t kSpare = 2;
constexpr std::uint64_t kLookEveryNs = 1'000'000;
constexpr std::uint64_t kGoodbyeNs = 50'000'000;

Status check(const FabricOptions& options) {
  if (options.network.empty() || options.network.size() >= kFabricNameBytes) {
    return Failure{"the name of a network must have 1 to " + std::to_string(kFabricNameBytes - 1) + " bytes"};
  }
  if (options.nodes < 2 || options.nodes > 1024) return Failure{"a network must have 2 to 1024 nodes"};
  if (options.frame_bytes < 256 || options.frame_bytes > 16'000) return Failure{"a frame must have 256 to 16000 bytes"};
  if (options.tx_slots < 4 || options.tx_slots > 1024) return Failure{"frames in flight to a node must be 4 to 1024"};
  if (options.rx_slots < 16 || options.rx_slots > 65'536)
    return Failure{"the queue of received frames must have 16 to 65536"};
  if (options.lease_ns < 10'000'000) return Failure{"a lease must last at least 10 ms"};
  if (options.node && (*options.node == 0 || *options.node >= options.nodes)) {
    return Failure{"no node that joins a network of " + std::to_string(options.nodes) + " is node " +
                   std::to_string(*options.node)};
  }
  return Done{};
}

}  // namespace

LinkOptions fabric_link_options() noexcept {
  LinkOptions options;
  options.resend_ns = 50'000'000;
  options.silence_ns = 2'000'000'000;
  options.acknowledge_ns = 100'000;
  return options;
}

class FabricTransport::Parts {
 public:
  explicit Parts(const FabricOptions& how) : options(how), ready(how.rx_slots), own(how.tx_slots) {}

  /// `host`: the address of node 0, or nothing.
  [[nodiscard]] Status open(const std::string& host) {
    if (Status opened = pool.open(options, host, counters); !opened) return opened;
    Membership::Self self;
    self.address = pool.names().own;
    self.host = pool.names().host;
    self.knows_sources = pool.names().knows_sources;
    if (!host.empty() && self.host.empty()) return Failure{"'" + host + "' has no address"};
    while (self.incarnation == 0) {
      if (::getrandom(&self.incarnation, sizeof(self.incarnation), 0) != sizeof(self.incarnation)) {
        return Failure{"cannot get random numbers"};
      }
    }
    for (std::vector<std::byte>& frame : own) frame.reserve(options.frame_bytes);
    membership = std::make_unique<Membership>(pool, options, std::move(self), counters);
    if (!membership->problem().empty()) return Failure{membership->problem()};
    return Done{};
  }

  /// Takes in frames that have arrived, as far as there is room; no more than that, because a peer that sends only
  /// frames that are dropped may be as fast as this loop.
  void poll() {
    const std::uint64_t now = os::monotonic_clock_ns();
    FabricPool::Arrived arrived;
    const std::uint64_t room = ready.size() - (ready_written - ready_read);
    for (std::uint64_t looks = 0; looks < room && pool.poll(arrived); ++looks) {
      const std::optional<NodeId> from = membership->take(arrived.source, arrived.frame, now);
      if (from) {
        ready[ready_written++ % ready.size()] = {*from, arrived.frame.subspan(sizeof(FabricHead)), arrived.slot};
      } else {
        pool.give_back(arrived.slot);
      }
    }
    if (now - looked_ns < kLookEveryNs) return;
    looked_ns = now;
    pool.step(now);
    membership->step(now);
  }

  struct Ready {
    NodeId from = 0;
    std::span<const std::byte> frame;
    std::uint32_t slot = 0;
  };

  FabricOptions options;
  FabricCounters counters;
  FabricPool pool;
  std::unique_ptr<Membership> membership;
  std::vector<Ready> ready;  ///< A ring: frames of members that were not taken yet.
  std::uint64_t ready_written = 0;
  std::uint64_t ready_read = 0;
  std::vector<std::vector<std::byte>> own;  ///< A ring: frames to oneself.
  std::uint64_t own_written = 0;
  std::uint64_t own_read = 0;
  std::uint64_t looked_ns = 0;
  std::optional<NodeId> sender;
};

FabricTransport::FabricTransport(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

FabricTransport::~FabricTransport() {
  // Frames that come now are dropped; but the provider may need polling to send the goodbye.
  parts_->membership->leave();
  FabricPool::Arrived arrived;
  for (const std::uint64_t end = os::monotonic_clock_ns() + kGoodbyeNs;
       !parts_->pool.is_idle(0) && os::monotonic_clock_ns() < end;) {
    if (parts_->pool.poll(arrived)) parts_->pool.give_back(arrived.slot);
  }
}

Result<std::string> find_fabric_program() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const std::filesystem::path& place :
       {folder / kFabricProgram, folder / ".." / "libexec" / "stopbit" / kFabricProgram}) {
    if (::access(place.c_str(), X_OK) == 0) return place.lexically_normal().string();
  }
  return Failure{std::string(kFabricProgram) + " is neither in '" + folder.string() +
                 "' nor in ../libexec/stopbit next to it; libfabric runs in this program"};
}

bool leaves_host(std::string_view provider) noexcept {
  return !provider.starts_with("shm");
}

Status FabricTransport::available() {
  return fabric_library().loaded;
}

Result<std::unique_ptr<FabricTransport>> FabricTransport::open(const FabricOptions& options, const std::string& host) {
  if (const Status good = check(options); !good) return good.failure();
  auto parts = std::make_unique<Parts>(options);
  if (const Status opened = parts->open(host); !opened) return opened.failure();
  return std::unique_ptr<FabricTransport>(new FabricTransport(std::move(parts)));
}

Result<std::unique_ptr<FabricTransport>> FabricTransport::listen(const FabricOptions& options) {
  if (options.listen.empty()) return Failure{"node 0 needs an address to listen at"};
  return open(options, "");
}

Result<std::unique_ptr<FabricTransport>> FabricTransport::start(const FabricOptions& options,
                                                                const std::string& address) {
  if (address.empty()) return Failure{"the address of node 0 is missing"};
  return open(options, address);
}

Result<std::unique_ptr<FabricTransport>> FabricTransport::join(const FabricOptions& options,
                                                               const std::string& address) {
  auto started = start(options, address);
  if (!started) return started;
  FabricTransport& transport = *started.value();
  const std::uint64_t end = os::monotonic_clock_ns() + options.patience_ns;
  constexpr timespec kPause{0, 200'000};
  while (!transport.is_joined() && transport.problem().empty() && os::monotonic_clock_ns() < end) {
    transport.progress();
    ::nanosleep(&kPause, nullptr);
  }
  if (transport.is_joined()) return started;
  return Failure{"'" + address + "': " + transport.why_not_joined()};
}

std::string FabricTransport::why_not_joined() const {
  if (!problem().empty()) return problem();
  const FabricRefusal refusal = parts_->membership->last_refusal();
  return refusal == FabricRefusal::None ? "no answer from that address"
                                        : std::string("node 0 refuses: ") + to_text(refusal);
}

NodeId FabricTransport::node() const noexcept {
  return parts_->membership->node();
}
std::size_t FabricTransport::nodes() const noexcept {
  return parts_->options.nodes;
}
std::size_t FabricTransport::frame_bytes() const noexcept {
  return parts_->options.frame_bytes;
}
bool FabricTransport::is_joined() const noexcept {
  return parts_->membership->is_joined();
}
std::string FabricTransport::problem() const {
  const std::string& problem = parts_->membership->problem();
  return problem.empty() ? parts_->pool.problem() : problem;
}
bool FabricTransport::is_member(NodeId node) const noexcept {
  return node == this->node() || parts_->membership->handle(node) != kNoHandle;
}
const std::string& FabricTransport::address() const noexcept {
  return parts_->pool.names().text;
}
const FabricCounters& FabricTransport::counters() const noexcept {
  return parts_->counters;
}
const FabricDeaths& FabricTransport::deaths() const noexcept {
  return parts_->pool.deaths();
}
std::optional<NodeId> FabricTransport::sender() const noexcept {
  return parts_->sender;
}
std::optional<HostAddress> FabricTransport::address_of(NodeId node) const noexcept {
  return host_of(parts_->membership->where(node));
}
void FabricTransport::progress() {
  parts_->poll();
}

bool FabricTransport::send(NodeId to, std::span<const std::byte> frame) {
  Parts& parts = *parts_;
  if (frame.empty() || frame.size() > parts.options.frame_bytes) return false;
  if (to == node()) {
    if (parts.own_written - parts.own_read == parts.own.size()) return false;
    parts.own[parts.own_written++ % parts.own.size()].assign(frame.begin(), frame.end());
    return true;
  }
  const FabricHandle handle = parts.membership->handle(to);
  if (handle == kNoHandle) {
    ++parts.counters.absent;
    return false;
  }
  parts.membership->asked(to, parts.looked_ns);
  const FabricHead head = parts.membership->head();
  if (!parts.pool.send(to, handle, std::as_bytes(std::span(&head, 1)), frame, kSpare)) {
    ++parts.counters.no_room;
    return false;
  }
  ++parts.counters.sent;
  return true;
}

std::size_t FabricTransport::receive(std::span<std::byte> into) {
  Parts& parts = *parts_;
  if (parts.own_read != parts.own_written) {
    const std::vector<std::byte>& frame = parts.own[parts.own_read++ % parts.own.size()];
    const std::size_t length = std::min(into.size(), frame.size());
    std::copy_n(frame.begin(), length, into.begin());
    parts.sender = node();
    return length;
  }
  if (parts.ready_read == parts.ready_written) parts.poll();
  if (parts.ready_read == parts.ready_written) return 0;
  const Parts::Ready& ready = parts.ready[parts.ready_read++ % parts.ready.size()];
  const std::size_t length = std::min(into.size(), ready.frame.size());
  std::copy_n(ready.frame.begin(), length, into.begin());
  parts.sender = ready.from;
  parts.pool.give_back(ready.slot);
  ++parts.counters.received;
  return length;
}

}  // namespace stopbit::nic
