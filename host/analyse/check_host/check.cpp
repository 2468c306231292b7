#include "host/analyse/check_host/check.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

namespace stopbit::check {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = 64U << 10;
constexpr unsigned kMaxCpus = 4'096;
constexpr std::uint64_t kWantedReceiveBuffer = 16U << 20;  // what a port of sockets asks for
constexpr std::uint64_t kWantedHugeMemory = 512U << 20;
constexpr std::uint64_t kWantedBacklog = 10'000;
constexpr std::uint64_t kSlowWakeUpUs = 10;

std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest == text.data()) return std::nullopt;
  return value;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

class Look {
 public:
  explicit Look(const Options& options) : options_(options) {}

  std::vector<Finding> run() {
    clock_source();
    clock_offset();
    governor();
    idle_states();
    isolated_cores();
    interrupts();
    smt();
    transparent_huge_pages();
    numa_balancing();
    huge_pages();
    huge_pages_of_nodes();
    locked_memory();
    page_faults();
    at_least("/proc/sys/net/core/rmem_max", "socket buffer limit", kWantedReceiveBuffer,
             "Bursts that exceed a socket's buffer are lost.", "sysctl -w net.core.rmem_max=16777216");
    at_least("/proc/sys/net/core/netdev_max_backlog", "kernel backlog", kWantedBacklog,
             "Packets that overflow the kernel's queue are lost before they reach a socket.",
             "sysctl -w net.core.netdev_max_backlog=10000");
    for (const std::string& interface : options_.interfaces) look_at(interface);
    if (options_.dpdk) dpdk();
    return std::move(findings_);
  }

