#include "host/nic/node/broker.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "host/nic/node/fd_passing.hpp"
#include "host/nic/rma/memory.hpp"
#include "host/os/unix_socket.hpp"

namespace stopbit::nic {
namespace {

constexpr std::size_t kRequestsPerTurn = 8;
constexpr std::uint64_t kLoggedRefusals = 32;
constexpr std::size_t kUnopened = 4;  // connections of a user that have no port
constexpr mode_t kSocketMode = 0666;  // entitlements say who may do what
constexpr std::size_t kMaxGroups = 65'536;
constexpr std::size_t kUnpinned = 64;  // memories, each of which has a thread
constexpr std::size_t kUnpinnedOfClient = 8;
constexpr std::size_t kPassedAtOnce = 4;  // descriptors that are taken out of a packet, to close them
constexpr std::size_t kRegions = 256;     // of a client: each is a mapping, and Linux allows a process 65,530
constexpr std::size_t kBroughtInPerTurn = 4U << 20U;  // bytes of shared memory; more of it comes when it is used

/// Whether reading a file there waits for nothing but a disk.
bool is_local(const struct statfs& system) noexcept {
  constexpr std::array<decltype(system.f_type), 4> kLocal = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                                             TMPFS_MAGIC};
  return std::find(kLocal.begin(), kLocal.end(), system.f_type) != kLocal.end();
}

std::string name_of(const BrokerRequest& request) {
  return std::string(request.name, ::strnlen(request.name, sizeof(request.name)));
}

const char* to_text(BrokerCall call) noexcept {
  switch (call) {
    case BrokerCall::Open: return "open";
    case BrokerCall::Share: return "share";
    case BrokerCall::Unshare: return "unshare";
    case BrokerCall::OpenWindow: return "open-window";
    case BrokerCall::CloseWindow: return "close-window";
    case BrokerCall::Attach: return "attach";
    case BrokerCall::Detach: return "detach";
    case BrokerCall::Segments: return "segments";
    case BrokerCall::Subscribe: return "subscribe";
    case BrokerCall::ShareFile: return "share-file";
  }
  return "?";
}

bool is_access(Access access) noexcept {
  return access >= Access::Read && access <= Access::ReadWrite;
}

bool is_request(const BrokerRequest& request) noexcept {
  return request.magic == kBrokerMagic && request.version == kBrokerVersion && request.call >= BrokerCall::Open &&
         request.call <= BrokerCall::ShareFile && is_access(request.access) &&
         (request.limit == 0 || request.call >= BrokerCall::Segments);
}

BrokerReply refusal(Error error, std::string_view why) {
  BrokerReply reply;
  reply.error = error;
  std::copy_n(why.begin(), std::min(why.size(), sizeof(reply.text) - 1), reply.text);
  return reply;
}

/// Takes all descriptors that came with a packet; closes those that were not requested.
std::vector<os::Descriptor> passed_with(msghdr& message) {
  std::vector<os::Descriptor> passed;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      passed.emplace_back(fd);
    }
  }
  return passed;
}

/// The groups of the process at the other end: its own and those it is in besides.
std::vector<gid_t> groups_of(int socket, gid_t group) {
  std::vector<gid_t> groups(64);
  for (;;) {
    auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0) {
      groups.resize(size / sizeof(gid_t));
      break;
    }
    const std::size_t wanted = size / sizeof(gid_t);
    if (errno != ERANGE || wanted <= groups.size() || wanted > kMaxGroups) {
      groups.clear();
      break;
    }
    groups.resize(wanted);
  }
  groups.push_back(group);
  return groups;
}

bool send_reply(int socket, const BrokerReply& reply, int to_pass) noexcept {
  return send_packet(socket, &reply, sizeof(reply), to_pass) == static_cast<ssize_t>(sizeof(reply));
}

/// Whether a process listens at the socket.
}  // namespace

Broker::Broker(Node& node, const BrokerOptions& options) : node_(node), options_(options) {}

