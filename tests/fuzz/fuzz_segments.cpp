// Whatever a port writes into its list of segments, and into these, at any time: messages change no byte but those of
// segments that it may write and has not given back; everything ends. Whatever a node writes into segments: the reader
// reads nothing outside.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "host/nic/msg/segments.hpp"
#include "host/nic/rma/memory.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace {

using namespace stopbit::nic;

constexpr Vpid kOwner = 1;
constexpr std::size_t kDataPages = 4;
constexpr std::byte kCanary{0xC5};

void require(bool holds) {
  if (!holds) std::abort();
}

struct Pages {
  explicit Pages(std::size_t count) : storage(count) {}
  struct alignas(kPageBytes) Storage {
    std::byte bytes[kPageBytes] = {};
  };
  [[nodiscard]] std::span<std::byte> span() { return {storage.front().bytes, storage.size() * kPageBytes}; }
  [[nodiscard]] Nla add_to(Atu& atu, Vpid owner, Access access) {
    std::vector<PageNumber> numbers;
    for (const Storage& page : storage) numbers.push_back(to_page_number(page.bytes));
    return atu.register_pages(owner, numbers, access).value();
  }
  [[nodiscard]] bool is_untouched() {
    const std::span<std::byte> bytes = span();
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == kCanary; });
  }
  std::vector<Storage> storage;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  Atu atu({1, 64, 8, 55});
  PageMemory memory;
  Pages list(1);
  Pages segments(kDataPages);
  Pages read_only(1);
  Pages foreign(1);
  std::ranges::fill(read_only.span(), kCanary);
  std::ranges::fill(foreign.span(), kCanary);
  // In this order: what runs over an end runs into the next.
  const std::array<Nla, 4> addresses = {
      list.add_to(atu, kOwner, Access::Read), segments.add_to(atu, kOwner, Access::ReadWrite),
      read_only.add_to(atu, kOwner, Access::Read), foreign.add_to(atu, kOwner + 1, Access::ReadWrite)};
  const SegmentRing ring{addresses[0], data[0], 16U << (data[1] % 4U), 0};
  if (VrbhQueue::check(ring) != Error::None) return 0;
  SegmentWriter writer(atu, kOwner, memory.page(), Priority::Low, ring);
  SegmentReader reader(memory.page(), Priority::Low,
                       {reinterpret_cast<SegmentDescriptor*>(list.span().data()), ring.places}, ring.slot_bytes);
  std::array<std::byte, kMaxMessageBytes> into;
  std::array<std::byte, kMaxMessageBytes> payload;
  std::array<std::vector<std::byte>, kDataPages> given_back;
  for (std::size_t at = 2; at + 4 <= size; at += 4) {
    const std::size_t value = std::size_t{data[at + 1]} | std::size_t{data[at + 2]} << 8U;
    const std::size_t more = data[at + 3];
    switch (data[at] % 8) {
      case 0:  // a descriptor, mostly of something that there is
      case 1: {
        SegmentDescriptor descriptor;
        descriptor.address = addresses[more % addresses.size()] + (more < 128 ? value / 64 * 64 : value);
        descriptor.slots = static_cast<std::uint32_t>(more / 4 * (data[at] < 128 ? 1 : value));
        descriptor.zero = more == 255 ? 1 : 0;
        const auto word = memory.page().word(PageWord::LowPosted);
        std::memcpy(list.span().data() + word.load() % ring.places * sizeof(descriptor), &descriptor,
                    sizeof(descriptor));
        word.store(word.load() + 1);
        break;
      }
      case 2: memory.page().word(PageWord::LowPosted).store(more < 200 ? value : value << 48U); break;
      case 3: {  // a page is given back: it must not be written from now on
        const std::size_t page = value % kDataPages;
        if (!atu.revoke(kOwner, addresses[1] + page * kPageBytes, 1)) break;
        const std::span<std::byte> bytes = segments.span().subspan(page * kPageBytes, kPageBytes);
        given_back[page].assign(bytes.begin(), bytes.end());
        break;
      }
      case 4: {  // the port writes into its list, or a segment that it still has
        std::uint8_t* const bytes = reinterpret_cast<std::uint8_t*>(list.span().data());
        bytes[value % kPageBytes] = static_cast<std::uint8_t>(more);
        break;
      }
      case 5: {  // posted as it should be
        const std::size_t from = value % 64 * 64;
        const std::size_t bytes = std::min(more * ring.slot_bytes, kPageBytes - from) / 128 * 128;
        const std::size_t page = value / 64 % kDataPages;
        if (bytes != 0 && from % 128 == 0 && given_back[page].empty()) {
          (void)reader.add(addresses[1] + page * kPageBytes + from,
                           segments.span().subspan(page * kPageBytes + from, bytes));
        }
        break;
      }
      case 6: {
        MessageHead head;
        head.length = static_cast<std::uint16_t>(1 + value % kMaxMessageBytes);
        payload.fill(std::byte(more));
        const std::uint64_t before = writer.written();
        const SegmentWriter::Put put = writer.put(head, std::span(payload).first(head.length));
        require((put == SegmentWriter::Put::Done) == (writer.written() == before + 1));
        require(put != SegmentWriter::Put::Ended || writer.queue().has_ended());
        break;
      }
      default: {
        std::size_t read = 0;
        while (reader.poll(into)) require(++read <= 1'000'000);
        break;
      }
    }
  }
  require(read_only.is_untouched() && foreign.is_untouched());
  for (std::size_t page = 0; page < kDataPages; ++page) {
    const std::span<std::byte> bytes = segments.span().subspan(page * kPageBytes, kPageBytes);
    require(given_back[page].empty() || std::equal(bytes.begin(), bytes.end(), given_back[page].begin()));
  }
  return 0;
}
