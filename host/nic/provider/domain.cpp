#include "host/nic/provider/domain.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <rdma/providers/fi_log.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <utility>

#include "host/nic/provider/address_vector.hpp"
#include "host/nic/provider/endpoint.hpp"
#include "host/nic/provider/not_offered.hpp"
#include "host/nic/provider/provider.hpp"
#include "host/nic/provider/queues.hpp"
#include "host/nic/provider/remote_calls.hpp"
#include "host/os/clock.hpp"
#include "host/os/random.hpp"
#include "host/os/shm/read_file.hpp"
#include "host/os/shm/segment.hpp"

namespace stopbit::nic::provider {
namespace {

constexpr std::uint64_t kLookEveryNs = 50'000'000;
/// Steps after which everything that a dead process left in our inbox has been read.
constexpr std::uint64_t kStepsOfTheDead = 64;
constexpr std::uint64_t kStepsOfClock = 8;
constexpr std::uint64_t kLingerNs = 2'000'000'000;
/// Time in which this process makes no calls counts as this much: what peers have sent meanwhile has not been read yet,
/// so that they are not taken for silent.
constexpr std::uint64_t kMostPauseNs = 250'000'000;
/// Of a window of the high channel, kept for answers while pieces are sent.
constexpr std::uint32_t kRoomForAnswers = 16;
/// That wait for one node, which takes none: then it is not listened to, and nobody else feels it. An honest one has no
/// more requests under way than its window.
constexpr std::size_t kMostAnswers = 2 * Links::kWindow;
constexpr std::size_t kPiecesPerStep = 64;
// A thread that has found nothing sleeps for this time, and after a while of nothing for longer. Each time it wakes
// costs a few microseconds of a processor.
constexpr std::uint64_t kShortSleepNs = 20'000;
constexpr std::uint64_t kLongSleepNs = 200'000;
constexpr std::uint64_t kBusyNs = 2'000'000;
/// Of the thread that makes progress for a program that makes no calls.
constexpr long kStandInSleepNs = 1'000'000;
/// Over a network: for how long a peer may have to send a packet again whose acknowledgement was lost.
constexpr std::uint64_t kQuietNs = 100'000'000;

int close(fid* fid) {
  Domain& domain = Domain::of(reinterpret_cast<fid_domain*>(fid));
  if (domain.users() != 0) return -FI_EBUSY;
  {
    const Domain::Guard guard(domain);
    domain.flush();
  }
  delete &domain;
  return 0;
}

fi_ops fid_ops{.size = sizeof(fi_ops),
               .close = close,
               .bind = not_offered,
               .control = not_offered,
               .ops_open = not_offered,
               .tostr = not_offered,
               .ops_set = not_offered};

fi_ops_domain domain_ops{.size = sizeof(fi_ops_domain),
                         .av_open = open_address_vector,
                         .cq_open = open_completion_queue,
                         .endpoint = open_endpoint,
                         .scalable_ep = not_offered,
                         .cntr_open = open_counter,
                         .poll_open = not_offered,
                         .stx_ctx = not_offered,
                         .srx_ctx = not_offered,
                         .query_atomic = query_atomic,
                         .query_collective = not_offered,
                         .endpoint2 = not_offered};

}  // namespace

Result<std::unique_ptr<Domain>> Domain::open(const Parameters& parameters, const Options& options, void* user) {
  Result<std::unique_ptr<Carrier>> carrier =
      parameters.is_remote() ? open_network(parameters) : open_memory(parameters);
  if (!carrier) return carrier.failure();
  return std::unique_ptr<Domain>(new Domain(parameters, std::move(carrier).value(), options, user));
}

Domain::Domain(const Parameters& parameters, std::unique_ptr<Carrier> carrier, const Options& options, void* user)
    : fid_domain{{FI_CLASS_DOMAIN, user, &fid_ops}, &domain_ops, &registration_calls()},
      counters_file_(parameters.counters),
      process_(static_cast<std::uint32_t>(::getpid())),
      copies_once_(parameters.copies_once && !parameters.is_remote()),
      is_shared_(options.is_shared || options.has_thread || parameters.has_thread || !carrier->keeps_frames()),
      carrier_(std::move(carrier)),
      links_(carrier_->transport(), carrier_->links()),
      eager_bytes_(provider::eager_bytes(links_.packet_bytes())),
      asks_the_silent_(!carrier_->keeps_frames()),
      has_own_thread_(options.has_thread || parameters.has_thread),
      nodes_(carrier_->transport().nodes()),
      endpoints_(kEndpoints),
      uses_(kEndpoints),
      regions_(options.has_basic_regions) {
  now_ns_ = clock_ns_ = os::monotonic_clock_ns();
  // 31 bits, which are enough for the few processes of a number that a program can know, and leave room in a tag.
  while (birth_ == 0) birth_ = static_cast<std::uint32_t>(os::random_word() >> 33U);
  struct stat space {};
  if (::stat("/proc/self/ns/pid", &space) == 0) {
    process_space_ = static_cast<std::uint32_t>(space.st_ino);
  } else {
    copies_once_ = false;
  }
  if (has_own_thread_ || !carrier_->keeps_frames()) thread_ = std::thread([this] { run(); });
}

Domain::~Domain() {
  is_closing_ = true;
  if (thread_.joinable()) thread_.join();
  report();
}

void Domain::report() {
  if (counters_file_.empty()) return;
  counters_.resent = links_.counters().resent;
  counters_.rejected_datagrams = carrier_->rejected();
  std::string line =
      "{\"process\": " + std::to_string(process_) + ", \"node\": " + std::to_string(carrier_->transport().node());
#define STOPBIT_PROVIDER_COUNTER(name, meaning) line += ", \"" #name "\": " + std::to_string(counters_.name);
#include "host/nic/provider/counters.def"
#undef STOPBIT_PROVIDER_COUNTER
  line += "}\n";
  // One write: lines of several processes do not mix.
  const os::Descriptor file(::open(counters_file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!file.ok() || ::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    FI_WARN(&provider(), FI_LOG_DOMAIN, "cannot write the counters to '%s': %s\n", counters_file_.c_str(),
            std::strerror(errno));
  }
}

bool Domain::is_name(const Name& name) const noexcept {
  return name.magic == Name::kMagic && name.version == Name::kVersion && name.network == carrier_->network() &&
         name.peer.node < nodes_.size() && name.peer.birth != 0 && carrier_->may_be_at(name.peer.node, name.place);
}

Name Domain::own_full_name(std::uint16_t endpoint) const noexcept {
  Name name;
  name.network = carrier_->network();
  name.peer = own_name(endpoint);
  name.place = carrier_->place();
  return name;
}

bool Domain::add(Endpoint& endpoint) {
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    if (endpoints_[i] != nullptr) continue;
    endpoints_[i] = &endpoint;
    endpoint.number = static_cast<std::uint16_t>(i + kEndpoints * uses_[i]++);
    return true;
  }
  return false;
}

Endpoint* Domain::find(std::uint16_t number) const noexcept {
  Endpoint* const endpoint = endpoints_[number % kEndpoints];
  return endpoint != nullptr && endpoint->number == number ? endpoint : nullptr;
}

void Domain::remove(Endpoint& endpoint) {
  endpoints_[endpoint.number % kEndpoints] = nullptr;
  std::erase_if(streams_, [&](const Stream& stream) { return stream.endpoint == endpoint.number; });
}

void Domain::meet(const PeerName& peer) {
  NodeState& node = nodes_[peer.node];
  if (node.birth == peer.birth || node.dead_birth == peer.birth || peer.node == links_.node()) return;
  // What was found under this number is its predecessor's.
  if (node.birth != 0) {
    node.dead_birth = node.birth;
    links_.lose(peer.node, *this);
    carrier_->forget(peer.node);
  }
  links_.invite(peer.node);
  carrier_->meet(peer.node);
  node.birth = peer.birth;
  node.dead_at_step = 0;
}

std::span<std::byte> Domain::place(NodeId node) {
  const std::span<std::byte> found = links_.place(node, VirtualChannel::Low);
  if (!found.empty()) return found;
  progress();
  return links_.place(node, VirtualChannel::Low);
}

bool Domain::send_placed(const PeerName& to, std::span<const std::byte> packet) {
  // The time of the last progress. After a long computation the packet may so go twice; its receiver drops one.
  if (links_.send(to.node, VirtualChannel::Low, packet, false, now_ns_) != SendResult::Sent) return false;
  // The program may make no call for long now.
  if (asks_the_silent_) carrier_->tend();
  return true;
}

void Domain::answer(const PeerName& to, const Head& head) {
  ++nodes_[to.node].answers;
  answers_.push_back({to, head});
  answers_.back().head.target = to.endpoint;
  answers_.back().head.target_birth = to.birth;
  answers_.back().head.source_birth = birth_;
  send_answers();
}

void Domain::send_answers() {
  for (std::size_t left = answers_.size(); left != 0; --left) {
    const Answer next = answers_.front();
    answers_.pop_front();
    const auto bytes = std::as_bytes(std::span(&next.head, 1));
    // To a lost node: nothing waits there.
    if (links_.send(next.to.node, VirtualChannel::High, bytes, false, now_ns_) == SendResult::Full) {
      answers_.push_back(next);
    } else {
      --nodes_[next.to.node].answers;
    }
  }
}

void Domain::send_answer(NodeId node, std::span<const std::byte> packet) {
  // There was room. To a lost node: nothing waits there.
  (void)links_.send(node, VirtualChannel::High, packet, false, now_ns_);
}

void Domain::stream(Endpoint& endpoint, Kind kind, std::uint32_t request) {
  streams_.push_back({endpoint.number, kind, request});
}

/// A piece of each transfer in turn.
void Domain::send_pieces() {
  std::size_t budget = kPiecesPerStep;
  for (std::size_t idle = 0; budget != 0 && idle < streams_.size();) {
    const Stream next = streams_.front();
    streams_.pop_front();
    Endpoint& endpoint = *find(next.endpoint);
    Outgoing* const outgoing = endpoint.outgoing(next.kind, next.request);
    if (outgoing == nullptr) continue;
    const NodeId node = outgoing->to.node;
    if (links_.room(node, VirtualChannel::High) <= kRoomForAnswers) {
      ++idle;
      streams_.push_back(next);
      continue;
    }
    idle = 0;
    --budget;
    const std::span<std::byte> at = links_.place(node, VirtualChannel::High);
    const std::size_t length = endpoint.write_piece(*outgoing, at);
    counters_.piece_bytes += length - sizeof(Head);
    if (links_.send(node, VirtualChannel::High, at.first(length), false, now_ns_) != SendResult::Sent) continue;
    if (outgoing->sent < outgoing->asked_bytes) {
      streams_.push_back(next);
    } else {
      endpoint.streamed(next.kind, next.request);
    }
  }
}

void Domain::locate(const Pieces& buffer, OfferBody& offer) const noexcept {
  if (!carrier_->keeps_frames()) return;
  offer.address = buffer.count() == 1 ? reinterpret_cast<std::uint64_t>(buffer.first()) : 0;
  offer.process = process_;
  offer.process_space = process_space_;
}

/// A peer could otherwise have any process of this user read, and this one itself, which Yama forbids the peer.
std::uint32_t Domain::process_of(const PeerName& peer) {
  NodeState& node = nodes_[peer.node];
  if (node.process_birth != peer.birth) {
    node.process = static_cast<std::uint32_t>(carrier_->process_of(peer.node).value_or(0));
    node.process_birth = peer.birth;
  }
  return node.process;
}

bool Domain::copy(const Pieces& into, const PeerName& peer, const OfferBody& from, std::uint64_t bytes) {
  if (from.address == 0 || !copies_from(from.process_space)) return false;
  const std::uint32_t process = process_of(peer);
  if (process == 0) return false;
  if (from.process != process) {
    ++counters_.malformed;
    return false;
  }
  constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 30U;  // the system call takes less than 2 GiB
  if (bytes > kMostAtOnce) return false;
  std::array<iovec, Pieces::kMax> local{};
  const std::size_t count = into.first_bytes(bytes, local);
  const iovec remote{reinterpret_cast<void*>(from.address), static_cast<std::size_t>(bytes)};
  const ssize_t copied = ::process_vm_readv(static_cast<pid_t>(from.process), local.data(), count, &remote, 1, 0);
  if (copied == static_cast<ssize_t>(bytes)) {
    counters_.copied_bytes += bytes;
    return true;
  }
  if (copied < 0 && (errno == EPERM || errno == ENOSYS)) copies_once_ = false;
  return false;
}

void Domain::close(const Region& region) {
  regions_.remove(region);
  for (Endpoint* const endpoint : endpoints_) {
    if (endpoint != nullptr) endpoint->remote.closed(region);
  }
}

void Domain::run() {
  // Signals are for the program's threads.
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  if (!has_own_thread_) return stand_in();
  for (std::uint64_t busy_ns = os::monotonic_clock_ns(); !is_closing_;) {
    std::size_t done = 0;
    std::uint64_t now = 0;
    {
      const Guard guard(*this);
      done = progress();
      now = now_ns_;
    }
    if (done != 0) {
      busy_ns = now;
      ::sched_yield();
      continue;
    }
    const timespec pause{0, static_cast<long>(now - busy_ns < kBusyNs ? kShortSleepNs : kLongSleepNs)};
    ::nanosleep(&pause, nullptr);
  }
}

/// Progress while the program makes no calls, and only then. It may wait for its peer in another way, as fi_pingpong
/// does in a read of its own, while the peer waits for an acknowledgement that a network has lost.
void Domain::stand_in() {
  for (std::uint64_t seen = 0; !is_closing_;) {
    std::size_t done = 0;
    {
      const Guard guard(*this);
      if (steps_ == seen) done = progress();
      seen = steps_;
      carrier_->tend();
    }
    if (done != 0) {
      ::sched_yield();
      continue;
    }
    constexpr timespec kPause{0, kStandInSleepNs};
    ::nanosleep(&kPause, nullptr);
  }
}

std::size_t Domain::progress() {
  ++steps_;
  const std::size_t done = links_.step(*this, now_ns_);
  // The clock is read when packets need not wait for it: the links' times may be a few calls old.
  if (done == 0 || steps_ % kStepsOfClock == 0) {
    const std::uint64_t clock_ns = os::monotonic_clock_ns();
    now_ns_ += std::min(clock_ns - clock_ns_, kMostPauseNs);
    clock_ns_ = clock_ns;
  }
  if (!answers_.empty()) send_answers();
  if (!streams_.empty()) send_pieces();
  if (now_ns_ >= next_look_ns_) {
    next_look_ns_ = now_ns_ + kLookEveryNs;
    look_for_dead(false);
  }
  if (asks_the_silent_ && done != 0) carrier_->tend();  // acknowledgements and answers need not wait for the next call
  return done;
}

bool Domain::is_waited_for(NodeId node) const noexcept {
  return nodes_[node].expected != 0 || links_.room(node, VirtualChannel::Low) != Links::kWindow ||
         links_.room(node, VirtualChannel::High) != Links::kWindow;
}

void Domain::look_for_dead(bool asks_all) {
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    NodeState& node = nodes_[id];
    if (id == links_.node() || node.birth == 0 || links_.is_lost(id) || !is_waited_for(id)) continue;
    if (carrier_->is_alive(id)) {
      node.dead_at_step = 0;
    } else if (node.dead_at_step == 0 && !asks_all) {
      node.dead_at_step = steps_;
      next_look_ns_ = 0;  // as soon as its last frames have been read
    } else if (asks_all || steps_ - node.dead_at_step >= kStepsOfTheDead) {
      links_.lose(id, *this);
    } else {
      next_look_ns_ = 0;
    }
  }
}