Broker::~Broker() {
  for (const std::unique_ptr<Client>& client : clients_) bury(*client);
  for (const auto& [name, segment] : feeds_) revoke(*segment);
  for (const std::shared_ptr<FeedFile>& segment : replaced_) revoke(*segment);
  for (const auto& [domain, port] : feed_ports_) node_.close_port(port.vpid);
  if (socket_.ok()) ::unlink(options_.socket.c_str());
}

Result<std::unique_ptr<Broker>> Broker::open(Node& node, const BrokerOptions& options) {
  std::unique_ptr<Broker> broker(new Broker(node, options));
  if (const Status listens = broker->listen(); !listens) return listens.failure();
  return broker;
}

Status Broker::listen() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options_.socket.empty() || options_.socket.size() >= sizeof(address.sun_path)) {
    return Failure{"the path of the broker's socket has 1 to " + std::to_string(sizeof(address.sun_path) - 1) +
                   " bytes"};
  }
  std::memcpy(address.sun_path, options_.socket.c_str(), options_.socket.size() + 1);
  os::Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.ok()) return Failure{os::system_error("create the socket", options_.socket)};
  struct stat status {};
  if (::lstat(options_.socket.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode))
      return Failure{"'" + options_.socket + "' exists and is not a socket; it was not replaced"};
    if (os::is_answered(address, SOCK_SEQPACKET)) return Failure{"another broker listens at '" + options_.socket + "'"};
    ::unlink(options_.socket.c_str());
  }
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Failure{os::system_error("bind", options_.socket)};
  }
  if (::chmod(options_.socket.c_str(), kSocketMode) != 0)
    return Failure{os::system_error("open to clients", options_.socket)};
  if (::listen(socket.get(), 16) != 0) return Failure{os::system_error("listen at", options_.socket)};
  socket_ = std::move(socket);
  return Done{};
}

void Broker::log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

void Broker::log_refusal(const std::string& line) const {
  if (options_.log_refusal) options_.log_refusal(line);
}

Status Broker::add_feed(const std::string& name, const std::string& path) {
  if (name.empty() || name.size() > kFeedNameBytes) return Failure{"the name of a feed has 1 to 64 bytes"};
  if (feeds_.contains(name)) return Failure{"the feed '" + name + "' already exists"};
  Result<std::shared_ptr<FeedFile>> segment = open_segment(path);
  if (!segment) return Failure{segment.message()};
  feeds_.emplace(name, std::move(segment).value());
  return Done{};
}

Status Broker::replace_feed(const std::string& name, const std::string& path) {
  const auto feed = feeds_.find(name);
  if (feed == feeds_.end()) return Failure{"unknown feed '" + name + "'"};
  Result<std::shared_ptr<FeedFile>> segment = open_segment(path);
  if (!segment) return Failure{segment.message()};
  replaced_.push_back(std::exchange(feed->second, std::move(segment).value()));
  return Done{};
}

void Broker::remove_feed(const std::string& name) {
  const auto feed = feeds_.find(name);
  if (feed == feeds_.end()) return;
  replaced_.push_back(std::move(feed->second));
  feeds_.erase(feed);
}

Result<std::shared_ptr<Broker::FeedFile>> Broker::open_segment(const std::string& path) const {
  auto segment = std::make_shared<FeedFile>();
  segment->file = os::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat status {};
  if (!segment->file.ok() || ::fstat(segment->file.get(), &status) != 0) {
    return Failure{os::system_error("open", path)};
  }
  if (!S_ISREG(status.st_mode) || status.st_size == 0) return Failure{"'" + path + "' is not a segment"};
  // A user who can write to it can make it shorter, and so kill the node that reads it.
  if ((status.st_uid != ::geteuid() && status.st_uid != 0) || (status.st_mode & S_IWOTH) != 0) {
    return Failure{"'" + path + "' must belong to this user or root, and not be writable by all"};
  }
  if (!segment->mapping.map(segment->file, static_cast<std::size_t>(status.st_size), os::Mapping::Use::Read)) {
    return Failure{os::system_error("map", path)};
  }
  return segment;
}

