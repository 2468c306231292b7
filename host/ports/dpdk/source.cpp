#include "host/ports/dpdk/source.hpp"

#include "host/feed/description/description.hpp"
#include "host/os/config/keys.hpp"

#ifdef STOPBIT_DPDK
#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

#include "host/ports/dpdk/dpdk_port.hpp"
#endif

namespace stopbit::ingest {
namespace {

constexpr std::size_t kMaxQueues = 16;

#ifdef STOPBIT_DPDK

bool has_huge_pages(std::uint32_t memory_mb) {
  std::ifstream file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  std::uint64_t pages = 0;
  return static_cast<bool>(file >> pages) && pages >= memory_mb / 2;
}

/// The queues of devices. The first queue that is asked for opens its device with all of them.
using Devices = std::map<std::string, std::vector<std::unique_ptr<Port>>>;

Devices& devices_of(PortContext& context) {
  std::shared_ptr<void>& shared = context.shared["dpdk"];
  if (!shared) shared = std::make_shared<Devices>();
  return *static_cast<Devices*>(shared.get());
}

#endif

}  // namespace

std::vector<config::Key> dpdk_port_keys() {
  const QueueSource usual;
  return {config::text_key("device",
                           "A PCI address, or a virtual device. The ports of one device are its queues, in "
                           "the order of the file.")
              .required()
              .such_as("\"0000:03:00.0\""),
          config::integer_key("descriptors", {32, 32'768}, "Descriptors of each queue, on the first port of a device.")
              .otherwise(usual.descriptors),
          config::integer_key("max_frame", {256, 16'384}, "Bytes, on the first port of a device.")
              .otherwise(usual.max_frame),
          config::text_key("address", "Our own IPv4 address, for IGMP, on the first port of a device.")
              .unless("0.0.0.0")
              .such_as("\"10.1.2.3\"")};
}

/// A queue of a device, after those of the ports above it.
std::unique_ptr<PortSource> read_dpdk_port(config::Table& table, const PortPlace& place) {
  auto port = std::make_unique<QueueSource>();
  port->device = table.text("device");
  std::vector<QueueSource*> others;
  std::string first_port;
  for (const PortAbove& above : place.above) {
    auto* const other = dynamic_cast<QueueSource*>(&above.source);
    if (other == nullptr || other->device_name() != port->device_name()) continue;
    if (others.empty()) first_port = above.name;
    others.push_back(other);
  }
  if (!others.empty()) {
    const QueueSource& first = *others.front();
    if (first.device != port->device) {
      table.error("device", "port '" + first_port + "' is also a queue of this device, with other arguments: '" +
                                first.device + "'");
    }
    for (const char* key : {"descriptors", "max_frame", "address"}) {
      if (table.has(key)) {
        table.error(key, "belongs to the whole device: set it at its first queue, port '" + first_port + "'");
      }
    }
    port->descriptors = first.descriptors;
    port->max_frame = first.max_frame;
    port->address = first.address;
  } else {
    port->descriptors = static_cast<std::uint16_t>(table.integer("descriptors"));
    port->max_frame = static_cast<std::uint16_t>(table.integer("max_frame"));
    if (const std::string text = table.text("address"); !text.empty()) {
      const std::optional<std::uint32_t> address = feed::parse_address(text);
      if (!address) table.error("address", "'" + text + "' is not an IPv4 address");
      port->address = address.value_or(0);
    }
  }
  if (others.size() == kMaxQueues) {
    table.error("device", "a device has at most " + std::to_string(kMaxQueues) + " queues");
  }
  port->queue = static_cast<std::uint16_t>(others.size());
  port->queues = static_cast<std::uint16_t>(others.size() + 1);
  for (QueueSource* other : others) other->queues = port->queues;
  return port;
}

#ifdef STOPBIT_DPDK

OpenedPort QueueSource::open(PortContext& context, std::vector<std::string>& notes) const {
  const auto memory_mb = static_cast<std::uint32_t>(context.dpdk_memory >> 20);
  // Once a process.
  static const bool huge_pages = has_huge_pages(memory_mb);
  static const auto started = start_dpdk({.huge_pages = huge_pages, .memory_mb = memory_mb});
  if (!started) return Failure{started.message()};
  const std::string note = "DPDK runs without huge pages, at half its speed";
  if (!huge_pages && std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  auto& ports = devices_of(context)[device];
  if (ports.empty()) {
    DpdkPortOptions options;
    options.device = device;
    options.queues = queues;
    options.descriptors = descriptors;
    options.burst = static_cast<std::uint16_t>(kMaxBatch);
    options.max_frame_bytes = max_frame;
    options.address = address;
    auto opened = open_dpdk_ports(options);
    if (!opened) return Failure{opened.message()};
    ports = std::move(opened).value();
  }
  return std::move(ports.at(queue));
}

#else

OpenedPort QueueSource::open(PortContext& /*context*/, std::vector<std::string>& /*notes*/) const {
  return Failure{"this program was built without DPDK"};
}

#endif

}  // namespace stopbit::ingest
