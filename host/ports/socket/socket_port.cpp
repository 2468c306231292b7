#include "host/ports/socket/socket_port.hpp"

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "host/feed/packet/socket_address.hpp"
#include "host/os/clock.hpp"
#include "host/os/error_text.hpp"
#include "host/ports/arrival_clock.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::ingest {
namespace {

/// Up to this number, each socket is polled for datagrams; with more, the kernel reports which of them have some.
constexpr std::size_t kDirectSockets = 4;
constexpr std::size_t kEventsPerLook = 64;
/// Room for the three time stamps and the drop counter of a datagram.
constexpr std::size_t kControlBytes =
    CMSG_SPACE(sizeof(scm_timestamping)) + CMSG_SPACE(sizeof(std::uint32_t)) + CMSG_SPACE(sizeof(timespec)) + 64;

std::uint64_t to_ns(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

bool is_multicast(std::uint32_t address) {
  return address >> 28 == 0xE;
}

template <class T>
bool set_option(int descriptor, int level, int option, const T& value) {
  return ::setsockopt(descriptor, level, option, &value, sizeof(value)) == 0;
}

/// Closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// A socket for one group and port.
struct GroupSocket {
  Descriptor descriptor;
  net::Endpoint group;
  bool any_source = false;
  std::uint32_t slot = 0;                    ///< Where epoll has it,
  std::uint32_t ticket = 0;                  ///< and which of the sockets that were there over time it is.
  std::vector<Membership> memberships = {};  ///< Of set-up and of the thread that changes groups.
  std::uint32_t drops = 0;                   ///< As the kernel counts them: modulo 2^32.
  bool drops_may_hide = false;               ///< Datagrams came since the last look at the kernel's count.
  bool has_more = false;                     ///< The last read did not find its end.
  std::uint64_t reported_ns = 0;       ///< The look that found something in it last, where there are many sockets.
  ArrivalClock::Source arrivals = {};  ///< Empty: before the read began that found it so.
  std::uint64_t read_to_ns = 0;        ///< If it has more: t of the last datagram read whose stamp is possible.
};

/// The sockets of a port. The polling thread exchanges all of them at once.
struct Sockets {
  std::vector<std::shared_ptr<GroupSocket>> all;
  std::vector<GroupSocket*> by_slot;  ///< Null: free.

  /// Null: a socket that is no longer among these, or not yet.
  [[nodiscard]] GroupSocket* of(std::uint64_t event) const noexcept {
    const auto slot = static_cast<std::uint32_t>(event);
    GroupSocket* const found = slot < by_slot.size() ? by_slot[slot] : nullptr;
    return found != nullptr && found->ticket == event >> 32 ? found : nullptr;
  }
  void add(std::shared_ptr<GroupSocket> socket) {
    if (socket->slot >= by_slot.size()) by_slot.resize(socket->slot + 1);
    by_slot[socket->slot] = socket.get();
    all.push_back(std::move(socket));
  }
  void remove(const GroupSocket* socket) {
    by_slot[socket->slot] = nullptr;
    std::erase_if(all, [&](const auto& other) { return other.get() == socket; });
  }
  [[nodiscard]] std::uint32_t free_slot() const noexcept {
    return static_cast<std::uint32_t>(std::find(by_slot.begin(), by_slot.end(), nullptr) - by_slot.begin());
  }
};

/// The next sockets of a port, or those before.
struct OtherSockets final : GroupChange {
  Sockets sockets;
  /// Of sockets that go on, which other sources share: left when all is done.
  std::vector<std::pair<std::shared_ptr<GroupSocket>, Membership>> leaves;
  unsigned interface_index = 0;
  bool is_taken = false;

  ~OtherSockets() override {
    if (!is_taken) return;
    for (const auto& [socket, membership] : leaves) {
      group_source_req request{};
      request.gsr_interface = interface_index;
      const sockaddr_in group = net::socket_address({membership.group.address, 0});
      const sockaddr_in source = net::socket_address({membership.source.value_or(0), 0});
      std::memcpy(&request.gsr_group, &group, sizeof(group));
      std::memcpy(&request.gsr_source, &source, sizeof(source));
      // Else its datagrams go on to come, and are counted as those of no channel.
      (void)::setsockopt(socket->descriptor.get(), IPPROTO_IP, MCAST_LEAVE_SOURCE_GROUP, &request, sizeof(request));
      std::erase(socket->memberships, membership);
    }
  }
};

class SocketPort final : public Port {
 public:
  SocketPort(const SocketPortOptions& options, unsigned interface_index)
      : options_(options),
        name_("socket" + (options.interface.empty() ? "" : " " + options.interface)),
        interface_index_(interface_index),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        payloads_(std::make_unique_for_overwrite<std::byte[]>(options.batch * options.max_payload_bytes)),
        controls_(std::make_unique_for_overwrite<Control[]>(options.batch)),
        addresses_(options.batch),
        vectors_(options.batch),
        messages_(options.batch) {
    for (std::size_t i = 0; i < options.batch; ++i) {
      vectors_[i] = {payloads_.get() + i * options.max_payload_bytes, options.max_payload_bytes};
      msghdr& header = messages_[i].msg_hdr;
      header.msg_iov = &vectors_[i];
      header.msg_iovlen = 1;
      header.msg_name = &addresses_[i];
      header.msg_control = controls_[i].bytes;
    }
    if (options.times == ArrivalTimes::Hardware && !options.interface.empty() && !options.open_socket) {
      start_card_stamps();
    }
  }

  Status join(const Membership& membership) override {
    const auto known = std::find_if(sockets_.all.begin(), sockets_.all.end(),
                                    [&](const auto& socket) { return socket->group == membership.group; });
    if (known != sockets_.all.end()) {
      Status joined = join_source(**known, membership);
      if (joined) (*known)->memberships.push_back(membership);
      return joined;
    }
    Result<std::shared_ptr<GroupSocket>> socket = open(membership);
    if (!socket) return socket.failure();
    return add(std::move(socket).value(), membership, sockets_);
  }

  Result<std::unique_ptr<GroupChange>> prepare_groups(std::span<const Membership> join,
                                                      std::span<const Membership> leave,
                                                      std::vector<std::string>& notes) override {
    auto change = std::make_unique<OtherSockets>();
    change->sockets = sockets_;
    change->interface_index = interface_index_;
    for (const Membership& membership : leave) {
      const auto found = std::find_if(sockets_.all.begin(), sockets_.all.end(), [&](const auto& socket) {
        return std::find(socket->memberships.begin(), socket->memberships.end(), membership) !=
               socket->memberships.end();
      });
      if (found == sockets_.all.end()) return failure(membership, "it is not joined");
      change->leaves.emplace_back(*found, membership);
    }
    for (const auto& socket : sockets_.all) {
      const auto left = static_cast<std::size_t>(std::count_if(change->leaves.begin(), change->leaves.end(),
                                                               [&](const auto& one) { return one.first == socket; }));
      if (left == 0 || left != socket->memberships.size()) continue;
      change->sockets.remove(socket.get());
      std::erase_if(change->leaves, [&](const auto& one) { return one.first == socket; });  // closing it leaves all
    }
    const std::size_t before = notes_.size();
    for (const Membership& membership : join) {
      // A socket of its own: the others of the group may not be touched from here.
      for (const auto& other : change->sockets.all) {
        if (other->group == membership.group && other->any_source != !membership.source.has_value()) {
          return failure(membership, "the group is joined from any source and from one");
        }
      }
      Result<std::shared_ptr<GroupSocket>> socket = open(membership);
      if (!socket) return socket.failure();
      if (Status added = add(std::move(socket).value(), membership, change->sockets); !added) return added.failure();
    }
    notes.insert(notes.end(), notes_.begin() + static_cast<std::ptrdiff_t>(before), notes_.end());
    return std::unique_ptr<GroupChange>(std::move(change));
  }

  void change_groups(GroupChange& change) noexcept override {
    auto& other = static_cast<OtherSockets&>(change);
    std::swap(sockets_, other.sockets);
    other.is_taken = true;
    // What was found of all sockets says nothing about the new ones.
    all_looked_ns_ = 0;
  }

  /// Gives away the first socket.
  [[nodiscard]] int take_socket() { return sockets_.all.front()->descriptor.release(); }

  std::size_t poll(std::span<Arrival> batch) noexcept override {
    used_ = 0;
    look_ns_ = os::monotonic_clock_ns();
    const std::size_t sockets = sockets_.all.size();
    if (sockets > kDirectSockets) return poll_ready(batch);
    std::size_t count = 0;
    for (std::size_t i = 0; i < sockets && count < batch.size(); ++i) {
      next_ = next_ + 1 < sockets ? next_ + 1 : 0;  // begins with another socket each time: none starves
      count += receive(*sockets_.all[next_], batch.subspan(count));
    }
    return count;
  }

  std::uint64_t complete_until() const noexcept override {
    std::uint64_t until = ~std::uint64_t{0};
    for (const auto& socket : sockets_.all) {
      // A read that filled the batch may have found the end, too: then a later look does not name the socket.
      const bool has_more = socket->has_more && socket->reported_ns >= all_looked_ns_;
      until = std::min(until, has_more ? std::max(socket->arrivals.empty_ns, socket->read_to_ns)
                                       : std::max(socket->arrivals.empty_ns, all_looked_ns_));
    }
    return sockets_.all.empty() ? look_ns_ : until;
  }

  std::optional<int> wakes_by() const noexcept override {
    return epoll_.get() >= 0 ? std::optional(epoll_.get()) : std::nullopt;
  }
  const PortCounters& counters() const noexcept override { return counters_; }
  std::string_view name() const noexcept override { return name_; }
  std::span<const std::string> notes() const noexcept override { return notes_; }

 private:
  struct alignas(cmsghdr) Control {
    std::byte bytes[kControlBytes];
  };

  [[nodiscard]] Failure failure(const Membership& membership, const std::string& why) const {
    return Failure{name_ + ": group " + net::to_text(membership.group) +
                   (membership.source ? " from " + net::address_text(*membership.source) : "") + ": " + why};
  }

  void note(std::string text) {
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
  }

  /// A socket of its own for the group, joined.
  Result<std::shared_ptr<GroupSocket>> open(const Membership& membership) {
    // Before it is open, nothing can lie in it.
    const std::uint64_t now = os::monotonic_clock_ns();
    if (options_.open_socket) return adopt(membership, now);
    Descriptor descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (descriptor.get() < 0) return failure(membership, "socket: " + os::error_text());
    if (auto prepared = prepare(descriptor.get(), membership); !prepared) return prepared.failure();
    auto socket = std::make_shared<GroupSocket>(GroupSocket{std::move(descriptor), membership.group});
    socket->arrivals.empty_ns = now;
    if (auto joined = join_source(*socket, membership); !joined) return joined.failure();
    return socket;
  }

  /// A socket that another process has opened and joined.
  Result<std::shared_ptr<GroupSocket>> adopt(const Membership& membership, std::uint64_t now) {
    std::vector<std::string> notes;
    const Result<int> opened = options_.open_socket(membership, notes);
    if (!opened) return Failure{opened.message()};
    for (std::string& text : notes) note(std::move(text));
    auto socket = std::make_shared<GroupSocket>(GroupSocket{
        Descriptor(opened.value()), membership.group, !membership.source && is_multicast(membership.group.address)});
    socket->arrivals.empty_ns = now;
    return socket;
  }

  /// To `sockets`. What epoll says of it is ignored until these are polled.
  Status add(std::shared_ptr<GroupSocket> socket, const Membership& membership, Sockets& sockets) {
    socket->memberships.push_back(membership);
    socket->slot = sockets.free_slot();
    socket->ticket = ++tickets_;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = std::uint64_t{socket->ticket} << 32 | socket->slot;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket->descriptor.get(), &event) != 0) {
      return failure(membership, "epoll: " + os::error_text());
    }
    sockets.add(std::move(socket));
    return Done{};
  }