const Entitlement* Broker::entitlement_of(const Client& client) const {
  const auto fits = [&](const Entitlement& entitlement) {
    const bool is_member = !entitlement.group || std::find(client.groups.begin(), client.groups.end(),
                                                           *entitlement.group) != client.groups.end();
    return (!entitlement.user || *entitlement.user == client.user) && is_member;
  };
  const auto found = std::find_if(options_.entitlements.begin(), options_.entitlements.end(), fits);
  return found != options_.entitlements.end() ? &*found : nullptr;
}

void Broker::entitle(std::vector<Entitlement> entitlements) {
  std::vector<Pdid> domains;  // of the clients, as they are
  for (const std::unique_ptr<Client>& client : clients_) domains.push_back(client->may->domain);
  options_.entitlements = std::move(entitlements);
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    Client& client = *clients_[i];
    client.may = entitlement_of(client);
    if (client.may == nullptr || client.may->domain != domains[i]) {
      log("process " + std::to_string(client.pid) + " of user " + std::to_string(client.user) +
          " is closed: its user is no longer entitled");
      bury(client);
      client.may = nullptr;
      continue;
    }
    std::erase_if(client.attached, [&](const Attachment& attached) {
      if (std::find(client.may->feeds.begin(), client.may->feeds.end(), attached.feed) != client.may->feeds.end()) {
        return false;
      }
      leave(client, attached);
      return true;
    });
    std::erase_if(client.subscribed, [&](const std::string& feed) {
      if (std::find(client.may->feeds.begin(), client.may->feeds.end(), feed) != client.may->feeds.end()) return false;
      options_.publisher->dismiss(*client.vpid, feed);
      return true;
    });
  }
  std::erase_if(clients_, [](const std::unique_ptr<Client>& client) { return client->may == nullptr; });
}

Broker::Uses Broker::uses() const {
  Uses uses = uses_;
  for (const std::unique_ptr<Client>& client : clients_) {
    for (const Attachment& attached : client->attached) {
      const WindowUse use = node_.rma().use(attached.owner, attached.window);
      FeedUse& sum = uses[{attached.feed, client->user}];
      ++sum.now;
      sum.gets += use.gets;
      sum.bytes += use.bytes;
    }
  }
  return uses;
}

std::size_t Broker::step() {
  to_bring_in_ = kBroughtInPerTurn;
  std::vector<pollfd> polled;
  polled.reserve(clients_.size() + 1);
  polled.push_back({socket_.get(), POLLIN, 0});
  for (const std::unique_ptr<Client>& client : clients_) polled.push_back({client->socket.get(), POLLIN, 0});
  std::size_t work = 0;
  if (::poll(polled.data(), polled.size(), 0) > 0) {
    for (std::size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents != 0) work += hear(*clients_[i - 1]);
    }
    if (polled.front().revents != 0) {
      for (std::size_t i = 0; i < kRequestsPerTurn && accept(); ++i) ++work;
    }
  }
  for (const std::unique_ptr<Client>& client : clients_) {
    if (client->is_gone) bury(*client);
  }
  work += std::erase_if(clients_, [](const std::unique_ptr<Client>& client) { return client->is_gone; });
  work += std::erase_if(flushing_, [&](const std::unique_ptr<Region>& region) { return is_over(*region); });
  return work + forget_segments();
}

/// Whether nothing uses the memory any more, and there is nothing left to write back.
bool Broker::is_over(Region& region) {
  if (region.paged != nullptr) {  // is flushed as a whole
    if (!node_.atu().is_flushed(region.address) || !region.paged->finish()) return false;
    --paging_.memories;
    paging_.file_bytes -= region.file_bytes;
    paging_.resident_bytes -= region.resident_bytes;
    count(*region.paged, paging_);
    return true;
  }
  for (std::size_t i = 0; i < region.pages; ++i) {
    if (!node_.atu().is_flushed(region.address + i * kPageBytes)) return false;
  }
  counters_.shared_bytes -= region.pages * kPageBytes;
  return true;
}

void Broker::count(const PagedMemory& memory, PagingUse& use) const {
  const PagedCounters counters = memory.counters();
  use.fetched += counters.fetched;
  use.evicted += counters.evicted;
  use.written += counters.written;
  use.failures += counters.read_failures + counters.write_failures;
}

