#include "host/appliance/port_source.hpp"

#include <utility>

#include "host/appliance/appliance.hpp"

namespace stopbit::appliance {
namespace {

constexpr PortKind kKinds[] = {
#define STOPBIT_PORT_KIND(name) {#name, read_##name##_port},
#include "host/appliance/sources/port_kinds.def"
#undef STOPBIT_PORT_KIND
};

}  // namespace

std::span<const PortKind> port_kinds() noexcept {
  return kKinds;
}

OpenPort standard_ports(Clock clock, std::uint64_t dpdk_memory, opener::Client* opener) {
  const auto context = std::make_shared<PortContext>(
      PortContext{.clock = std::move(clock), .dpdk_memory = dpdk_memory, .opener = opener});
  return [context](const PortSettings& settings, std::vector<std::string>& notes) {
    return settings.source->open(*context, notes);
  };
}

}  // namespace stopbit::appliance
