#include "host/nic/node/client.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <limits>
#include <utility>

#include "host/nic/node/fd_passing.hpp"
#include "microcode/base/round_up.hpp"

namespace stopbit::nic {
namespace {

constexpr unsigned kTypeAt = 8;  // in the tag of FastSend
constexpr std::size_t kMaxParts = (kMaxMessageBytes + kMaxFastBytes - 1) / kMaxFastBytes;

Command command_for(NodeId node, Vpid vpid, const SendHow& how) noexcept {
  Command command;
  command.target_node = node;
  command.target_vpid = vpid;
  command.modifiers = static_cast<std::uint8_t>((how.acknowledges ? kAcknowledge : 0) |
                                                (how.announces ? kNotifyCompleter : 0) | (how.to_group ? kGroup : 0));
  return command;
}

CommandRing ring_of(const SendHow& how) noexcept {
  return how.priority == Priority::High ? CommandRing::High : CommandRing::Low;
}

void fill(Command& into, std::span<const std::byte> part) noexcept {
  into.window = static_cast<std::uint16_t>(part.size());
  std::memcpy(reinterpret_cast<std::byte*>(&into) + kPayloadAt, part.data(), part.size());
}

using Clock = std::chrono::steady_clock;

/// Until something lies in the socket. False: nothing did in time.
bool await(int socket, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{socket, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left, INT_MAX)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

/// A reply, and the descriptor that came with it. Returns what recvmsg does.
ssize_t receive_reply(int socket, BrokerReply& reply, os::Descriptor& passed) {
  iovec vector{&reply, sizeof(reply)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = -1;
  // ECONNRESET: the broker closed before it read the request; its reply is queued after this error.
  for (int i = 0; i < 3 && got < 0; ++i) {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && errno != ECONNRESET && errno != EINTR) return got;
  }
  const cmsghdr* const header = got < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof(int));
    passed = os::Descriptor(fd);
  }
  return got;
}

/// One request and its reply. A descriptor that comes with it goes to `passed`, or is closed if `passed` is null.
Result<BrokerReply> exchange(int socket, const BrokerRequest& request, int to_pass, os::Descriptor* passed,
                             unsigned patience_ms) {
  // A broker that has turned us away has closed its side, but its reply may lie here.
  (void)send_packet(socket, &request, sizeof(request), to_pass);
  const Clock::time_point until = Clock::now() + std::chrono::milliseconds(patience_ms);
  for (;;) {
    if (!await(socket, until)) return Failure{"the broker does not answer"};
    BrokerReply reply;
    os::Descriptor descriptor;
    const ssize_t got = receive_reply(socket, reply, descriptor);
    if (got == 0) return Failure{"the broker has closed the port"};
    if (got != static_cast<ssize_t>(sizeof(reply)) || reply.magic != kBrokerMagic) {
      return Failure{"the process that answers is not a broker"};
    }
    if (reply.version != kBrokerVersion) {
      return Failure{"the broker speaks version " + std::to_string(reply.version) + ", this program supports " +
                     std::to_string(kBrokerVersion)};
    }
    // A reply without a number says that the client is turned away or sent nonsense. Any other number is that of a
    // request that has been given up.
    const bool is_farewell = reply.id == 0 && reply.error != Error::None;
    if (reply.id != request.id && !is_farewell) continue;
    if (reply.error != Error::None) {
      return Failure{std::string(to_name(reply.error)) + ": " +
                     std::string(reply.text, ::strnlen(reply.text, sizeof(reply.text)))};
    }
    if (passed != nullptr) *passed = std::move(descriptor);
    return reply;
  }
}

}  // namespace

Client::Client(Opened opened, unsigned patience_ms)
    : socket_(std::move(opened.socket)),
      pages_(std::move(opened.pages)),
      node_(opened.reply.node),
      vpid_(opened.reply.vpid),
      patience_ms_(patience_ms),
      high_(pages_.page(), Priority::High),
      low_(pages_.page(), Priority::Low),
      notifications_(pages_.page()) {}

std::optional<std::uint32_t> Client::broker_user() const noexcept {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return std::nullopt;
  return credentials.uid;
}