PagingUse Broker::paging() const {
  PagingUse use = paging_;
  const auto add = [&](const std::unique_ptr<Region>& region) {
    if (region->paged != nullptr) count(*region->paged, use);
  };
  for (const std::unique_ptr<Client>& client : clients_)
    std::for_each(client->regions.begin(), client->regions.end(), add);
  std::for_each(flushing_.begin(), flushing_.end(), add);
  return use;
}

std::size_t Broker::forget_segments() {
  return std::erase_if(replaced_, [&](const std::shared_ptr<FeedFile>& segment) {
    if (segment.use_count() > 1) return false;
    revoke(*segment);
    return std::all_of(segment->addresses.begin(), segment->addresses.end(), [&](const auto& place) {
      for (std::size_t i = 0; i < segment->pages(); ++i) {
        if (!node_.atu().is_flushed(place.second + i * kPageBytes)) return false;
      }
      return true;
    });
  });
}

void Broker::revoke(FeedFile& segment) {
  if (std::exchange(segment.is_revoked, true)) return;
  for (const auto& [owner, address] : segment.addresses) (void)node_.rma().revoke(owner, address, segment.pages());
}

bool Broker::accept() {
  os::Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.ok()) return false;
  auto client = std::make_unique<Client>();
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    ++counters_.turned_away;
    return true;
  }
  client->pid = peer.pid;
  client->user = peer.uid;
  client->groups = groups_of(socket.get(), peer.gid);
  client->may = entitlement_of(*client);
  const auto turn_away = [&](Error error, const std::string& why) {
    ++counters_.turned_away;
    log_refusal("process " + std::to_string(client->pid) + " of user " + std::to_string(client->user) +
                " turned away: " + why);
    (void)send_reply(socket.get(), refusal(error, why), -1);
    return true;
  };
  if (client->may == nullptr) return turn_away(Error::Domain, "the user has no entitlement");
  if (clients_.size() >= options_.clients) return turn_away(Error::Full, "the broker has its maximum of clients");
  // Clients that connect without opening a port use up only their own user's share.
  const auto of_user = static_cast<std::size_t>(
      std::count_if(clients_.begin(), clients_.end(), [&](const auto& other) { return other->user == client->user; }));
  if (of_user >= client->may->ports + kUnopened) {
    return turn_away(Error::Full, "the user has its maximum of connections");
  }
  client->socket = std::move(socket);
  clients_.push_back(std::move(client));
  return true;
}

std::size_t Broker::hear(Client& client) {
  std::size_t heard = 0;
  for (; heard < kRequestsPerTurn && !client.is_gone; ++heard) {
    // One byte more than a request has: a longer one shows.
    std::array<std::byte, sizeof(BrokerRequest) + 1> bytes;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kPassedAtOnce)> control;
    iovec vector{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(client.socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) {
      client.is_gone = true;
      break;
    }
    std::vector<os::Descriptor> passed = passed_with(message);
    BrokerRequest request;
    std::memcpy(&request, bytes.data(), sizeof(request));
    const bool wants_descriptor = request.call == BrokerCall::Share || request.call == BrokerCall::ShareFile;
    if (got != static_cast<ssize_t>(sizeof(request)) || !is_request(request) || (message.msg_flags & MSG_CTRUNC) != 0 ||
        passed.size() != (wants_descriptor ? 1U : 0U)) {
      ++counters_.malformed;
      log_refusal("process " + std::to_string(client.pid) + ": " + std::to_string(got) +
                  " bytes, not a request of version " + std::to_string(kBrokerVersion));
      (void)send_reply(client.socket.get(), refusal(Error::Command, "not a request of version 1"), -1);
      client.is_gone = true;
      break;
    }
    answer(client, request, wants_descriptor ? std::move(passed.front()) : os::Descriptor());
  }
  return heard;
}

