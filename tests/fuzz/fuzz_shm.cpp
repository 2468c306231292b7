// Any contents of the inboxes of a network in shared memory, of any shape: what comes out has a length that was
// said and no more bytes than there is room for, receiving and sending end, and an inbox that is none is not connected
// to.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "host/nic/transport/shm/shm_transport.hpp"
#include "host/os/shm/name.hpp"
#include "host/os/shm/segment.hpp"

namespace {

using namespace stopbit::nic;
namespace os = stopbit::os;

constexpr std::size_t kNodes = 3;
constexpr std::size_t kSlots = 4;
constexpr std::size_t kFrameBytes = 256;
constexpr NodeId kStranger = 2;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Nodes 0 and 1 are honest. The inbox of node 2 is a hostile file.
struct World {
  World() {
    options.network = "fuzz-shm-" + std::to_string(::getpid());
    options.nodes = kNodes;
    options.slots = kSlots;
    options.frame_bytes = kFrameBytes;
    options.look_every_ns = 0;
    for (NodeId id = 0; id < kStranger; ++id) {
      options.node = id;
      auto opened = ShmTransport::open(options);
      require(opened.ok());
      nodes[id] = std::move(opened).value();
    }
    inbox = os::Descriptor(::open(path(0).c_str(), O_RDWR | O_CLOEXEC));
    bytes = static_cast<std::size_t>(::lseek(inbox.get(), 0, SEEK_END));
    require(inbox.ok() && mapping.map(inbox, bytes, os::Mapping::Use::Write));
    pristine.assign(mapping.data(), mapping.data() + bytes);
  }
  ~World() { ::unlink(path(kStranger).c_str()); }
  [[nodiscard]] std::string path(NodeId id) const {
    return os::path_of(options.network + "." + std::to_string(id)).value();
  }

  ShmOptions options;
  std::array<std::unique_ptr<ShmTransport>, kStranger> nodes;
  os::Descriptor inbox;  ///< Of node 0, as another process sees it.
  os::Mapping mapping;
  std::size_t bytes = 0;
  std::vector<std::byte> pristine;
};

/// `length` bytes at a place that the first two of them say.
void patch(std::byte* memory, std::size_t bytes, const std::uint8_t* chunk, std::size_t length) {
  if (length <= 2) return;
  const std::size_t at = (std::size_t{chunk[0]} << 8U | chunk[1]) % bytes;
  std::memcpy(memory + at, chunk + 2, std::min(length - 2, bytes - at));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World world;
  std::array<std::byte, kFrameBytes + 8> into;
  // Chunks: a byte that says how long it is, a byte that says what it is for, and the chunk.
  for (std::size_t at = 0; at + 2 <= size;) {
    const std::size_t length = std::min<std::size_t>(data[at], size - at - 2);
    const std::uint8_t kind = data[at + 1];
    const std::uint8_t* const chunk = data + at + 2;
    at += 2 + length;
    switch (kind % 4) {
      case 0: patch(world.mapping.data() + kPageBytes, world.bytes - kPageBytes, chunk, length); break;
      case 1: {  // node 1 sends, into the present contents
        std::size_t sent = 0;
        for (const std::span frame(reinterpret_cast<const std::byte*>(chunk), length);
             sent <= kSlots && world.nodes[1]->send(0, frame);) {
          ++sent;
        }
        require(sent <= kSlots && (length != 0 || sent == 0));
        break;
      }
      case 2: {  // a frame with the number that is due, or almost; from whomever
        const std::size_t from = kind / 4 % kNodes;
        const std::size_t slot_bytes = (8 + kFrameBytes + kLineBytes - 1) / kLineBytes * kLineBytes;
        std::byte* const ring = world.mapping.data() + kPageBytes + from * (2 * kLineBytes + kSlots * slot_bytes);
        if (length < 6) break;
        std::uint64_t number = 0;
        std::uint32_t said = 0;
        std::memcpy(&number, ring + kLineBytes, sizeof(number));  // as the sender says it
        std::memcpy(&said, chunk + 1, sizeof(said));
        number += chunk[0] % 4;
        const std::uint64_t head = (number + 1) << 24U | (said & 0xFF'FFFFU);
        std::byte* const slot = ring + 2 * kLineBytes + number % kSlots * slot_bytes;
        std::memcpy(slot + 8, chunk + 5, std::min(length - 5, slot_bytes - 8));
        std::memcpy(slot, &head, sizeof(head));
        break;
      }
      default: {  // another file under the name of node 2, locked by its owner or not
        const os::Descriptor file(::open(world.path(kStranger).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
                                         (kind & 4U) != 0 ? 0600 : 0622));
        require(file.ok());
        const bool is_cut = (kind & 8U) != 0;
        require(::ftruncate(file.get(), static_cast<off_t>(is_cut ? length : world.bytes)) == 0);
        std::vector<std::byte> first(world.pristine.begin(), world.pristine.begin() + kPageBytes);
        const std::uint32_t node = kStranger;
        std::memcpy(first.data() + 8, &node, sizeof(node));
        if (!is_cut) {
          patch(first.data(), 32, chunk, length);
          require(::pwrite(file.get(), first.data(), first.size(), 0) == static_cast<ssize_t>(first.size()));
        }
        const bool has_owner = (kind & 16U) != 0;
        if (has_owner) require(os::lock(file));
        std::vector<std::byte> good(world.pristine.begin(), world.pristine.begin() + 24);
        std::memcpy(good.data() + 8, &node, sizeof(node));
        const bool is_good = !is_cut && has_owner && std::equal(good.begin(), good.end(), first.begin());
        const bool connected = world.nodes[0]->connect(kStranger);
        require(connected ? is_good : !world.nodes[0]->problem().empty());
        if (connected) (void)world.nodes[0]->send(kStranger, std::as_bytes(std::span("hello")));
      }
    }
    into.fill(std::byte{0xC5});
    for (std::size_t received = 0, quiet = 0; quiet < kNodes; ++received) {
      require(received <= 2 * kNodes * kSlots + kNodes);
      const std::size_t got = world.nodes[0]->receive(std::span(into).first(kFrameBytes));
      require(got <= kFrameBytes);
      quiet = got == 0 ? quiet + 1 : 0;
    }
    require(std::all_of(into.begin() + kFrameBytes, into.end(), [](std::byte b) { return b == std::byte{0xC5}; }));
  }
  return 0;
}