Result<std::unique_ptr<Client>> Client::open(const std::string& socket, std::size_t slot_bytes, unsigned patience_ms) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.empty() || socket.size() >= sizeof(address.sun_path)) {
    return Failure{"the path of the broker's socket must have 1 to " + std::to_string(sizeof(address.sun_path) - 1) +
                   " bytes"};
  }
  std::memcpy(address.sun_path, socket.c_str(), socket.size() + 1);
  Opened opened;
  opened.socket = os::Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  // A broker that does not accept must not block us for ever.
  const timeval patience{static_cast<std::time_t>(patience_ms / 1000),
                         static_cast<suseconds_t>(patience_ms % 1000 * 1000)};
  if (!opened.socket.ok() ||
      ::setsockopt(opened.socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0 ||
      ::connect(opened.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Failure{os::system_error("connect to the broker at", socket)};
  }
  BrokerRequest request;
  request.call = BrokerCall::Open;
  request.slot_bytes = static_cast<std::uint16_t>(valid_slot_bytes(slot_bytes));
  os::Descriptor pages;
  const Result<BrokerReply> reply = exchange(opened.socket.get(), request, -1, &pages, patience_ms);
  if (!reply) return Failure{reply.message()};
  opened.reply = reply.value();
  if (reply.value().bytes != PageLayout::kBytes || !pages.ok() ||
      !opened.pages.map(std::move(pages), PageLayout::kBytes, SharedMemory::Use::Write) ||
      opened.pages.page().word(PageWord::Magic).load(std::memory_order_acquire) != kPageMagic) {
    return Failure{"the pages that the broker passed are of another version"};
  }
  (void)::madvise(opened.pages.span().data(), PageLayout::kBytes, MADV_POPULATE_WRITE);  // else when they are used
  return std::unique_ptr<Client>(new Client(std::move(opened), patience_ms));
}

Result<BrokerReply> Client::ask(BrokerRequest request, int to_pass, os::Descriptor* passed) {
  request.id = next_id_++;
  return exchange(socket_.get(), request, to_pass, passed, patience_ms_);
}

Status Client::tell(const BrokerRequest& request) {
  const Result<BrokerReply> reply = ask(request, -1, nullptr);
  if (!reply) return reply.failure();
  return Done{};
}

Result<BrokerReply> Client::ask_of_feed(BrokerCall call, const std::string& feed, os::Descriptor* passed) {
  if (feed.empty() || feed.size() > kFeedNameBytes) return Failure{"the name of a feed must have 1 to 64 bytes"};
  BrokerRequest request;
  request.call = call;
  std::memcpy(request.name, feed.data(), feed.size());
  return ask(request, -1, passed);
}

PartHead Client::next_message(std::size_t length, const SendHow& how) noexcept {
  PartHead head;
  head.tag = how.tag;
  head.type = how.type;
  head.message = next_message_.fetch_add(1, std::memory_order_relaxed);
  head.total = static_cast<std::uint16_t>(length);
  return head;
}

Reply Client::send(NodeId node, Vpid vpid, std::span<const std::byte> bytes, const SendHow& how) noexcept {
  if (bytes.empty() || bytes.size() > kMaxMessageBytes) return Reply::Invalid;
  Command command = command_for(node, vpid, how);
  const CommandQueue ring = queue(ring_of(how));
  if (bytes.size() <= kMaxFastBytes) {
    command.operation = Operation::FastSend;
    command.tag = std::uint64_t{how.tag} | std::uint64_t{how.type & 3U} << kTypeAt;
    fill(command, bytes);
    return ring.insert({&command, 1}).reply;
  }
  std::array<Command, kMaxParts> parts;
  std::size_t count = 0;
  PartHead head = next_message(bytes.size(), how);
  for (std::size_t offset = 0; offset < bytes.size(); offset += kMaxFastBytes) {
    Command& part = parts[count++];
    part = command;
    part.operation = Operation::SendPart;
    head.offset = static_cast<std::uint16_t>(offset);
    part.tag = to_tag(head);
    fill(part, bytes.subspan(offset, std::min(kMaxFastBytes, bytes.size() - offset)));
  }
  return ring.insert_whole(std::span(parts).first(count)).reply;
}

PartSender Client::begin(NodeId node, Vpid vpid, std::size_t length, const SendHow& how) noexcept {
  Command command = command_for(node, vpid, how);
  command.operation = Operation::SendPart;
  return {queue(ring_of(how)), command, next_message(std::clamp<std::size_t>(length, 1, kMaxMessageBytes), how)};
}

Reply PartSender::send_part() noexcept {
  Command part = command_;
  part.tag = to_tag(head_);
  fill(part, std::span<const std::byte>(buffer_).first(buffered_));
  const Reply reply = queue_.insert({&part, 1}).reply;
  if (reply == Reply::NoError) {
    head_.offset = static_cast<std::uint16_t>(head_.offset + buffered_);
    buffered_ = 0;
  }
  return reply;
}

PartSender::Taken PartSender::append(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() > left()) return {Reply::Invalid, 0};
  const auto is_part = [this] { return buffered_ == kMaxFastBytes || (buffered_ != 0 && left() == 0); };
  Taken taken;
  while (taken.reply == Reply::NoError) {
    if (is_part()) {
      // Bytes in the buffer stay; the next call tries again.
      taken.reply = send_part();
    } else if (taken.accepted == bytes.size()) {
      break;
    } else {
      const std::size_t count = std::min(bytes.size() - taken.accepted, kMaxFastBytes - buffered_);
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(taken.accepted), count,
                  buffer_.begin() + static_cast<std::ptrdiff_t>(buffered_));
      buffered_ += count;
      taken.accepted += count;
    }
  }
  return taken;
}