void Broker::answer(Client& client, const BrokerRequest& request, os::Descriptor passed) {
  os::Descriptor to_pass;
  BrokerReply reply;
  if (request.call == BrokerCall::Open) {
    reply = open_port(client, request, to_pass);
  } else if (!client.vpid) {
    reply = refusal(Error::OriginVpid, "no port is open");
  } else {
    switch (request.call) {
      case BrokerCall::Share: reply = share(client, request, std::move(passed)); break;
      case BrokerCall::ShareFile: reply = share_file(client, request, std::move(passed)); break;
      case BrokerCall::Unshare: reply = unshare(client, request); break;
      case BrokerCall::OpenWindow: reply = open_window(client, request); break;
      case BrokerCall::CloseWindow: reply = close_window(client, request); break;
      case BrokerCall::Attach: reply = attach(client, request, to_pass); break;
      case BrokerCall::Subscribe: reply = subscribe(client, request); break;
      case BrokerCall::Segments: reply = use_segments(client, request); break;
      default: reply = detach(client, request); break;
    }
  }
  reply.call = request.call;
  reply.id = request.id;
  if (reply.error != Error::None) {
    ++counters_.refused[static_cast<std::size_t>(reply.error)];
    if (++client.refusals <= kLoggedRefusals) {
      log_refusal("process " + std::to_string(client.pid) + " of user " + std::to_string(client.user) + ": " +
                  to_text(request.call) + " refused, " + to_name(reply.error) + ": " + reply.text);
    }
  }
  // A client that does not take its replies is none.
  if (!send_reply(client.socket.get(), reply, to_pass.get())) client.is_gone = true;
}

BrokerReply Broker::open_port(Client& client, const BrokerRequest& request, os::Descriptor& to_pass) {
  if (client.vpid) return refusal(Error::Command, "the port is already open");
  const auto of_user = static_cast<std::size_t>(std::count_if(
      clients_.begin(), clients_.end(), [&](const auto& other) { return other->vpid && other->user == client.user; }));
  if (of_user >= client.may->ports) return refusal(Error::Full, "the user has its maximum of ports");
  if (!client.pages.create("stopbit-port", PageLayout::kBytes))
    return refusal(Error::Full, "not enough memory for a port");
  MessagePort how;
  how.slot_bytes = request.slot_bytes;
  const std::optional<Vpid> vpid = node_.open_port(client.pages.page(), client.may->domain, how);
  if (!vpid) {
    client.pages = SharedMemory();
    return refusal(Error::Full, "all ports of the node are in use");
  }
  client.vpid = vpid;
  ++counters_.opened;
  log("port " + std::to_string(*vpid) + " opened for process " + std::to_string(client.pid) + " of user " +
      std::to_string(client.user) + ", domain " + std::to_string(client.may->domain));
  BrokerReply reply;
  reply.node = node_.id();
  reply.vpid = *vpid;
  reply.bytes = PageLayout::kBytes;
  to_pass = client.pages.take_descriptor();
  return reply;
}

std::optional<Nla> Broker::register_memory(Vpid owner, const std::byte* data, std::size_t bytes, Access access) {
  std::vector<PageNumber> pages(bytes / kPageBytes);
  for (std::size_t i = 0; i < pages.size(); ++i) pages[i] = to_page_number(data + i * kPageBytes);
  return node_.atu().register_pages(owner, pages, access);
}