void Domain::lost(NodeId id) {
  NodeState& node = nodes_[id];
  ++counters_.peers_lost;
  node.dead_birth = node.birth;
  carrier_->forget(id);
  node.answers -= std::erase_if(answers_, [id](const Answer& answer) { return answer.to.node == id; });
  for (Endpoint* const endpoint : endpoints_) {
    if (endpoint != nullptr) endpoint->lost(id);
  }
}

void Domain::flush() {
  const std::uint64_t begin = os::monotonic_clock_ns();
  const bool keeps = carrier_->keeps_frames();
  // Where frames may be lost, a peer whose last packet was taken here may not know it yet.
  std::uint64_t quiet_ns = keeps || links_.counters().delivered == 0 ? 0 : begin + kQuietNs;
  for (std::uint64_t now = begin; now - begin < kLingerNs; now = os::monotonic_clock_ns()) {
    if (progress() != 0 && quiet_ns != 0) quiet_ns = now + kQuietNs;
    // Where frames may be lost, a packet has not arrived until it is acknowledged.
    bool is_waiting = !answers_.empty() || (!keeps && !links_.is_idle());
    for (NodeId id = 0; id < nodes_.size() && keeps && !is_waiting; ++id) {
      is_waiting = id != links_.node() && !links_.is_lost(id) && !links_.has_left(id);
    }
    if (!is_waiting && now >= quiet_ns) return;
    ::sched_yield();
  }
}