Reply PartSender::abort() noexcept {
  if (head_.offset == 0) {
    buffered_ = 0;  // no part has been sent
    return Reply::NoError;
  }
  Command command = command_;
  command.modifiers |= kAbort;
  command.tag = to_tag(head_);
  return queue_.insert({&command, 1}).reply;
}

std::optional<MessageHead> Client::receive(std::span<std::byte, kMaxMessageBytes> into) noexcept {
  if (const auto head = receive(Priority::High, into)) return head;
  return receive(Priority::Low, into);
}

std::optional<MessageHead> Client::receive(Priority priority, std::span<std::byte, kMaxMessageBytes> into) noexcept {
  // What lies in the page came before there were segments.
  if (const auto head = mailbox(priority).poll(into)) return head;
  const std::unique_ptr<Segments>& segments = segments_[static_cast<std::size_t>(priority)];
  return segments ? segments->reader->poll(into) : std::nullopt;
}

Status Client::use_segments(Priority priority, const SegmentHow& how) {
  if (how.places < 2 || how.places > kMaxSegments || !is_slot_size(how.slot_bytes)) {
    return Failure{"a list must have 2 to " + std::to_string(kMaxSegments) +
                   " entries, and a slot 16, 32, 64 or 128 bytes"};
  }
  auto segments = std::make_unique<Segments>();
  Result<SharedRegion> list = share(how.places * sizeof(SegmentDescriptor), Access::Read);
  if (!list) return Failure{list.message()};
  segments->list = std::move(list).value();
  segments->slot_bytes = how.slot_bytes;
  const std::span places(reinterpret_cast<SegmentDescriptor*>(segments->list.memory.span().data()), how.places);
  std::unique_ptr<Segments>& seat = segments_[static_cast<std::size_t>(priority)];
  const auto posted = page().word(posted_word(priority));
  const std::uint64_t posted_before = posted.load(std::memory_order_relaxed);
  // It counts from 0 again, before the node looks.
  segments->reader.emplace(page(), priority, places, how.slot_bytes);
  BrokerRequest request;
  request.call = BrokerCall::Segments;
  request.address = segments->list.address;
  request.bytes = how.places;
  request.slot_bytes = static_cast<std::uint16_t>(how.slot_bytes);
  request.limit = how.hold_us;
  request.window = priority == Priority::High ? 1 : 0;
  const Result<BrokerReply> reply = ask(request, -1, nullptr);
  if (!reply) {
    posted.store(posted_before, std::memory_order_release);
    (void)unshare(segments->list.address);
    return Failure{reply.message()};
  }
  std::swap(seat, segments);
  if (segments) {
    for (const SharedRegion& region : segments->memory) (void)unshare(region.address);
    (void)unshare(segments->list.address);
  }
  return Done{};
}

