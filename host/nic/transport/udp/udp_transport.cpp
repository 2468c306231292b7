#include "host/nic/transport/udp/udp_transport.hpp"

#include <time.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "host/nic/transport/udp/batches.hpp"
#include "host/nic/transport/udp/host.hpp"
#include "host/nic/transport/udp/member.hpp"
#include "host/nic/transport/udp/peers.hpp"
#include "host/nic/transport/udp/sockets.hpp"
#include "host/os/clock.hpp"

namespace stopbit::nic {
namespace {

constexpr std::uint64_t kLookEveryNs = 1'000'000;
constexpr std::uint64_t kDropsEveryNs = 100'000'000;
constexpr std::size_t kOwnFrames = 32;
constexpr std::size_t kPortAttempts = 32;

constexpr std::size_t kLeastToken = 16;
constexpr std::size_t kLongestToken = 1024;

Status check(const UdpOptions& options) {
  if (options.network.empty() || options.network.size() >= kUdpNameBytes) {
    return Failure{"the name of a network must have 1 to " + std::to_string(kUdpNameBytes - 1) + " bytes"};
  }
  if (options.nodes < 2 || options.nodes > 256) return Failure{"a network over UDP must have 2 to 256 nodes"};
  if (options.frame_bytes < 256 || options.frame_bytes > 65'000) return Failure{"a frame must have 256 to 65000 bytes"};
  if (options.lease_ns < 10'000'000) return Failure{"a lease must last at least 10 ms"};
  if (options.keys.datagrams < 4) return Failure{"a key must be good for at least 4 datagrams"};
  if (options.node && (*options.node == 0 || *options.node >= options.nodes)) {
    return Failure{"no node that joins a network of " + std::to_string(options.nodes) + " is node " +
                   std::to_string(*options.node)};
  }
  if (options.token.empty()) return Done{};
  if (options.encryption == UdpEncryption::Off) {
    return Failure{"a token is of no use without encryption: leave one of them out"};
  }
  if (options.token.size() < kLeastToken || options.token.size() > kLongestToken) {
    return Failure{"a token must have 16 to 1024 bytes, drawn at random"};
  }
  return Done{};
}

/// Plain text may leave this host only if that was asked for.
Status check_encryption(const UdpOptions& options, const UdpEndpoint& endpoint) {
  if (options.is_sealed() || options.encryption == UdpEncryption::Off || endpoint.is_loopback()) return Done{};
  return Failure{"'" + to_text(endpoint) +
                 "' can be reached by other hosts, so a token is needed; without one, anyone there could read, join "
                 "and forge: set encryption to off if that is wanted"};
}

/// A UDP socket, and a TCP socket with the same number, which may be any.
struct Pair {
  os::Descriptor datagrams;
  os::Descriptor listener;
};
Result<Pair> bind_pair(const UdpEndpoint& at) {
  for (std::size_t attempt = 0;; ++attempt) {
    Result<os::Descriptor> datagrams = bind_udp(at);
    if (!datagrams) return datagrams.failure();
    Result<UdpEndpoint> own = own_endpoint(datagrams.value().get());
    if (!own) return own.failure();
    Result<os::Descriptor> listener = listen_tcp(own.value());
    if (listener) return Pair{std::move(datagrams).value(), std::move(listener).value()};
    if (at.port != 0 || attempt == kPortAttempts) return listener.failure();
  }
}

}  // namespace

LinkOptions udp_link_options() noexcept {
  LinkOptions options;
  options.resend_ns = 2'000'000;
  options.silence_ns = 2'000'000'000;
  options.acknowledge_ns = 100'000;
  return options;
}

class UdpTransport::Parts {
 public:
  explicit Parts(const UdpOptions& how) : options(how), batches(counters), peers(options, counters), own(kOwnFrames) {
    for (std::vector<std::byte>& frame : own) frame.reserve(options.frame_bytes);
  }

  /// `name`: of node 0, or nothing.
  [[nodiscard]] Status open(const std::string& name) {
    if (Status opened = tls.open(options.token); !opened) return opened;
    wipe(std::as_writable_bytes(std::span(options.token)));  // only its length is asked for from now on
    return name.empty() ? open_host() : open_member(name);
  }

  /// What time brings, now and then.
  void look() {
    now_ns = os::monotonic_clock_ns();
    batches.flush();
    if (now_ns - looked_ns < kLookEveryNs) return;
    looked_ns = now_ns;
    peers.step(now_ns);
    if (host != nullptr) host->step(now_ns);
    if (member != nullptr) member->step(now_ns);
    if (now_ns - counted_ns < kDropsEveryNs) return;
    counted_ns = now_ns;
    batches.count_drops();
  }

