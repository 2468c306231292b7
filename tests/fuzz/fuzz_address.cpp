// Any words as the address of a published ring and as filters, as users give them to `stopbit tail`: they are refused
// with a reason, or are an address and a filter that the protocol carries as they are.

#include <string>
#include <vector>

#include "host/remote/notation.hpp"
#include "tests/fuzz/checks.hpp"

namespace {

std::string scheme_of(stopbit::remote::RingAddress::Carrier carrier) {
  using Carrier = stopbit::remote::RingAddress::Carrier;
  switch (carrier) {
    case Carrier::Fabric: return "fabric://";
    case Carrier::Udp: return "udp://";
    case Carrier::Shm: return "shm://";
    case Carrier::Broker: return "broker:";
  }
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  // Words, one a line; the first is the address.
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') {
      words.emplace_back();
    } else {
      words.back().push_back(static_cast<char>(data[i]));
    }
  }
  remote::Subscribe request;
  if (const auto parsed = remote::parse_ring_address(words.front()); parsed) {
    const remote::RingAddress& address = parsed.value();
    fuzz::require(remote::is_ring_address(words.front()), "only an address is one");
    fuzz::require(scheme_of(address.carrier) + address.place + "/" + address.ring == words.front(),
                  "an address is its parts", words.front());
    request.ring = address.ring;
  } else {
    fuzz::require(!parsed.message().empty(), "what is no address is told why");
  }
  const auto filter = remote::parse_filter({words.begin() + 1, words.end()});
  if (!filter) {
    fuzz::require(!filter.message().empty(), "what is no filter is told why");
    return 0;
  }
  request.filter = filter.value();
  fuzz::require(request.filter.patterns.size() == words.size() - 1, "a pattern for each --filter");
  if (request.ring.size() > remote::kMaxNameBytes || request.filter.field.size() > remote::kMaxNameBytes) {
    return 0;  // a subscriber says so
  }
  request.layout = {nic::ChannelLayout::kMinSlots, 1024};
  request.event = 1;
  const auto read = remote::read_subscribe(remote::to_bytes(request));
  fuzz::require(read.ok(), "what was parsed can be asked for", read.ok() ? "" : read.message());
  fuzz::require(read.value().ring == request.ring && read.value().filter == request.filter, "it arrives as it was");
  return 0;
}