BrokerReply Broker::share(Client& client, const BrokerRequest& request, os::Descriptor passed) {
  if (request.bytes == 0 || request.bytes % kPageBytes != 0) {
    return refusal(Error::OriginLength, "shared memory must consist of pages of 4096 bytes");
  }
  const std::uint64_t most = client.may->memory_bytes;  // it may be less than what there is, of another entitlement
  if (client.shared_bytes > most || request.bytes > most - client.shared_bytes) {
    return refusal(Error::Full, "exceeds the port's limit of shared memory");
  }
  if (client.regions.size() >= kRegions) return refusal(Error::Full, "exceeds a port's limit of shared regions");
  const auto bytes = static_cast<std::size_t>(request.bytes);
  const bool is_written = allows(request.access, Access::Write);
  auto region = std::make_unique<Region>();
  if (!region->memory.map(std::move(passed), bytes, is_written ? SharedMemory::Use::Write : SharedMemory::Use::Read)) {
    return refusal(Error::PostedInvalid, "must be anonymous memory sealed against shrinking");
  }
  // The client decides how much there is to bring in, so it is done in parts: other clients do not wait for all of it.
  const std::size_t now = std::min(bytes, to_bring_in_);
  to_bring_in_ -= now;
  if (now != 0) {
    (void)::madvise(region->memory.span().data(), now, is_written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
  }
  const std::optional<Nla> address = register_memory(*client.vpid, region->memory.span().data(), bytes, request.access);
  if (!address) return refusal(Error::Full, "the node's table of pages is full");
  region->address = *address;
  region->pages = bytes / kPageBytes;
  client.shared_bytes += bytes;
  counters_.shared_bytes += bytes;
  client.regions.push_back(std::move(region));
  BrokerReply reply;
  reply.address = *address;
  reply.bytes = request.bytes;
  return reply;
}

/// The file's pages are read and written by a thread of this process, so what may stop that thread is not taken: file
/// systems that wait for a process or for the network.
BrokerReply Broker::share_file(Client& client, const BrokerRequest& request, os::Descriptor passed) {
  const std::uint64_t resident = std::uint64_t{request.limit} * kPageBytes;
  if (request.bytes == 0) return refusal(Error::OriginLength, "a file must be shared from its first byte");
  const auto more = [](std::uint64_t wanted, std::uint64_t has, std::uint64_t most) {
    return has > most || wanted > most - has;
  };
  if (more(request.bytes, client.unpinned_bytes, client.may->unpinned_bytes)) {
    return refusal(Error::Full, "exceeds the port's limit of shared files");
  }
  if (more(resident, client.resident_bytes, client.may->resident_bytes)) {
    return refusal(Error::Full, "exceeds the port's limit of resident bytes");
  }
  if (more(resident, paging_.resident_bytes, options_.resident_bytes)) {
    return refusal(Error::Full, "exceeds the broker's limit of resident bytes");
  }
  if (client.unpinned == kUnpinnedOfClient || paging_.memories == kUnpinned) {
    return refusal(Error::Full, "the broker has its maximum of unpinned memories");
  }
  const bool is_written = allows(request.access, Access::Write);
  struct statfs system {};
  const int flags = ::fcntl(passed.get(), F_GETFL);
  if (flags < 0 || ::fstatfs(passed.get(), &system) != 0 || !is_local(system)) {
    return refusal(Error::PostedInvalid, "must be a file on ext4, xfs, btrfs or tmpfs");
  }
  // Pages would all go to its end.
  if (is_written && (flags & O_APPEND) != 0)
    return refusal(Error::PostedInvalid,
                   "the file must not be open for "
                   "appending");
  PagedOptions how;
  how.frames = request.limit;
  how.access = is_written ? Access::ReadWrite : Access::Read;
  Result<std::unique_ptr<PagedMemory>> memory = PagedMemory::open(std::move(passed), request.bytes, how);
  if (!memory) return refusal(Error::PostedInvalid, memory.message());
  const std::optional<Nla> address = node_.atu().register_paged(*client.vpid, *memory.value(), request.access);
  if (!address) return refusal(Error::Full, "the node's tables of pages are full");
  auto region = std::make_unique<Region>();
  region->pages = static_cast<std::size_t>(memory.value()->pages());
  region->paged = std::move(memory).value();
  region->address = *address;
  region->file_bytes = request.bytes;
  region->resident_bytes = resident;
  ++client.unpinned;
  client.unpinned_bytes += request.bytes;
  client.resident_bytes += resident;
  ++paging_.memories;
  paging_.file_bytes += request.bytes;
  paging_.resident_bytes += resident;
  client.regions.push_back(std::move(region));
  log("port " + std::to_string(*client.vpid) + " of user " + std::to_string(client.user) + " shares a file of " +
      std::to_string(request.bytes) + " bytes, " + std::to_string(resident) + " of them resident at most");
  BrokerReply reply;
  reply.address = *address;
  reply.bytes = request.bytes;
  return reply;
}

BrokerReply Broker::unshare(Client& client, const BrokerRequest& request) {
  const auto found = std::find_if(client.regions.begin(), client.regions.end(),
                                  [&](const auto& region) { return region->address == request.address; });
  if (found == client.regions.end()) return refusal(Error::OriginWindow, "no memory was shared at this address");
  (void)node_.rma().revoke(*client.vpid, (*found)->address, (*found)->pages);
  if ((*found)->paged == nullptr) {
    client.shared_bytes -= (*found)->pages * kPageBytes;
  } else {
    --client.unpinned;
    client.unpinned_bytes -= (*found)->file_bytes;
    client.resident_bytes -= (*found)->resident_bytes;
  }
  flushing_.push_back(std::move(*found));
  client.regions.erase(found);
  return {};
}

bool Broker::has_all_windows(const Client& client) const {
  return node_.rma().windows(*client.vpid) + client.attached.size() >= client.may->windows;
}

BrokerReply Broker::open_window(Client& client, const BrokerRequest& request) {
  if (has_all_windows(client)) return refusal(Error::Full, "the port has its maximum of windows");
  const std::optional<WindowName> window =
      node_.rma().open_window(*client.vpid, request.address, request.bytes, request.access);
  if (!window) return refusal(Error::OriginWindow, "not memory of the port with this access, or no window is free");
  BrokerReply reply;
  reply.window = window->id;
  reply.capability = window->capability;
  reply.address = request.address;
  reply.bytes = request.bytes;
  return reply;
}

BrokerReply Broker::close_window(Client& client, const BrokerRequest& request) {
  if (node_.rma().close_window(*client.vpid, request.window)) return {};
  return refusal(Error::OriginWindowId, "not a window of the port");
}

const Broker::FeedPort* Broker::feed_port(Pdid domain) {
  const auto found = feed_ports_.find(domain);
  if (found != feed_ports_.end()) return &found->second;
  FeedPort port;
  if (!port.pages.create("stopbit-feeds", PageLayout::kBytes)) return nullptr;
  const std::optional<Vpid> vpid = node_.open_port(port.pages.page(), domain, {});
  if (!vpid) return nullptr;
  port.vpid = *vpid;
  return &feed_ports_.emplace(domain, std::move(port)).first->second;
}

BrokerReply Broker::attach(Client& client, const BrokerRequest& request, os::Descriptor& to_pass) {
  const std::string name = name_of(request);
  if (!may_have(client, name)) return refusal(Error::TargetWindowId, "no such feed for this user");
  if (has_all_windows(client)) return refusal(Error::Full, "the port has its maximum of windows");
  const FeedPort* const port = feed_port(client.may->domain);
  if (port == nullptr) return refusal(Error::Full, "no port is left for the feeds of this domain");
  const std::shared_ptr<FeedFile>& segment = feeds_.at(name);
  const std::size_t bytes = segment->mapping.bytes();
  if (!segment->addresses.contains(port->vpid)) {
    const std::optional<Nla> address =
        register_memory(port->vpid, segment->mapping.data(), segment->pages() * kPageBytes, Access::Read);
    if (!address) return refusal(Error::Full, "the node's table of pages is full");
    segment->addresses.emplace(port->vpid, *address);
  }
  const Nla address = segment->addresses[port->vpid];
  const std::optional<WindowName> window = node_.rma().open_window(port->vpid, address, bytes, Access::Read);
  if (!window) return refusal(Error::Full, "no window is free");
  // Opened anew: what a client does with its own, as locking it, must not outlive the client.
  const std::string path = "/proc/self/fd/" + std::to_string(segment->file.get());
  os::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.ok()) {
    (void)node_.rma().close_window(port->vpid, window->id);
    return refusal(Error::Full, "the feed's file cannot be opened again");
  }
  client.attached.push_back({name, segment, port->vpid, window->id});
  ++uses_[{name, client.user}].attached;
  log("feed '" + name + "' attached by port " + std::to_string(*client.vpid) + " of user " +
      std::to_string(client.user));
  BrokerReply reply;
  reply.node = node_.id();
  reply.vpid = port->vpid;
  reply.window = window->id;
  reply.capability = window->capability;
  reply.bytes = bytes;
  to_pass = std::move(file);
  return reply;
}