 private:
  /// The start of a file without the line feed at its end; nothing if it cannot be read.
  [[nodiscard]] std::optional<std::string> read(const std::string& path) const {
    std::ifstream file(options_.root + path, std::ios::binary);
    if (!file) return std::nullopt;
    std::string text(kMaxFileBytes, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\0')) text.pop_back();
    return text;
  }

  /// Names in a folder, in order; none if there is no such folder.
  [[nodiscard]] std::vector<std::string> list(const std::string& path) const {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(options_.root + path, error), end; !error && entry != end;
         entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  /// "cpu0", "cpu1", ...
  [[nodiscard]] std::vector<std::string> cpus() const {
    std::vector<std::string> names;
    for (const std::string& name : list("/sys/devices/system/cpu")) {
      if (name.starts_with("cpu") && name.size() > 3 && name.find_first_not_of("0123456789", 3) == std::string::npos) {
        names.push_back(name);
      }
    }
    return names;
  }

  void add(const std::string& name, State state, std::string found, std::string wanted, std::string why,
           std::string how) {
    findings_.push_back({name, state, std::move(found), std::move(wanted), std::move(why), std::move(how)});
  }
  static State good_if(bool good) { return good ? State::Good : State::Change; }

  /// A file that must have a word.
  void must_be(const std::string& path, const std::string& name, const std::string& wanted, const std::string& why,
               const std::string& how) {
    const auto found = read(path);
    add(name, found ? good_if(*found == wanted) : State::Unknown, found.value_or(""), wanted, why, how);
  }

  void at_least(const std::string& path, const std::string& name, std::uint64_t wanted, const std::string& why,
                const std::string& how) {
    const auto text = read(path);
    const auto found = text ? number_of(*text) : std::nullopt;
    add(name, found ? good_if(*found >= wanted) : State::Unknown, text.value_or(""),
        "at least " + std::to_string(wanted), why, how);
  }

  void clock_source() {
    must_be("/sys/devices/system/clocksource/clocksource0/current_clocksource", "clock source", "tsc",
            "With another source every read of the clock is a slow access to a device or hypervisor.",
            "kernel parameter clocksource=tsc tsc=reliable, if the processor's counter is stable");
  }

  void clock_offset() {
    if (!options_.root.empty()) return;
    timex status{};
    const int state = ::adjtimex(&status);
    const bool synchronised = state >= 0 && (status.status & STA_UNSYNC) == 0;
    add("clock", state < 0 ? State::Unknown : good_if(synchronised), synchronised ? "synchronised" : "not synchronised",
        "synchronised", "Arrival times of several machines and exchanges cannot be compared.",
        "run chrony, or ptp4l and phc2sys");
  }

  void governor() {
    std::vector<std::string> slow;
    bool known = false;
    for (const std::string& cpu : cpus()) {
      const auto found = read("/sys/devices/system/cpu/" + cpu + "/cpufreq/scaling_governor");
      known = known || found;
      if (found && *found != "performance" && std::find(slow.begin(), slow.end(), *found) == slow.end()) {
        slow.push_back(*found);
      }
    }
    add("frequency governor", known ? good_if(slow.empty()) : State::Unknown,
        !known         ? ""
        : slow.empty() ? "performance"
                       : join(slow),
        "performance", "A core that has slowed down needs up to milliseconds to return to full speed.",
        "cpupower frequency-set -g performance");
  }

  void idle_states() {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cpuidle";
    std::vector<std::string> slow;
    const std::vector<std::string> states = list(folder);
    for (const std::string& state : states) {
      const std::string place = folder + "/" + state;
      const auto latency = number_of(read(place + "/latency").value_or(""));
      if (latency && *latency > kSlowWakeUpUs && read(place + "/disable").value_or("0") == "0") {
        slow.push_back(read(place + "/name").value_or(state) + " " + std::to_string(*latency) + " us");
      }
    }
    add("idle states", states.empty() ? State::Unknown : good_if(slow.empty()),
        slow.empty() ? "no slow ones" : join(slow),
        "none with an exit latency over " + std::to_string(kSlowWakeUpUs) + " us",
        "A core in a deep sleep state is late for the first packet after a pause.",
        "cpupower idle-set -D 10, or kernel parameter intel_idle.max_cstate=1");
  }

  void isolated_cores() {
    const auto found = read("/sys/devices/system/cpu/isolated");
    add("isolated cores", found ? good_if(!found->empty()) : State::Unknown,
        found && found->empty() ? "none" : found.value_or(""), "a core for each agent that polls",
        "The scheduler runs other work on the polling cores, and packets wait for it.",
        "kernel parameters isolcpus=CORES nohz_full=CORES rcu_nocbs=CORES");
    if (!found || found->empty()) return;
    const auto ticks = read("/sys/devices/system/cpu/nohz_full");
    const std::vector<unsigned> isolated = parse_cpu_list(*found);
    const std::vector<unsigned> silent = parse_cpu_list(ticks.value_or(""));
    const bool all = std::all_of(isolated.begin(), isolated.end(), [&silent](unsigned cpu) {
      return std::find(silent.begin(), silent.end(), cpu) != silent.end();
    });
    add("timer ticks", ticks ? good_if(all) : State::Unknown, ticks.value_or(""), "nohz_full for " + *found,
        "The timer interrupts an isolated core up to 1,000 times per second.", "kernel parameter nohz_full=" + *found);
  }

  void interrupts() {
    const std::vector<unsigned> isolated = parse_cpu_list(read("/sys/devices/system/cpu/isolated").value_or(""));
    if (isolated.empty()) return;
    std::vector<std::string> guilty;
    const std::vector<std::string> numbers = list("/proc/irq");
    for (const std::string& number : numbers) {
      const std::vector<unsigned> allowed =
          parse_cpu_list(read("/proc/irq/" + number + "/effective_affinity_list")
                             .value_or(read("/proc/irq/" + number + "/smp_affinity_list").value_or("")));
      const bool hits = std::any_of(allowed.begin(), allowed.end(), [&isolated](unsigned cpu) {
        return std::find(isolated.begin(), isolated.end(), cpu) != isolated.end();
      });
      if (hits) guilty.push_back(number);
    }
    const std::size_t count = guilty.size();
    if (count > 8) {
      guilty.resize(8);
      guilty.emplace_back("...");
    }
    add("interrupts on isolated cores", numbers.empty() ? State::Unknown : good_if(count == 0),
        count == 0 ? "none" : std::to_string(count) + ": " + join(guilty), "none",
        "An interrupt takes microseconds from the agent on that core.",
        "echo OTHER-CORES > /proc/irq/NUMBER/smp_affinity_list, and stop irqbalance or ban these cores in its "
        "settings");
  }

  void smt() {
    must_be("/sys/devices/system/cpu/smt/active", "hyper-threads", "0",
            "Two threads of a core share its caches and execution units: a sibling slows the agent down.",
            "kernel parameter nosmt, or leave the siblings of the agents' cores idle");
  }

  void transparent_huge_pages() {
    const auto found = read("/sys/kernel/mm/transparent_hugepage/enabled");
    const bool always = found && found->find("[always]") != std::string::npos;
    add("transparent huge pages", found ? good_if(!always) : State::Unknown, found.value_or(""), "madvise or never",
        "The kernel stops programs for milliseconds while it assembles huge pages.",
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
  }

  void numa_balancing() {
    must_be("/proc/sys/kernel/numa_balancing", "NUMA balancing", "0",
            "The kernel unmaps pages briefly to see which node uses them.", "sysctl -w kernel.numa_balancing=0");
  }

  /// All huge pages that a folder of the kernel lists; nothing if it has no such file.
  [[nodiscard]] std::optional<std::uint64_t> huge_bytes(const std::string& folder) const {
    std::optional<std::uint64_t> bytes;
    for (const std::string& name : list(folder)) {
      constexpr std::string_view kPrefix = "hugepages-";
      if (!name.starts_with(kPrefix)) continue;
      const auto kib = number_of(name.substr(kPrefix.size()));
      const auto pages = number_of(read(folder + "/" + name + "/nr_hugepages").value_or(""));
      if (kib && pages) bytes = bytes.value_or(0) + *kib * 1024 * *pages;
    }
    return bytes;
  }

  void huge_pages() {
    const std::optional<std::uint64_t> found = huge_bytes("/sys/kernel/mm/hugepages");
    const bool known = found.has_value();
    const std::uint64_t bytes = found.value_or(0);
    add("huge pages", known ? good_if(bytes >= kWantedHugeMemory) : State::Unknown,
        std::to_string(bytes >> 20) + " MiB", "at least " + std::to_string(kWantedHugeMemory >> 20) + " MiB",
        "Rings and packet buffers in small pages cause TLB misses; DPDK runs at half its speed.",
        "sysctl -w vm.nr_hugepages=256, or kernel parameters hugepagesz=1G hugepages=1");
  }

  /// Huge pages reserved as a total may all be on one node.
  void huge_pages_of_nodes() {
    std::size_t nodes = 0;
    std::vector<std::string> without;
    for (const std::string& name : list("/sys/devices/system/node")) {
      if (!name.starts_with("node") || !number_of(name.substr(4))) continue;
      ++nodes;
      const auto bytes = huge_bytes("/sys/devices/system/node/" + name + "/hugepages");
      if (bytes.value_or(0) == 0) without.push_back(name);
    }
    if (nodes < 2) return;
    add("huge pages of each node", good_if(without.empty()),
        without.empty() ? "on all " + std::to_string(nodes) : "none on " + join(without),
        "huge pages on each node with a card or an agent",
        "DPDK allocates a card's frames on the card's node; memory of another node is slower.",
        "echo 256 > /sys/devices/system/node/NODE/hugepages/hugepages-2048kB/nr_hugepages");
  }

  void locked_memory() {
    if (!options_.root.empty()) return;
    rlimit limit{};
    const bool known = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0;
    const bool enough = known && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= kWantedHugeMemory);
    add("locked memory", known ? good_if(enough || ::geteuid() == 0) : State::Unknown,
        limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur >> 10) + " KiB",
        "at least " + std::to_string(kWantedHugeMemory >> 20) + " MiB",
        "A page that is swapped out or not yet touched stalls the agent that needs it.",
        "LimitMEMLOCK=infinity in the service, or ulimit -l unlimited");
  }

  void page_faults() {
    // The file exists if the kernel has the call; only user faults are used here, so its value does not matter.
    const bool is_there = read("/proc/sys/vm/unprivileged_userfaultfd").has_value();
    add("userfaultfd", is_there ? State::Good : State::Unknown, is_there ? "there" : "", "there",
        "Without it clients of a broker cannot share files as memory.", "a kernel with CONFIG_USERFAULTFD");
  }

  void look_at(const std::string& interface) {
    // The name goes into paths.
    if (interface.empty() || interface.size() >= IFNAMSIZ || interface.find('/') != std::string::npos ||
        interface.starts_with('.')) {
      add("interface " + interface, State::Change, "not a valid name", "", "The interface cannot be checked.",
          "ip link");
      return;
    }
    const auto link = read("/sys/class/net/" + interface + "/operstate");
    const bool is_up = link && (*link == "up" || *link == "unknown");  // virtual ones do not know
    add(interface + " link", good_if(is_up), link.value_or("no such interface"), "up", "Nothing arrives on it.",
        "ip link set " + interface + " up");
    if (!link) return;
    node_of(interface);
    reverse_path(interface);
    rings(interface);
  }

  /// Whether an agent can have a core of its own near the card.
  void node_of(const std::string& interface) {
    const std::string nodes = "/sys/devices/system/node/";
    if (parse_cpu_list(read(nodes + "online").value_or("")).size() < 2) return;
    const auto node = number_of(read("/sys/class/net/" + interface + "/device/numa_node").value_or(""));
    const std::string cores = node ? read(nodes + "node" + std::to_string(*node) + "/cpulist").value_or("") : "";
    const std::vector<unsigned> near = parse_cpu_list(cores);
    const std::vector<unsigned> isolated = parse_cpu_list(read("/sys/devices/system/cpu/isolated").value_or(""));
    const bool is_near = std::find_first_of(near.begin(), near.end(), isolated.begin(), isolated.end()) != near.end();
    add(interface + " NUMA node", near.empty() ? State::Unknown : good_if(is_near),
        near.empty() ? "" : "node " + std::to_string(*node) + ", cores " + cores, "an isolated core on the card's node",
        "An agent on another node reads each packet over the link between nodes.",
        near.empty()
            ? "cat /sys/class/net/" + interface + "/device/numa_node"
            : "kernel parameter isolcpus with cores of " + cores + ", and core of the agent in appliance.toml");
  }

  /// Multicast sources are often not reachable through the interface that they arrive on.
  void reverse_path(const std::string& interface) {
    const auto all = number_of(read("/proc/sys/net/ipv4/conf/all/rp_filter").value_or(""));
    const auto own = number_of(read("/proc/sys/net/ipv4/conf/" + interface + "/rp_filter").value_or(""));
    const bool known = all && own;
    const std::uint64_t strictest = known ? std::max(*all, *own) : 0;  // the kernel takes the larger: 2 is loose
    add(interface + " reverse path filter", known ? good_if(strictest != 1) : State::Unknown,
        !known           ? ""
        : strictest == 1 ? "strict"
        : strictest == 2 ? "loose"
                         : "off",
        "off or loose", "The kernel silently drops multicast from senders that it routes through another interface.",
        "sysctl -w net.ipv4.conf." + interface + ".rp_filter=2");
  }

  void rings(const std::string& interface) {
    if (!options_.root.empty()) return;
    ethtool_ringparam rings{};
    rings.cmd = ETHTOOL_GRINGPARAM;
    ifreq request{};
    interface.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&rings);
    const int descriptor = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool known = descriptor >= 0 && ::ioctl(descriptor, SIOCETHTOOL, &request) == 0 && rings.rx_max_pending != 0;
    if (descriptor >= 0) ::close(descriptor);
    add(interface + " receive ring", known ? good_if(rings.rx_pending >= rings.rx_max_pending) : State::Unknown,
        known ? std::to_string(rings.rx_pending) : "", known ? std::to_string(rings.rx_max_pending) : "its maximum",
        "The card drops a burst when it runs out of descriptors.",
        "ethtool -G " + interface + " rx " + (known ? std::to_string(rings.rx_max_pending) : "MAX"));
  }

