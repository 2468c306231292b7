#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>

#include "host/nic/palms/fragment.hpp"

// Messages that any port of the domain may have sent to a port of PALMS. The first two bytes give a message's length;
// what follows it is the next.

namespace {

using namespace stopbit::nic::palms;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

/// What a receiver knows of a connection, by plain counting.
struct Known {
  Sequence sequence;
  std::uint32_t next = 0;
  bool is_within = false;
  std::uint64_t total = 0;
  std::uint64_t taken = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::map<std::uint32_t, Known> connections;
  for (std::span<const std::byte> rest{reinterpret_cast<const std::byte*>(data), size}; rest.size() > 2;) {
    const std::size_t length = std::min<std::size_t>(
        std::to_integer<std::size_t>(rest[0]) | std::to_integer<std::size_t>(rest[1]) << 8, rest.size() - 2);
    const std::span<const std::byte> message = rest.subspan(2, length);
    rest = rest.subspan(2 + length);
    const auto fragment = decode_fragment(message);
    if (!fragment) continue;
    std::array<std::byte, kFragmentHeadBytes> again;
    encode(*fragment, again);
    require(std::ranges::equal(again, message.first(kFragmentHeadBytes)));
    require(kFragmentHeadBytes + fragment->header_bytes + fragment->data_bytes == message.size());
    require(message.size() <= kFragmentBytes && fragment->header_bytes <= kMostHeaderBytes);
    Known& known = connections[fragment->connection];
    if (fragment->kind != Fragment::Kind::Piece) {
      known = Known();
      continue;
    }
    switch (known.sequence.take(*fragment)) {
      case Sequence::Taken::Next:
        require(fragment->sequence == known.next++ && fragment->is_first != known.is_within);
        if (fragment->is_first) {
          known.taken = 0;
          known.total = fragment->total;
        }
        require(known.sequence.offset() == known.taken && fragment->total == known.total);
        known.taken += fragment->data_bytes;
        require(known.taken <= known.total && fragment->is_last == (known.taken == known.total));
        known.is_within = !fragment->is_last;
        break;
      case Sequence::Taken::Repeated:
      case Sequence::Taken::Early: require(fragment->sequence != known.next); break;
      case Sequence::Taken::Impossible: require(fragment->sequence == known.next); break;
    }
  }
  return 0;
}