/// The same answer for a feed that is not there and one that it may not know.
bool Broker::may_have(const Client& client, const std::string& feed) {
  const std::vector<std::string>& entitled = client.may->feeds;
  const bool is_there = feeds_.contains(feed);
  const bool may = is_there && std::find(entitled.begin(), entitled.end(), feed) != entitled.end();
  if (is_there && !may) ++uses_[{feed, client.user}].refused;
  return may;
}

BrokerReply Broker::subscribe(Client& client, const BrokerRequest& request) {
  const std::string name = name_of(request);
  if (!may_have(client, name)) return refusal(Error::TargetWindowId, "no such feed for this user");
  if (options_.publisher == nullptr) return refusal(Error::Command, "this broker does not copy feeds");
  const std::optional<Vpid> port = options_.publisher->admit(*client.vpid, client.may->domain, name);
  if (!port) return refusal(Error::Full, "this feed cannot be copied for the client");
  client.subscribed.insert(name);
  ++uses_[{name, client.user}].subscribed;
  log("feed '" + name + "' may be copied for port " + std::to_string(*client.vpid) + " of user " +
      std::to_string(client.user));
  BrokerReply reply;
  reply.node = node_.id();
  reply.vpid = *port;
  return reply;
}

BrokerReply Broker::detach(Client& client, const BrokerRequest& request) {
  const auto found = std::find_if(client.attached.begin(), client.attached.end(),
                                  [&](const Attachment& attached) { return attached.window == request.window; });
  if (found == client.attached.end()) return refusal(Error::TargetWindowId, "not a window to a feed of this port");
  leave(client, *found);
  client.attached.erase(found);
  return {};
}