  /// Everything about a socket but what it listens to.
  Status prepare(int descriptor, const Membership& membership) {
    const int yes = 1;
    const int no = 0;
    if (!set_option(descriptor, SOL_SOCKET, SO_REUSEADDR, yes)) {
      return failure(membership, "SO_REUSEADDR: " + os::error_text());
    }
    // Else the socket would get what other programs have joined on other interfaces.
    if (!set_option(descriptor, IPPROTO_IP, IP_MULTICAST_ALL, no)) {
      return failure(membership, "IP_MULTICAST_ALL: " + os::error_text());
    }
    (void)set_option(descriptor, SOL_SOCKET, SO_RXQ_OVFL, yes);
    set_receive_buffer(descriptor);
    set_busy_poll(descriptor);
    set_times(descriptor);
    const sockaddr_in address = net::socket_address(membership.group);
    if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      return failure(membership, "bind: " + os::error_text());
    }
    return Done{};
  }

  void set_receive_buffer(int descriptor) {
    const int bytes = static_cast<int>(options_.receive_buffer);
    if (!set_option(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, bytes)) {
      (void)set_option(descriptor, SOL_SOCKET, SO_RCVBUF, bytes);
    }
    int got = 0;
    socklen_t size = sizeof(got);
    // The kernel gives the double, for its own bookkeeping, and reports that.
    if (::getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &got, &size) == 0 && got / 2 < bytes) {
      note("the receive buffers have " + std::to_string(got / 2) + " bytes instead of " + std::to_string(bytes) +
           ": increase net.core.rmem_max");
    }
  }

  void set_busy_poll(int descriptor) {
    if (options_.busy_poll_us == 0) return;
    const int time = static_cast<int>(options_.busy_poll_us);
    if (!set_option(descriptor, SOL_SOCKET, SO_BUSY_POLL, time)) note("no busy polling: " + os::error_text());
  }

  void set_times(int descriptor) {
    if (options_.times == ArrivalTimes::Poll) return;
    int flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
    if (card_stamps_) flags |= SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
    if (set_option(descriptor, SOL_SOCKET, SO_TIMESTAMPING, flags)) return;
    const int yes = 1;
    if (!set_option(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, yes)) {
      note("no arrival times from the kernel: " + os::error_text());
    }
  }

  /// Tells the card to stamp all frames.
  void start_card_stamps() {
    hwtstamp_config config{};
    config.rx_filter = HWTSTAMP_FILTER_ALL;
    ifreq request{};
    options_.interface.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&config);
    const Descriptor descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    card_stamps_ = ::ioctl(descriptor.get(), SIOCSHWTSTAMP, &request) == 0;
    if (!card_stamps_) note("no arrival times from the card; the kernel's are used: " + os::error_text());
  }

  Status join_source(GroupSocket& socket, const Membership& membership) {
    if (!is_multicast(membership.group.address)) {
      if (membership.source) return failure(membership, "'source' is allowed for multicast groups only");
      return Done{};
    }
    const sockaddr_in group = net::socket_address({membership.group.address, 0});
    int status = 0;
    if (membership.source) {
      if (socket.any_source) return failure(membership, "the group is already joined from any source");
      group_source_req request{};
      request.gsr_interface = interface_index_;
      const sockaddr_in source = net::socket_address({*membership.source, 0});
      std::memcpy(&request.gsr_group, &group, sizeof(group));
      std::memcpy(&request.gsr_source, &source, sizeof(source));
      status = ::setsockopt(socket.descriptor.get(), IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP, &request, sizeof(request));
    } else {
      group_req request{};
      request.gr_interface = interface_index_;
      std::memcpy(&request.gr_group, &group, sizeof(group));
      status = ::setsockopt(socket.descriptor.get(), IPPROTO_IP, MCAST_JOIN_GROUP, &request, sizeof(request));
      socket.any_source = status == 0;
    }
    if (status != 0) return failure(membership, "join: " + os::error_text());
    return Done{};
  }

  std::size_t poll_ready(std::span<Arrival> batch) noexcept {
    std::array<epoll_event, kEventsPerLook> events;
    const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    if (ready < 0 && errno != EINTR) counters_.failures.add(1);
    const std::span found = std::span(events).first(ready > 0 ? static_cast<std::size_t>(ready) : 0);
    for (const epoll_event& event : found) {
      GroupSocket* const socket = sockets_.of(event.data.u64);
      if (socket == nullptr) continue;
      if (!socket->has_more) socket->arrivals.empty_ns = std::max(socket->arrivals.empty_ns, all_looked_ns_);
      socket->has_more = true;  // until it was read to its end
      socket->reported_ns = look_ns_;
    }
    // Only a list that is not full names every socket that has something.
    if (ready >= 0 && found.size() < events.size()) all_looked_ns_ = look_ns_;
    std::size_t count = 0;
    for (const epoll_event& event : found) {
      if (count == batch.size()) break;
      if (GroupSocket* const socket = sockets_.of(event.data.u64)) count += receive(*socket, batch.subspan(count));
    }
    return count;
  }

  /// Fills the batch from its start. @returns how many came.
  std::size_t receive(GroupSocket& socket, std::span<Arrival> batch) noexcept {
    const std::span<mmsghdr> free =
        std::span(messages_).subspan(used_).first(std::min(batch.size(), messages_.size() - used_));
    if (free.empty()) return 0;
    for (mmsghdr& message : free) {  // the kernel shortens them to what it has written
      message.msg_hdr.msg_namelen = sizeof(sockaddr_in);
      message.msg_hdr.msg_controllen = kControlBytes;
    }
    const int received =
        ::recvmmsg(socket.descriptor.get(), free.data(), static_cast<unsigned>(free.size()), MSG_DONTWAIT, nullptr);
    if (received <= 0) {
      if (received < 0 && errno != EAGAIN && errno != EINTR) counters_.failures.add(1);
      socket.has_more = received < 0 && errno == EINTR;
      if (!socket.has_more) socket.arrivals.empty_ns = look_ns_;
      if (std::exchange(socket.drops_may_hide, false)) look_for_drops(socket);
      return 0;
    }
    socket.drops_may_hide = true;
    used_ += static_cast<std::size_t>(received);
    const std::uint64_t before = os::monotonic_clock_ns();
    const std::uint64_t wall = os::wall_clock_ns();
    clock_.read(before, wall, os::monotonic_clock_ns());
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    for (mmsghdr& message : free.first(static_cast<std::size_t>(received))) {
      bytes += message.msg_len;
      Arrival arrival;
      arrival.destination = socket.group;
      arrival.arrival_ns = clock_.wall_ns();
      read_control(socket, message.msg_hdr, arrival);
      const bool is_stamped = arrival.time_quality != record::TimeQuality::Poll;
      arrival.t_ns = clock_.monotonic_ns();
      if (is_stamped) {
        const ArrivalClock::Mapped mapped = clock_.map(arrival.arrival_ns, socket.arrivals, counters_.clamped);
        arrival.t_ns = mapped.t_ns;
        // Datagrams after one with an uncertain time may have come before it.
        if (!mapped.is_clamped) socket.read_to_ns = mapped.t_ns;
      }
      if ((message.msg_hdr.msg_flags & MSG_TRUNC) != 0) continue;
      const auto& source = *static_cast<const sockaddr_in*>(message.msg_hdr.msg_name);
      arrival.source = {ntohl(source.sin_addr.s_addr), ntohs(source.sin_port)};
      arrival.payload = {static_cast<const std::byte*>(message.msg_hdr.msg_iov->iov_base), message.msg_len};
      batch[count++] = arrival;
    }
    socket.has_more = static_cast<std::size_t>(received) == free.size();
    if (!socket.has_more) socket.arrivals.empty_ns = look_ns_;
    const auto frames = static_cast<std::uint64_t>(received);
    counters_.frames.add(frames);
    counters_.bytes.add(bytes);
    counters_.verdicts[static_cast<std::size_t>(net::Verdict::Accepted)].add(count);
    counters_.verdicts[static_cast<std::size_t>(net::Verdict::SnapCut)].add(frames - count);
    return count;
  }

  void read_control(GroupSocket& socket, msghdr& header, Arrival& arrival) noexcept {
    for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
      if (item->cmsg_level != SOL_SOCKET) continue;
      if (item->cmsg_type == SO_RXQ_OVFL) {
        std::uint32_t drops = 0;
        std::memcpy(&drops, CMSG_DATA(item), sizeof(drops));
        take_drops(socket, drops);
      } else if (item->cmsg_type == SCM_TIMESTAMPING) {
        scm_timestamping times{};
        std::memcpy(&times, CMSG_DATA(item), sizeof(times));
        if (const std::uint64_t card = to_ns(times.ts[2]); card != 0) {
          arrival.arrival_ns = card;
          arrival.time_quality = record::TimeQuality::Hardware;
        } else {
          take_kernel_time(times.ts[0], arrival);
        }
      } else if (item->cmsg_type == SCM_TIMESTAMPNS) {
        timespec time{};
        std::memcpy(&time, CMSG_DATA(item), sizeof(time));
        take_kernel_time(time, arrival);
      }
    }
  }

  static void take_kernel_time(const timespec& time, Arrival& arrival) noexcept {
    if (to_ns(time) == 0) return;
    arrival.arrival_ns = to_ns(time);
    arrival.time_quality = record::TimeQuality::Kernel;
  }

  void take_drops(GroupSocket& socket, std::uint32_t drops) noexcept {
    counters_.dropped_by_kernel.add(drops - socket.drops);
    socket.drops = drops;
  }

  /// A datagram reports the drops before it; those after the last one of a burst have to be polled.
  void look_for_drops(GroupSocket& socket) noexcept {
    std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
    socklen_t size = sizeof(info);
    if (::getsockopt(socket.descriptor.get(), SOL_SOCKET, SO_MEMINFO, info.data(), &size) != 0) return;
    if (size > SK_MEMINFO_DROPS * sizeof(info[0])) take_drops(socket, info[SK_MEMINFO_DROPS]);
  }

  SocketPortOptions options_;
  std::string name_;
  unsigned interface_index_;
  Descriptor epoll_;
  std::unique_ptr<std::byte[]> payloads_;
  std::unique_ptr<Control[]> controls_;
  std::vector<sockaddr_in> addresses_;
  std::vector<iovec> vectors_;
  std::vector<mmsghdr> messages_;
  Sockets sockets_;
  std::uint32_t tickets_ = 0;
  std::size_t next_ = 0;
  std::size_t used_ = 0;  ///< Messages that this poll has filled.
  bool card_stamps_ = false;
  ArrivalClock clock_;
  std::uint64_t look_ns_ = 0;        ///< Monotonic: when the last poll began.
  std::uint64_t all_looked_ns_ = 0;  ///< The same of the last poll that learned of every socket with something in it.
  PortCounters counters_;
  std::vector<std::string> notes_;
};

}  // namespace