bool Domain::ordered(NodeId from, VirtualChannel /*channel*/, std::span<const std::byte> packet, std::uint8_t) {
  Head head;
  if (packet.size() < sizeof(head)) {
    ++counters_.malformed;
    return true;
  }
  std::memcpy(&head, packet.data(), sizeof(head));
  const bool asks = is_request(head.kind);
  NodeState& node = nodes_[from];
  // It was given up, and its operations have ended: what comes late changes nothing.
  if (head.source_birth == 0 || head.source_birth == node.dead_birth) {
    ++counters_.malformed;
    return true;
  }
  if (asks && node.answers >= kMostAnswers) return false;
  const PeerName peer{from, head.source, head.source_birth};
  if (node.birth != head.source_birth) {
    node.birth = head.source_birth;
    carrier_->meet(from);
  }
  Endpoint* const endpoint = find(head.target);
  if (endpoint != nullptr && endpoint->is_enabled && head.target_birth == birth_) {
    return endpoint->take(head, peer, packet.subspan(sizeof(head)));
  }
  ++counters_.refused;
  if (asks && (head.flags & kWantsDone) != 0) {
    Head refusal;
    refusal.kind = Kind::Done;
    refusal.flags = head.flags & kRemote;
    refusal.source = head.target;
    refusal.request = head.request;
    refusal.error = FI_ECONNREFUSED;
    answer(peer, refusal);
  }
  return true;
}

int open_domain(fid_fabric* /*fabric*/, fi_info* info, fid_domain** domain, void* context) {
  Domain::Options options;
  if (info != nullptr && info->domain_attr != nullptr) {
    options.is_shared = info->domain_attr->threading != FI_THREAD_DOMAIN;
    options.has_thread = info->domain_attr->data_progress == FI_PROGRESS_AUTO;
    options.has_basic_regions = info->domain_attr->mr_mode == FI_MR_BASIC;
  }
  try {
    const Parameters parameters = read_parameters();
    if (const std::string warning = os::exposure_of_secret(parameters.token_file); !warning.empty())
      FI_WARN(&provider(), FI_LOG_DOMAIN, "%s\n", warning.c_str());
    Result<std::unique_ptr<Domain>> opened = Domain::open(parameters, options, context);
    if (opened) {
      *domain = std::move(opened).value().release();
      return 0;
    }
    FI_WARN(&provider(), FI_LOG_DOMAIN, "%s\n", opened.message().c_str());
  } catch (const std::exception& error) {
    FI_WARN(&provider(), FI_LOG_DOMAIN, "cannot open a domain: %s\n", error.what());
  }
  return -FI_ENOMEM;
}

}  // namespace stopbit::nic::provider
