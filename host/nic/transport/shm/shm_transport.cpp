#include "host/nic/transport/shm/shm_transport.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "host/nic/names.hpp"
#include "host/nic/word_copy.hpp"
#include "host/os/clock.hpp"
#include "host/os/shm/folder.hpp"
#include "host/os/shm/name.hpp"
#include "host/os/shm/publish.hpp"
#include "microcode/base/round_up.hpp"

namespace stopbit::nic {
namespace {

constexpr std::uint64_t kMagic = 0x0002'4F42'4E49'4253U;  // "SBINBO", version 2
constexpr mode_t kMode = 0600;

/// The first page of an inbox. The shape is what sender and receiver must agree about.
struct Header {
  std::uint64_t magic = kMagic;
  std::uint32_t node = 0;
  std::uint32_t nodes = 0;
  std::uint32_t slots = 0;
  std::uint32_t frame_bytes = 0;
};

// A ring: a line of its receiver, a line of its sender, and the slots.
constexpr std::size_t kTakenAt = 0;
constexpr std::size_t kWrittenAt = kLineBytes;
constexpr std::size_t kSlotsAt = 2 * kLineBytes;
// A slot: a word that is stored last, with the frame's length and its number plus 1; and the frame.
constexpr std::size_t kFrameAt = 8;
constexpr unsigned kNumberAt = 24;  // in that word, above the length
constexpr std::uint64_t kLengthMask = (std::uint64_t{1} << kNumberAt) - 1;
constexpr std::uint64_t kNumbers = std::uint64_t{1} << (64 - kNumberAt);

std::atomic_ref<std::uint64_t> word(std::byte* at) noexcept {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at));
}

/// Length of the frame with this number, as its sender says it, whatever that is; nothing if it is not there yet.
std::optional<std::size_t> length_of(std::byte* slot, std::uint64_t number) noexcept {
  const std::uint64_t head = word(slot).load(std::memory_order_acquire);
  if (head >> kNumberAt != (number + 1) % kNumbers) return std::nullopt;
  return static_cast<std::size_t>(head & kLengthMask);
}

Result<std::string> path_of(const ShmOptions& options, NodeId node) {
  return os::path_of(options.network + "." + std::to_string(node));
}

}  // namespace

ShmTransport::ShmTransport(const ShmOptions& options)
    : options_(options),
      slot_bytes_(round_up<std::size_t>(kFrameAt + options.frame_bytes, kLineBytes)),
      outgoing_(options.nodes),
      incoming_(options.nodes) {}

ShmTransport::~ShmTransport() {
  // Only if the name is still ours.
  struct stat ours {};
  struct stat named {};
  if (file_.ok() && ::fstat(file_.get(), &ours) == 0 && ::lstat(path_.c_str(), &named) == 0 &&
      ours.st_ino == named.st_ino && ours.st_dev == named.st_dev) {
    ::unlink(path_.c_str());
  }
}

std::size_t ShmTransport::ring_bytes() const noexcept {
  return kSlotsAt + options_.slots * slot_bytes_;
}
std::size_t ShmTransport::inbox_bytes() const noexcept {
  return kPageBytes + options_.nodes * ring_bytes();
}

std::byte* ShmTransport::slot_of(std::byte* ring, std::uint64_t number) const noexcept {
  return ring + kSlotsAt + (number & (options_.slots - 1)) * slot_bytes_;
}
Result<std::unique_ptr<ShmTransport>> ShmTransport::open(const ShmOptions& options) {
  if (options.nodes < 1 || options.nodes > 64) return Failure{"a network in shared memory must have 1 to 64 nodes"};
  if (options.node >= options.nodes) {
    return Failure{"no node " + std::to_string(options.node) + " in a network of " + std::to_string(options.nodes)};
  }
  if (options.slots > 4096 || !std::has_single_bit(options.slots)) {
    return Failure{"the slots of an inbox must be a power of two up to 4096"};
  }
  if (options.frame_bytes < 128 || options.frame_bytes > 65536) return Failure{"a frame must have 128 to 65536 bytes"};
  std::unique_ptr<ShmTransport> transport(new ShmTransport(options));
  if (const Status made = transport->make_inbox(); !made) return Failure{made.message()};
  return transport;
}

Status ShmTransport::make_inbox() {
  const Result<std::string> path = path_of(options_, options_.node);
  if (!path) return Failure{path.message()};
  os::TemporaryFile temporary(path.value(), kMode);
  os::Descriptor file = temporary.create();
  if (!file.ok()) return Failure{temporary.problem()};
  if (!os::lock(file)) return Failure{os::system_error("lock", path.value())};
  // Without a signature no peer learns the process, and all else works.
  (void)os::sign(file);
  if (!inbox_.create(file, inbox_bytes())) return Failure{os::no_memory(file, path.value(), inbox_bytes())};
  Header header;
  header.node = options_.node;
  header.nodes = static_cast<std::uint32_t>(options_.nodes);
  header.slots = static_cast<std::uint32_t>(options_.slots);
  header.frame_bytes = static_cast<std::uint32_t>(options_.frame_bytes);
  std::memcpy(inbox_.data(), &header, sizeof(header));
  Status published = os::publish(temporary, file, path.value(), {.magic = kMagic, .noun = "inbox"});
  if (!published) return published;
  path_ = path.value();
  file_ = std::move(file);
  for (std::size_t from = 0; from < options_.nodes; ++from) {
    std::byte* const ring = inbox_.data() + kPageBytes + from * ring_bytes();
    incoming_[from] = {ring, slot_of(ring, 0), 0, 0};
  }
  return Done{};
}