namespace {

Result<std::unique_ptr<SocketPort>> make_port(const SocketPortOptions& options) {
  const auto check = [](std::string_view what, std::size_t value, std::size_t least, std::size_t most) -> std::string {
    if (value >= least && value <= most) return {};
    return "socket: " + std::string(what) + " is " + std::to_string(value) + ", must be from " + std::to_string(least) +
           " to " + std::to_string(most);
  };
  for (const std::string& problem :
       {check("batch", options.batch, 1, 1024), check("max_payload_bytes", options.max_payload_bytes, 64, 65'507),
        check("receive_buffer", options.receive_buffer, 4096, 1U << 30),
        check("busy_poll_us", options.busy_poll_us, 0, 1'000'000)}) {
    if (!problem.empty()) return Failure{problem};
  }
  unsigned index = 0;
  if (!options.interface.empty()) {
    index = ::if_nametoindex(options.interface.c_str());
    if (index == 0) return Failure{"socket: no interface '" + options.interface + "'"};
  }
  return std::make_unique<SocketPort>(options, index);
}

}  // namespace

Result<std::unique_ptr<Port>> open_socket_port(const SocketPortOptions& options) {
  Result<std::unique_ptr<SocketPort>> port = make_port(options);
  if (!port) return Failure{port.message()};
  return std::unique_ptr<Port>(std::move(port).value());
}

Result<int> open_group_socket(const SocketPortOptions& options, const Membership& membership,
                              std::vector<std::string>& notes) {
  SocketPortOptions own = options;
  own.batch = 1;  // it does not receive
  own.open_socket = {};
  const Result<std::unique_ptr<SocketPort>> port = make_port(own);
  if (!port) return Failure{port.message()};
  if (const auto joined = port.value()->join(membership); !joined) return Failure{joined.message()};
  const std::span<const std::string> said = port.value()->notes();
  notes.insert(notes.end(), said.begin(), said.end());
  return port.value()->take_socket();
}

}  // namespace stopbit::ingest
