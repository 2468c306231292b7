#include <map>
#include <utility>

#include "host/appliance/appliance.hpp"
#include "host/ingest/capture/capture_port.hpp"
#include "host/ingest/pcap/pcap_source.hpp"
#include "host/ingest/socket/socket_port.hpp"

#ifdef STOPBIT_DPDK
#include <algorithm>
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

bool has_huge_pages(std::uint32_t memory_mb) {
  std::ifstream file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  std::uint64_t pages = 0;
  return static_cast<bool>(file >> pages) && pages >= memory_mb / 2;
}

/// The queues of devices. The first queue that is asked for opens its device with all of them.
class DpdkQueues {
 public:
  explicit DpdkQueues(std::uint64_t memory_bytes) : memory_mb_(static_cast<std::uint32_t>(memory_bytes >> 20)) {}

  PortResult open(const PortSettings& settings, std::vector<std::string>& notes) {
    // Once a process.
    static const bool huge_pages = has_huge_pages(memory_mb_);
    static const Result<ingest::Done> started = ingest::start_dpdk({.huge_pages = huge_pages, .memory_mb = memory_mb_});
    if (!started) return Failure{started.message()};
    const std::string note = "DPDK runs without huge pages, at half its speed";
    if (!huge_pages && std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    auto& queues = devices_[settings.device];
    if (queues.empty()) {
      ingest::DpdkPortOptions options;
      options.device = settings.device;
      options.queues = settings.queues;
      options.descriptors = settings.descriptors;
      options.burst = static_cast<std::uint16_t>(kMaxBatch);
      options.max_frame_bytes = settings.max_frame;
      options.address = settings.address;
      auto ports = ingest::open_dpdk_ports(options);
      if (!ports) return Failure{ports.message()};
      queues = std::move(ports).value();
    }
    return std::move(queues.at(settings.queue));
  }

 private:
  std::uint32_t memory_mb_;
  std::map<std::string, std::vector<std::unique_ptr<ingest::Port>>> devices_;
};

#else

class DpdkQueues {
 public:
  explicit DpdkQueues(std::uint64_t /*memory_bytes*/) {}
  PortResult open(const PortSettings& /*settings*/, std::vector<std::string>& /*notes*/) {
    return Failure{"this program was built without DPDK"};
  }
};

#endif

}  // namespace

OpenPort standard_ports(Clock clock, std::uint64_t dpdk_memory) {
  const auto dpdk = std::make_shared<DpdkQueues>(dpdk_memory);
  return [clock = std::move(clock), dpdk](const PortSettings& settings, std::vector<std::string>& notes) -> PortResult {
    switch (settings.kind) {
      case PortKind::Socket: return open_socket(settings);
      case PortKind::Capture: return open_capture(settings, clock);
      case PortKind::Dpdk: return dpdk->open(settings, notes);
    }
    return Failure{"no port of this kind"};
  };
}

}  // namespace stopbit::appliance