Status Client::add_segment(Priority priority, std::uint32_t slots) {
  Segments* const segments = segments_[static_cast<std::size_t>(priority)].get();
  if (segments == nullptr) return Failure{"the mailbox is not made of segments"};
  if (slots == 0 || slots > kMaxSegmentSlots) {
    return Failure{"a segment must have 1 to " + std::to_string(kMaxSegmentSlots) + " slots"};
  }
  const std::size_t bytes = std::size_t{slots} * segments->slot_bytes;
  Result<SharedRegion> region = share(bytes, Access::ReadWrite);
  if (!region) return Failure{region.message()};
  segments->memory.push_back(std::move(region).value());
  const SharedRegion& shared = segments->memory.back();
  if (segments->reader->add(shared.address, shared.memory.span().first(bytes))) return Done{};
  (void)unshare(shared.address);
  segments->memory.pop_back();
  return Failure{"the list of segments is full"};
}

const SegmentReader* Client::segments(Priority priority) const noexcept {
  const std::unique_ptr<Segments>& segments = segments_[static_cast<std::size_t>(priority)];
  return segments ? &*segments->reader : nullptr;
}

Result<SharedRegion> Client::share(std::size_t bytes, Access access) {
  SharedRegion region;
  const std::size_t pages = round_up(bytes, kPageBytes);
  if (bytes == 0) errno = EINVAL;
  if (bytes == 0 || !region.memory.create("stopbit-shared", pages)) {
    return Failure{os::system_error("make", std::to_string(bytes) + " bytes of memory to share")};
  }
  BrokerRequest request;
  request.call = BrokerCall::Share;
  request.access = access;
  request.bytes = pages;
  const Result<BrokerReply> reply = ask(request, region.memory.descriptor(), nullptr);
  if (!reply) return Failure{reply.message()};
  region.address = reply.value().address;
  return region;
}

Result<Nla> Client::share_file(int file, std::uint64_t bytes, std::size_t resident_bytes, Access access) {
  if (resident_bytes % kPageBytes != 0 || resident_bytes / kPageBytes > std::numeric_limits<std::uint32_t>::max()) {
    return Failure{"the resident part must be whole pages of " + std::to_string(kPageBytes) + " bytes"};
  }
  BrokerRequest request;
  request.call = BrokerCall::ShareFile;
  request.access = access;
  request.bytes = bytes;
  request.limit = static_cast<std::uint32_t>(resident_bytes / kPageBytes);
  const Result<BrokerReply> reply = ask(request, file, nullptr);
  if (!reply) return Failure{reply.message()};
  return reply.value().address;
}

Status Client::unshare(Nla address) {
  BrokerRequest request;
  request.call = BrokerCall::Unshare;
  request.address = address;
  return tell(request);
}

Result<WindowName> Client::open_window(Nla address, std::uint64_t bytes, Access access) {
  BrokerRequest request;
  request.call = BrokerCall::OpenWindow;
  request.address = address;
  request.bytes = bytes;
  request.access = access;
  const Result<BrokerReply> reply = ask(request, -1, nullptr);
  if (!reply) return Failure{reply.message()};
  return WindowName{reply.value().window, reply.value().capability};
}

Status Client::close_window(std::uint16_t window) {
  BrokerRequest request;
  request.call = BrokerCall::CloseWindow;
  request.window = window;
  return tell(request);
}

Result<Client::PortName> Client::subscribe(const std::string& feed) {
  const Result<BrokerReply> reply = ask_of_feed(BrokerCall::Subscribe, feed, nullptr);
  if (!reply) return Failure{reply.message()};
  return PortName{reply.value().node, reply.value().vpid};
}

bool Client::is_open() const noexcept {
  pollfd look{socket_.get(), 0, 0};
  return ::poll(&look, 1, 0) == 0;
}

Result<AttachedFeed> Client::attach(const std::string& name) {
  AttachedFeed feed;
  const Result<BrokerReply> reply = ask_of_feed(BrokerCall::Attach, name, &feed.file);
  if (!reply) return Failure{reply.message()};
  if (!feed.file.ok()) return Failure{"the broker passed no file for the feed '" + name + "'"};
  feed.node = reply.value().node;
  feed.vpid = reply.value().vpid;
  feed.window = {reply.value().window, reply.value().capability};
  feed.bytes = reply.value().bytes;
  return feed;
}

Status Client::detach(std::uint16_t window) {
  BrokerRequest request;
  request.call = BrokerCall::Detach;
  request.window = window;
  return tell(request);
}

}  // namespace stopbit::nic
