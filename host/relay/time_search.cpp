#include "host/relay/time_search.hpp"

#include <cstring>

#include "decoder/record/views.hpp"
#include "host/remote/slot_writer.hpp"

namespace stopbit::relay {

std::optional<std::uint64_t> time_of(const Head& head, std::span<const std::byte> slots) noexcept {
  if (head.kind != Kind::Records) return std::nullopt;
  for (; slots.size() >= record::kSlotBytes; slots = slots.subspan(record::kSlotBytes)) {
    record::Slot slot;
    std::memcpy(&slot, slots.data(), sizeof(slot));
    if (remote::SlotWriter::is_first(slot)) return record::HeaderView(slot).arrival_ns();
  }
  return std::nullopt;
}

Result<std::uint64_t, StoreFailure> find_time(std::uint64_t first, std::uint64_t end, std::uint64_t time_ns,
                                              const FindTimed& find) {
  std::uint64_t begin = first;
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    const auto found = find(middle, end);
    if (!found) return found.failure();
    if (!found.value() || found.value()->time_ns >= time_ns) {
      end = middle;
      continue;
    }
    begin = found.value()->sequence;
    if (begin < middle || begin >= end) {
      return StoreFailure{StoreFailure::Kind::Refused, "the server gave a message of another number"};
    }
    first = begin + 1;
  }
  return begin;
}

}  // namespace stopbit::relay