  [[nodiscard]] NodeId node() const noexcept { return host != nullptr ? NodeId{0} : member->node(); }

  UdpOptions options;
  UdpCounters counters;
  UdpTls tls;
  UdpBatches batches;
  UdpPeers peers;
  std::unique_ptr<UdpHost> host;      ///< At node 0.
  std::unique_ptr<UdpMember> member;  ///< Elsewhere.
  std::string text;
  std::vector<std::vector<std::byte>> own;  ///< A ring: frames to oneself.
  std::uint64_t own_written = 0;
  std::uint64_t own_read = 0;
  std::uint64_t now_ns = 0;
  std::uint64_t looked_ns = 0;
  std::uint64_t counted_ns = 0;
  std::optional<NodeId> sender;

 private:
  [[nodiscard]] Status open_batches(os::Descriptor socket, const UdpEndpoint& at) {
    return batches.open(std::move(socket), at.host.is_ipv4(), options.frame_bytes + kUdpExtraBytes,
                        options.socket_bytes);
  }

  [[nodiscard]] Status open_host() {
    const Result<UdpEndpoint> at = resolve(options.listen);
    if (!at) return at.failure();
    if (Status good = check_encryption(options, at.value()); !good) return good;
    Result<Pair> pair = bind_pair(at.value());
    if (!pair) return pair.failure();
    const Result<UdpEndpoint> bound = own_endpoint(pair.value().datagrams.get());
    if (!bound) return bound.failure();
    text = to_text(bound.value());
    if (Status opened = open_batches(std::move(pair.value().datagrams), at.value()); !opened) return opened;
    host = std::make_unique<UdpHost>(options, tls, peers, counters);
    return host->open(std::move(pair.value().listener), os::monotonic_clock_ns());
  }