BrokerReply Broker::use_segments(Client& client, const BrokerRequest& request) {
  if (request.limit > client.may->hold_us) {
    return refusal(Error::Domain, "messages may be held for " + std::to_string(client.may->hold_us) + " us at most");
  }
  if (request.window > 1 || request.bytes > kMaxSegments) {
    return refusal(Error::Command, "a priority must be 0 or 1, and a list must have 2 to 128 entries");
  }
  const SegmentRing ring{request.address, static_cast<std::uint32_t>(request.bytes), request.slot_bytes,
                         std::uint64_t{request.limit} * 1'000};
  const Priority priority = request.window == 1 ? Priority::High : Priority::Low;
  const Error error = node_.messages().start_ring(*client.vpid, priority, ring, node_.atu());
  if (error != Error::None) return refusal(error, "invalid entries, slot size, or address of a list");
  return {};
}

/// The caller takes it out of the client's list.
void Broker::leave(const Client& client, const Attachment& attached) {
  const WindowUse use = node_.rma().use(attached.owner, attached.window);
  FeedUse& sum = uses_[{attached.feed, client.user}];
  sum.gets += use.gets;
  sum.bytes += use.bytes;
  (void)node_.rma().close_window(attached.owner, attached.window);
  log("feed '" + attached.feed + "' left by port " + std::to_string(*client.vpid) + " of user " +
      std::to_string(client.user) + ", after " + std::to_string(use.gets) + " gets of " + std::to_string(use.bytes) +
      " bytes");
}

void Broker::bury(Client& client) {
  for (const Attachment& attached : client.attached) leave(client, attached);
  if (!client.vpid) return;
  if (!client.subscribed.empty()) options_.publisher->dismiss(*client.vpid, "");
  client.subscribed.clear();
  for (std::unique_ptr<Region>& region : client.regions) {
    (void)node_.rma().revoke(*client.vpid, region->address, region->pages);
    flushing_.push_back(std::move(region));
  }
  node_.close_port(*client.vpid);
  ++counters_.gone;
  log("port " + std::to_string(*client.vpid) + " gone with process " + std::to_string(client.pid));
}

}  // namespace stopbit::nic