  void dpdk() {
    const std::vector<std::string> drivers = list("/sys/bus/pci/drivers");
    const auto has = [&drivers](const char* name) {
      return std::find(drivers.begin(), drivers.end(), name) != drivers.end();
    };
    const bool bound = has("vfio-pci") || has("mlx5_core");
    add("DPDK driver", drivers.empty() ? State::Unknown : good_if(bound),
        has("vfio-pci")    ? "vfio-pci"
        : has("mlx5_core") ? "mlx5_core"
                           : "none",
        "vfio-pci, or a card whose kernel driver works with DPDK (mlx5)",
        "DPDK cannot use a card; socket ports and af_packet work without it.",
        "modprobe vfio-pci; dpdk-devbind.py -b vfio-pci CARD");
    const bool translated = !list("/sys/kernel/iommu_groups").empty();
    if (has("vfio-pci")) {
      add("IOMMU", good_if(translated), translated ? "on" : "off", "on",
          "Without it vfio-pci refuses cards, or a card could write to any memory.",
          "kernel parameters intel_iommu=on iommu=pt, or amd_iommu=on");
    }
  }

  const Options& options_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<unsigned> parse_cpu_list(const std::string& text) {
  std::vector<unsigned> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&]() -> std::optional<unsigned> {
    unsigned value = 0;
    const auto [rest, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value >= kMaxCpus) return std::nullopt;
    at = rest;
    return value;
  };
  while (at != end) {
    const auto first = number();
    if (!first) break;
    auto last = first;
    if (at != end && *at == '-') {
      ++at;
      last = number();
      if (!last) break;
    }
    for (unsigned cpu = *first; cpu <= *last && cpus.size() < kMaxCpus; ++cpu) cpus.push_back(cpu);
    if (at == end || *at != ',') break;
    ++at;
  }
  return cpus;
}

std::vector<Finding> look(const Options& options) {
  return Look(options).run();
}

}  // namespace stopbit::check
