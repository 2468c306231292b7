// Any words as the address of a published ring and as filters, as `stopbit tail` and `stopbit subscribe` are given
// them: an error of usage, or an address and a filter that the protocol carries as they are.

#include <string>
#include <vector>

#include "host/tools/files.hpp"
#include "host/tools/remote_ring.hpp"
#include "tests/fuzz/checks.hpp"

namespace {

std::string scheme_of(stopbit::tools::RemoteAddress::Carrier carrier) {
  using Carrier = stopbit::tools::RemoteAddress::Carrier;
  switch (carrier) {
    case Carrier::Fabric: return "fabric://";
    case Carrier::Shm: return "shm://";
    case Carrier::Broker: return "broker:";
  }
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  using namespace stopbit::tools;
  // Words, one a line; the first is the address.
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') {
      words.emplace_back();
    } else {
      words.back().push_back(static_cast<char>(data[i]));
    }
  }
  nic::remote::Subscribe request;
  try {
    const RemoteAddress address = parse_remote(words.front());
    fuzz::require(is_remote(words.front()), "only an address is one");
    fuzz::require(scheme_of(address.carrier) + address.place + "/" + address.ring == words.front(),
                  "an address is its parts", words.front());
    request.ring = address.ring;
  } catch (const ToolError& error) {
    fuzz::require(error.status() == kExitUsage, "an error of usage", error.what());
  }
  try {
    request.filter = parse_filter({words.begin() + 1, words.end()});
  } catch (const ToolError& error) {
    fuzz::require(error.status() == kExitUsage, "an error of usage", error.what());
    return 0;
  }
  fuzz::require(request.filter.patterns.size() == words.size() - 1, "a pattern for each --filter");
  if (request.ring.size() > nic::remote::kMaxNameBytes || request.filter.field.size() > nic::remote::kMaxNameBytes) {
    return 0;  // a subscriber says so
  }
  request.layout = {nic::ChannelLayout::kMinSlots, 1024};
  request.event = 1;
  const auto read = nic::remote::read_subscribe(nic::remote::to_bytes(request));
  fuzz::require(read.ok(), "what was parsed can be asked for", read.ok() ? "" : read.message());
  fuzz::require(read.value().ring == request.ring && read.value().filter == request.filter, "it arrives as it was");
  return 0;
}
