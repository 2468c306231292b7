#include "host/appliance/appliance.hpp"
#include "host/ingest/capture/capture_port.hpp"
#include "host/ingest/pcap/pcap_source.hpp"
#include "host/ingest/socket/socket_port.hpp"

namespace stopbit::appliance {
namespace {

using PortResult = Result<std::unique_ptr<ingest::Port>>;

PortResult open_capture(const PortSettings& settings, const Clock& clock) {
  Result<std::unique_ptr<ingest::PacketSource>> source = ingest::open_capture(settings.file);
  if (!source) return Failure{source.message()};
  return ingest::make_capture_port(std::move(source).value(), {.speed = settings.speed, .clock = clock});
}

PortResult open_socket(const PortSettings& settings) {
  return ingest::open_socket_port({.interface = settings.interface,
                                   .max_payload_bytes = settings.max_payload,
                                   .receive_buffer = settings.receive_buffer,
                                   .busy_poll_us = static_cast<std::uint32_t>(settings.busy_poll_us)});
}

}  // namespace

OpenPort standard_ports(Clock clock) {
  return [clock = std::move(clock)](const PortSettings& settings, std::vector<std::string>& /*notes*/) -> PortResult {
    switch (settings.kind) {
      case PortKind::Socket: return open_socket(settings);
      case PortKind::Capture: return open_capture(settings, clock);
      case PortKind::Dpdk: break;
    }
    return Failure{"this program was built without DPDK"};
  };
}

}  // namespace stopbit::appliance
