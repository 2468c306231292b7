#include "host/analyse/check_host/check.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/lib/scratch.hpp"

namespace stopbit::check::check_test {

/// A machine made of files.
class Machine {
 public:
  void file(const std::string& path, const std::string& text) const { scratch_.write(path.substr(1), text + '\n'); }

  [[nodiscard]] std::map<std::string, Finding> look(std::vector<std::string> interfaces = {}) const {
    std::map<std::string, Finding> findings;
    for (const Finding& finding :
         check::look({.interfaces = std::move(interfaces), .root = scratch_.path(), .dpdk = true})) {
      EXPECT_FALSE(finding.why.empty()) << finding.name;
      EXPECT_FALSE(finding.how.empty()) << finding.name;
      EXPECT_TRUE(findings.emplace(finding.name, finding).second) << finding.name << " comes twice";
    }
    return findings;
  }

 private:
  const testing::Scratch scratch_;
};

const std::string kCpu = "/sys/devices/system/cpu/";

void make_good(const Machine& machine) {
  machine.file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
  machine.file(kCpu + "cpu0/cpufreq/scaling_governor", "performance");
  machine.file(kCpu + "cpu1/cpufreq/scaling_governor", "performance");
  machine.file(kCpu + "cpu0/cpuidle/state0/latency", "2");
  machine.file(kCpu + "isolated", "1");
  machine.file(kCpu + "nohz_full", "1");
  machine.file(kCpu + "smt/active", "0");
  machine.file("/proc/irq/7/smp_affinity_list", "0");
  machine.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
  machine.file("/proc/sys/kernel/numa_balancing", "0");
  machine.file("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "256");
  machine.file("/proc/sys/vm/unprivileged_userfaultfd", "0");
  machine.file("/proc/sys/net/core/rmem_max", "16777216");
  machine.file("/proc/sys/net/core/netdev_max_backlog", "10000");
  machine.file("/sys/class/net/eth1/operstate", "up");
  machine.file("/proc/sys/net/ipv4/conf/all/rp_filter", "0");
  machine.file("/proc/sys/net/ipv4/conf/eth1/rp_filter", "2");
  machine.file("/sys/bus/pci/drivers/vfio-pci/bind", "");
  machine.file("/sys/kernel/iommu_groups/0/type", "DMA");
}

TEST(CheckHost, finds_nothing_to_change_on_a_machine_that_is_set_up) {
  const Machine machine;
  make_good(machine);
  const auto findings = machine.look({"eth1"});
  EXPECT_EQ(findings.size(), 17U);
  for (const auto& [name, finding] : findings) EXPECT_EQ(finding.state, State::Good) << name << ": " << finding.found;
}

TEST(CheckHost, names_each_thing_that_is_not_as_it_should_be) {
  const std::vector<std::tuple<std::string, std::string, std::string>> changes = {
      {"/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet", "clock source"},
      {kCpu + "cpu1/cpufreq/scaling_governor", "powersave", "frequency governor"},
      {kCpu + "cpu0/cpuidle/state3/latency", "133", "idle states"},
      {kCpu + "isolated", "", "isolated cores"},
      {kCpu + "nohz_full", "0", "timer ticks"},
      {kCpu + "smt/active", "1", "hyper-threads"},
      {"/proc/irq/8/smp_affinity_list", "0-1", "interrupts on isolated cores"},
      {"/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never", "transparent huge pages"},
      {"/proc/sys/kernel/numa_balancing", "1", "NUMA balancing"},
      {"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "255", "huge pages"},
      {"/proc/sys/net/core/rmem_max", "212992", "socket buffer limit"},
      {"/proc/sys/net/core/netdev_max_backlog", "1000", "kernel backlog"},
      {"/sys/class/net/eth1/operstate", "down", "eth1 link"},
      {"/proc/sys/net/ipv4/conf/eth1/rp_filter", "1", "eth1 reverse path filter"}};
  for (const auto& [path, text, name] : changes) {
    const Machine machine;
    make_good(machine);
    machine.file(path, text);
    for (const auto& [found, finding] : machine.look({"eth1"})) {
      EXPECT_EQ(finding.state, found == name ? State::Change : State::Good) << path << ": " << found;
    }
  }
}

TEST(CheckHost, wants_huge_pages_on_each_node_of_several) {
  const Machine machine;
  make_good(machine);
  machine.file("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "512");
  EXPECT_EQ(machine.look({}).count("huge pages of each node"), 0U) << "there is one node";
  machine.file("/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "0");
  const auto uneven = machine.look({}).at("huge pages of each node");
  EXPECT_EQ(uneven.state, State::Change);
  EXPECT_EQ(uneven.found, "none on node1");
  machine.file("/sys/devices/system/node/node1/hugepages/hugepages-1048576kB/nr_hugepages", "1");
  EXPECT_EQ(machine.look({}).at("huge pages of each node").state, State::Good);
}

TEST(CheckHost, wants_an_isolated_core_on_the_node_of_the_card) {
  const Machine machine;
  make_good(machine);  // isolates core 1
  const std::string node = "/sys/devices/system/node/";
  machine.file(node + "online", "0");
  machine.file("/sys/class/net/eth1/device/numa_node", "0");
  EXPECT_EQ(machine.look({"eth1"}).count("eth1 NUMA node"), 0U) << "there is one node";
  machine.file(node + "online", "0-1");
  machine.file(node + "node0/cpulist", "0-1");
  machine.file(node + "node1/cpulist", "2-3");
  EXPECT_EQ(machine.look({"eth1"}).at("eth1 NUMA node").state, State::Good);
  machine.file("/sys/class/net/eth1/device/numa_node", "1");
  const auto far = machine.look({"eth1"}).at("eth1 NUMA node");
  EXPECT_EQ(far.state, State::Change);
  EXPECT_EQ(far.found, "node 1, cores 2-3");
  for (const char* text : {"-1", "7", "", "1000000000000000000000"}) {
    machine.file("/sys/class/net/eth1/device/numa_node", text);
    EXPECT_EQ(machine.look({"eth1"}).at("eth1 NUMA node").state, State::Unknown) << text;
  }
}

TEST(CheckHost, says_what_a_machine_does_not_tell) {
  const Machine machine;
  for (const auto& [name, finding] : machine.look()) EXPECT_EQ(finding.state, State::Unknown) << name;
}

TEST(CheckHost, looks_at_interfaces_that_are_not_there_or_have_no_name) {
  const Machine machine;
  make_good(machine);
  EXPECT_EQ(machine.look({"eth9"}).at("eth9 link").state, State::Change);
  EXPECT_EQ(machine.look({"../../etc"}).at("interface ../../etc").state, State::Change);
}

TEST(CheckHost, survives_files_with_anything_in_them) {
  const Machine machine;
  make_good(machine);
  for (const std::string& path : {kCpu + "isolated", kCpu + "nohz_full", std::string("/proc/irq/7/smp_affinity_list"),
                                  std::string("/proc/sys/net/core/rmem_max")}) {
    machine.file(path, std::string(100'000, '9') + "-,,-4294967295");
  }
  EXPECT_EQ(machine.look().at("socket buffer limit").state, State::Unknown);
}

TEST(CheckHost, reads_lists_of_processors) {
  using List = std::vector<unsigned>;
  EXPECT_EQ(parse_cpu_list(""), List{});
  EXPECT_EQ(parse_cpu_list("0-2,8"), (List{0, 1, 2, 8}));
  EXPECT_EQ(parse_cpu_list("3"), (List{3}));
  EXPECT_EQ(parse_cpu_list("3,x"), (List{3}));
  EXPECT_EQ(parse_cpu_list("5-"), List{});
  EXPECT_EQ(parse_cpu_list("9-7"), List{});
  EXPECT_EQ(parse_cpu_list("0-4294967295"), List{});
}

}  // namespace stopbit::check::check_test