  [[nodiscard]] Status open_member(const std::string& name) {
    const Result<UdpEndpoint> zero = resolve(name);
    if (!zero) return zero.failure();
    if (Status good = check_encryption(options, zero.value()); !good) return good;
    UdpEndpoint at;
    if (!options.listen.empty()) {
      const Result<UdpEndpoint> given = resolve(options.listen);
      if (!given) return given.failure();
      at = given.value();
    } else {
      const Result<HostAddress> own_host = own_host_towards(zero.value());
      if (!own_host) return own_host.failure();
      at.host = own_host.value();
    }
    if (at.host.is_ipv4() != zero.value().host.is_ipv4()) {
      return Failure{"'" + to_text(at) + "' and '" + to_text(zero.value()) + "' are not of one IP version"};
    }
    Result<os::Descriptor> socket = bind_udp(at);
    if (!socket) return socket.failure();
    const Result<UdpEndpoint> bound = own_endpoint(socket.value().get());
    if (!bound) return bound.failure();
    text = to_text(bound.value());
    if (Status opened = open_batches(std::move(socket).value(), at); !opened) return opened;
    member = std::make_unique<UdpMember>(options, tls, peers, counters, zero.value(), bound.value());
    return Done{};
  }
};

UdpTransport::UdpTransport(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

UdpTransport::~UdpTransport() {
  parts_->batches.flush();
  if (parts_->member != nullptr) parts_->member->leave(os::monotonic_clock_ns());
}

Result<std::unique_ptr<UdpTransport>> UdpTransport::open(const UdpOptions& options, const std::string& host) {
  if (const Status good = check(options); !good) return good.failure();
  auto parts = std::make_unique<Parts>(options);
  if (const Status opened = parts->open(host); !opened) return opened.failure();
  return std::unique_ptr<UdpTransport>(new UdpTransport(std::move(parts)));
}

Result<std::unique_ptr<UdpTransport>> UdpTransport::listen(const UdpOptions& options) {
  if (options.listen.empty()) return Failure{"node 0 needs an address to listen at"};
  return open(options, "");
}

Result<std::unique_ptr<UdpTransport>> UdpTransport::start(const UdpOptions& options, const std::string& address) {
  if (address.empty()) return Failure{"the address of node 0 is missing"};
  return open(options, address);
}

Result<std::unique_ptr<UdpTransport>> UdpTransport::join(const UdpOptions& options, const std::string& address) {
  auto started = start(options, address);
  if (!started) return started;
  UdpTransport& transport = *started.value();
  const std::uint64_t end = os::monotonic_clock_ns() + options.patience_ns;
  constexpr timespec kPause{0, 200'000};
  while (!transport.is_joined() && transport.problem().empty() && os::monotonic_clock_ns() < end) {
    transport.progress();
    ::nanosleep(&kPause, nullptr);
  }
  if (transport.is_joined()) return started;
  return Failure{"'" + address + "': " + transport.why_not_joined()};
}

NodeId UdpTransport::node() const noexcept {
  return parts_->node();
}
std::size_t UdpTransport::nodes() const noexcept {
  return parts_->options.nodes;
}
std::size_t UdpTransport::frame_bytes() const noexcept {
  return parts_->options.frame_bytes;
}
bool UdpTransport::is_exact() const noexcept {
  return parts_->options.is_sealed();
}
bool UdpTransport::is_joined() const noexcept {
  return parts_->member == nullptr || parts_->member->is_joined();
}
std::string UdpTransport::problem() const {
  return parts_->member == nullptr ? std::string() : parts_->member->problem();
}
bool UdpTransport::is_member(NodeId node) const noexcept {
  return node == this->node() || parts_->peers.has(node);
}
std::string UdpTransport::why_not_joined() const {
  const std::string why = problem();
  return why.empty() && parts_->member != nullptr ? parts_->member->reason() : why;
}
const std::string& UdpTransport::address() const noexcept {
  return parts_->text;
}
const UdpCounters& UdpTransport::counters() const noexcept {
  return parts_->counters;
}
std::size_t UdpTransport::members() const noexcept {
  std::size_t members = 0;
  for (std::size_t node = 0; node < nodes(); ++node) {
    members += node != this->node() && parts_->peers.has(static_cast<NodeId>(node)) ? 1 : 0;
  }
  return members;
}
bool UdpTransport::is_token_refused() const noexcept {
  return parts_->member != nullptr && parts_->member->is_token_refused();
}
std::size_t UdpTransport::frame_bytes_of_host() const noexcept {
  return parts_->member == nullptr ? 0 : parts_->member->frame_bytes_of_host();
}
std::optional<HostAddress> UdpTransport::wrong_token_from() const noexcept {
  return parts_->host == nullptr ? std::nullopt : parts_->host->wrong_token_from();
}
std::optional<HostAddress> UdpTransport::refused_from() const noexcept {
  return parts_->host == nullptr ? std::nullopt : parts_->host->refused_from();
}
std::uint32_t UdpTransport::reported_mtu() const noexcept {
  return parts_->batches.reported_mtu();
}
bool UdpTransport::has_segmentation() const noexcept {
  return parts_->batches.has_segmentation();
}
std::optional<NodeId> UdpTransport::sender() const noexcept {
  return parts_->sender;
}
std::optional<HostAddress> UdpTransport::address_of(NodeId node) const noexcept {
  if (!parts_->peers.has(node)) return std::nullopt;
  return parts_->peers.endpoint(node).host;
}
void UdpTransport::progress() {
  parts_->look();
}

bool UdpTransport::send(NodeId to, std::span<const std::byte> frame) {
  Parts& parts = *parts_;
  if (frame.empty() || frame.size() > parts.options.frame_bytes) return false;
  if (to == node()) {
    if (parts.own_written - parts.own_read == parts.own.size()) return false;
    parts.own[parts.own_written++ % parts.own.size()].assign(frame.begin(), frame.end());
    return true;
  }
  if (!parts.peers.has(to)) {
    ++parts.counters.absent;
    return false;
  }
  if (!parts.peers.allows(to, frame.size())) {
    ++parts.counters.limited;
    return false;
  }
  const std::span<std::byte> place = parts.batches.place();
  if (place.empty()) {
    ++parts.counters.no_room;
    return false;
  }
  const std::size_t length = parts.peers.seal(to, frame, place);
  if (length == 0) {
    ++parts.counters.keyless;
    return false;
  }
  parts.batches.push(length, parts.peers.address(to));
  return true;
}

std::size_t UdpTransport::receive(std::span<std::byte> into) {
  Parts& parts = *parts_;
  if (parts.own_read != parts.own_written) {
    const std::vector<std::byte>& frame = parts.own[parts.own_read++ % parts.own.size()];
    const std::size_t length = std::min(into.size(), frame.size());
    std::copy_n(frame.begin(), length, into.begin());
    parts.sender = node();
    return length;
  }
  if (parts.batches.is_empty()) {
    parts.look();
    parts.batches.fill();
  }
  UdpBatches::Arrived arrived;
  while (parts.batches.pop(arrived)) {
    const auto opened = parts.peers.open(*arrived.source, arrived.source_bytes, arrived.datagram, parts.now_ns);
    if (!opened) continue;
    const std::size_t length = std::min(into.size(), opened->frame.size());
    std::copy_n(opened->frame.begin(), length, into.begin());
    parts.sender = opened->from;
    ++parts.counters.received;
    return length;
  }
  return 0;
}

}  // namespace stopbit::nic