std::size_t ShmTransport::remove_dead(const std::string& network, std::size_t nodes) {
  std::size_t removed = 0;
  for (std::size_t node = 0; node < nodes; ++node) {
    const Result<std::string> path = path_of({.network = network}, static_cast<NodeId>(node));
    if (path && os::remove_dead(path.value(), {.magic = kMagic, .noun = "inbox"})) ++removed;
  }
  return removed;
}

bool ShmTransport::connect(NodeId to) {
  Outgoing& out = outgoing_[to];
  std::string path;
  os::Descriptor file = os::open_own(options_.network + "." + std::to_string(to), path);
  if (!file.ok()) {
    problem_ = os::system_error("open", path);
    return false;
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & 0022U) != 0) {
    problem_ =
        "'" + path + "' must be a file that only this user can write to; it belongs to " + os::user_text(status.st_uid);
    return false;
  }
  os::Mapping mapping;
  if (status.st_size != static_cast<off_t>(inbox_bytes())) {
    problem_ = "the inbox '" + path + "' has another geometry";
    return false;
  }
  if (!mapping.map(file, inbox_bytes(), os::Mapping::Use::Write)) {
    problem_ = os::system_error("map", path);
    return false;
  }
  Header header;
  std::memcpy(&header, mapping.data(), sizeof(header));
  if (header.magic != kMagic || header.node != to || header.nodes != options_.nodes || header.slots != options_.slots ||
      header.frame_bytes != options_.frame_bytes) {
    problem_ = "the inbox '" + path + "' has another geometry or version";
    return false;
  }
  if (!os::is_locked(file)) {
    problem_ = "the node of '" + path + "' has exited";
    return false;
  }
  out.file = std::move(file);
  out.mapping = std::move(mapping);
  out.ring = out.mapping.data() + kPageBytes + options_.node * ring_bytes();
  out.written = word(out.ring + kWrittenAt).load(std::memory_order_relaxed);  // of a predecessor of ours
  out.taken = word(out.ring + kTakenAt).load(std::memory_order_acquire);
  // A predecessor that died may have given out one frame more than it counted.
  for (std::size_t i = 0; i < options_.slots && length_of(slot_of(out.ring, out.written), out.written); ++i) {
    ++out.written;
  }
  problem_.clear();
  return true;
}

/// Now and then: the node may have come, or have been replaced.
void ShmTransport::look_again(NodeId to) {
  Outgoing& out = outgoing_[to];
  const std::uint64_t now = os::monotonic_clock_ns();
  if (now < out.next_look_ns) return;
  out.next_look_ns = now + options_.look_every_ns;
  if (out.ring != nullptr && !out.mapping.is_broken() && os::is_locked(out.file)) return;
  (void)connect(to);
}

bool ShmTransport::is_alive(NodeId node) {
  if (node == options_.node) return true;
  const Outgoing& out = outgoing_[node];
  return out.ring == nullptr ? connect(node) : os::is_locked(out.file);
}

std::optional<pid_t> ShmTransport::process_of(NodeId node) {
  if (node == options_.node) return ::getpid();
  if (outgoing_[node].ring == nullptr && !connect(node)) return std::nullopt;
  return os::signer_of(outgoing_[node].file);
}

std::optional<NodeId> ShmTransport::free_node(const std::string& network, std::size_t nodes) {
  for (std::size_t node = 0; node < nodes; ++node) {
    std::string path;
    const os::Descriptor file = os::open_own(network + "." + std::to_string(node), path);
    if (!file.ok() || !os::is_locked(file)) return static_cast<NodeId>(node);
  }
  return std::nullopt;
}

bool ShmTransport::send(NodeId to, std::span<const std::byte> frame) {
  if (to >= options_.nodes || frame.empty() || frame.size() > options_.frame_bytes) return false;
  Outgoing& out = outgoing_[to];
  if (out.ring == nullptr) look_again(to);
  if (out.ring == nullptr) return false;
  if (out.written - out.taken >= options_.slots) {
    // Acquire: the receiver has copied what lay in the slots that it gives back.
    out.taken = word(out.ring + kTakenAt).load(std::memory_order_acquire);
    if (out.written - out.taken >= options_.slots) {
      look_again(to);
      return false;
    }
  }
  std::byte* const slot = slot_of(out.ring, out.written);
  copy_bytes(slot + kFrameAt, frame.data(), frame.size());
  word(slot).store(++out.written << kNumberAt | frame.size(), std::memory_order_release);
  word(out.ring + kWrittenAt).store(out.written, std::memory_order_relaxed);
  return true;
}

std::size_t ShmTransport::receive(std::span<std::byte> into) {
  for (std::size_t tried = 0; tried < options_.nodes; ++tried) {
    Incoming& in = incoming_[next_];
    next_ = next_ + 1 == options_.nodes ? 0 : next_ + 1;
    const std::optional<std::size_t> said = length_of(in.next, in.taken);
    if (!said) {
      if (in.told != in.taken) tell(in);
      continue;
    }
    const std::size_t length = std::min({*said, options_.frame_bytes, into.size()});
    copy_bytes(into.data(), in.next + kFrameAt, length);
    in.next = slot_of(in.ring, ++in.taken);
    // Where one frame is, there are often more: their lines travel while this one is looked at.
    __builtin_prefetch(in.next);
    __builtin_prefetch(slot_of(in.ring, in.taken + 1));
    if (in.taken - in.told > options_.slots / 4) tell(in);
    if (length != 0) return length;
  }
  return 0;
}

/// The slots before the next one may be written again.
void ShmTransport::tell(Incoming& in) noexcept {
  in.told = in.taken;
  word(in.ring + kTakenAt).store(in.told, std::memory_order_release);
}

}  // namespace stopbit::nic
