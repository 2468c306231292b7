// Any bytes as a capture file: read to its end or to a fault that names its place, every frame parsed, every datagram
// read by every framing.

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string_view>

#include "host/feed/framing/framing.hpp"
#include "host/feed/packet/plain_frame.hpp"
#include "host/ports/igmp/igmp.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "tests/fuzz/checks.hpp"

namespace {

using namespace stopbit;

constexpr std::array<std::string_view, 8> kFramings = {"cme",
                                                       "b3",
                                                       "moex",
                                                       "t7",
                                                       "none",
                                                       "custom:skip=9,seq=u64le@1",
                                                       "custom:seq=u16be@3,len=u16le@1,reset=never",
                                                       "custom:skip=0,blocks=yes"};

const std::vector<net::Framing>& framings() {
  static const std::vector<net::Framing> all = [] {
    std::vector<net::Framing> result;
    for (const std::string_view text : kFramings) {
      auto framing = net::parse_framing(text);
      fuzz::require(framing.ok(), "our framings are good", text);
      result.push_back(std::move(framing).value());
    }
    return result;
  }();
  return all;
}

void check_preamble(std::span<const std::byte> datagram, net::ChunkAssembler& chunks) {
  for (const net::Framing& framing : framings()) {
    const net::Preamble preamble = net::read_preamble(framing, datagram);
    if (preamble.error != ErrorCode::None) continue;
    fuzz::require(preamble.data_begin <= preamble.data_end && preamble.data_end <= datagram.size(),
                  "the data lies inside the datagram", framing.name);
    if (framing.kind == net::FramingKind::B3) {
      const auto answer = chunks.add(0, datagram, preamble);
      fuzz::require(answer.whole.size() <= limits::kMaxDatagramBytes, "a message of chunks is bounded");
    }
    if (!framing.blocks) continue;
    net::BlockReader blocks(datagram, preamble.data_begin, preamble.data_end);
    std::uint32_t at = preamble.data_begin;
    while (const auto block = blocks.next()) {
      if (block->error != ErrorCode::None) {
        fuzz::require(!blocks.next(), "nothing behind a block with an error");
        break;
      }
      fuzz::require(block->begin > at && block->begin < block->end && block->end <= preamble.data_end,
                    "blocks follow each other inside the datagram");
      at = block->end;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = memfd_create("fuzz.pcap", MFD_CLOEXEC);
  fuzz::require(file >= 0, "there is memory for a file");
  fuzz::require(write(file, data, size) == static_cast<ssize_t>(size), "the file is written");
  lseek(file, 0, SEEK_SET);
  auto source = ingest::open_capture(file, "fuzz.pcap");
  if (!source) {
    fuzz::require(source.message().find("fuzz.pcap") != std::string::npos, "a refusal names the file");
    return 0;
  }
  net::ChunkAssembler chunks(1);
  ingest::Packet packet;
  ingest::Next next = ingest::Next::End;
  std::uint64_t number = 0;
  while ((next = source.value()->next(packet)) == ingest::Next::Packet) {
    fuzz::require(packet.number == ++number, "packets are counted from 1");
    // A copy of exactly this size: a sanitizer sees a read past its end.
    const std::vector<std::byte> frame(packet.frame.begin(), packet.frame.end());
    net::Datagram datagram;
    const net::Verdict verdict = net::parse_frame(packet.link, frame, packet.original_bytes, datagram);
    if (net::Datagram plain; packet.link == net::LinkType::Ethernet && net::parse_plain_frame(frame, plain))
      fuzz::require(verdict == net::Verdict::Accepted && plain.payload.data() == datagram.payload.data() &&
                        plain.payload.size() == datagram.payload.size() && plain.source == datagram.source &&
                        plain.destination == datagram.destination && plain.ignored_bytes == datagram.ignored_bytes,
                    "the short way says what the long one says");
    if (ingest::is_igmp_query(frame))
      fuzz::require(verdict != net::Verdict::Accepted || packet.link != net::LinkType::Ethernet,
                    "a query is no datagram");
    if (verdict != net::Verdict::Accepted) continue;
    const std::byte* begin = datagram.payload.data();
    fuzz::require(begin >= frame.data() && begin + datagram.payload.size() <= frame.data() + frame.size(),
                  "the datagram lies inside the frame");
    check_preamble(datagram.payload, chunks);
  }
  if (next == ingest::Next::Fault) {
    fuzz::require(source.value()->fault().packet == number + 1, "a fault names the packet it is at");
    fuzz::require(!source.value()->fault().message.empty(), "a fault says what it is");
    fuzz::require(source.value()->next(packet) == ingest::Next::End, "behind a fault is the end");
  }
  return 0;
}
