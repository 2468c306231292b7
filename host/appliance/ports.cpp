#include "host/appliance/appliance.hpp"
#include "host/ingest/capture/capture_port.hpp"
#include "host/ingest/pcap/pcap_source.hpp"
#include "host/ingest/socket/socket_port.hpp"

#ifdef STOPBIT_DPDK
#include <fstream>

#include "host/ingest/dpdk/dpdk_port.hpp"
#endif

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

#ifdef STOPBIT_DPDK

bool has_huge_pages() {
  std::ifstream file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  std::uint64_t pages = 0;
  return static_cast<bool>(file >> pages) && pages >= ingest::DpdkOptions{}.memory_mb / 2;
}

/// The first one of the process starts DPDK.
PortResult open_dpdk(const PortSettings& settings, std::vector<std::string>& notes) {
  static const bool huge_pages = has_huge_pages();
  static const Result<ingest::Done> started = [] {
    ingest::DpdkOptions options;
    options.huge_pages = huge_pages;
    return ingest::start_dpdk(options);
  }();
  if (!started) return Failure{started.message()};
  if (!huge_pages) notes.emplace_back("DPDK runs without huge pages, at half its speed");
  ingest::DpdkPortOptions options;
  options.device = settings.device;
  Result<std::vector<std::unique_ptr<ingest::Port>>> ports = ingest::open_dpdk_ports(options);
  if (!ports) return Failure{ports.message()};
  return std::move(ports.value().front());
}

#else

PortResult open_dpdk(const PortSettings& /*settings*/, std::vector<std::string>& /*notes*/) {
  return Failure{"this program was built without DPDK"};
}

#endif

}  // namespace

OpenPort standard_ports(Clock clock) {
  return [clock = std::move(clock)](const PortSettings& settings, std::vector<std::string>& notes) -> PortResult {
    switch (settings.kind) {
      case PortKind::Socket: return open_socket(settings);
      case PortKind::Capture: return open_capture(settings, clock);
      case PortKind::Dpdk: return open_dpdk(settings, notes);
    }
    return Failure{"no port of this kind"};
  };
}

}  // namespace stopbit::appliance
