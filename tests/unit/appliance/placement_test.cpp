#include "host/appliance/placement.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <cerrno>

#include "tests/lib/scratch.hpp"

namespace stopbit::appliance::placement_test {

TEST(Topology, tells_the_nodes_of_cores_interfaces_and_cards) {
  const testing::Scratch machine;
  machine.write("sys/devices/system/node/online", "0,2\n");
  machine.write("sys/devices/system/node/node0/cpulist", "0-3,8\n");
  machine.write("sys/devices/system/node/node2/cpulist", "4-7\n");
  machine.write("sys/class/net/eth1/device/numa_node", "2\n");
  machine.write("sys/class/net/veth0/device/numa_node", "-1\n");
  machine.write("sys/class/net/odd/device/numa_node", "7\n");
  machine.write("sys/bus/pci/devices/0000:81:00.0/numa_node", "2\n");
  const Topology topology(machine.folder().string());
  EXPECT_EQ(topology.nodes(), 2U);
  EXPECT_EQ(topology.node_of_core(8), 0U);
  EXPECT_EQ(topology.node_of_core(5), 2U);
  EXPECT_EQ(topology.node_of_core(9), std::nullopt);
  EXPECT_EQ(topology.node_of_interface("eth1"), 2U);
  EXPECT_EQ(topology.node_of_interface("veth0"), std::nullopt) << "-1: it has none";
  EXPECT_EQ(topology.node_of_interface("odd"), std::nullopt) << "a node that the machine does not have";
  EXPECT_EQ(topology.node_of_interface("../net/eth1"), std::nullopt);
  EXPECT_EQ(topology.node_of_interface(""), std::nullopt);
  EXPECT_EQ(topology.node_of_pci("0000:81:00.0"), 2U);
  EXPECT_EQ(topology.node_of_pci("net_pcap0"), std::nullopt);
}

TEST(Topology, of_a_kernel_that_tells_nothing_has_no_nodes) {
  const testing::Scratch nothing;
  const Topology topology(nothing.folder().string());
  EXPECT_EQ(topology.nodes(), 0U);
  EXPECT_EQ(topology.node_of_core(0), std::nullopt);
}

TEST(Visit, brings_thread_and_memory_there_and_back) {
  const Topology topology;
  const auto node = topology.node_of_core(0);
  if (!node) GTEST_SKIP() << "this kernel has no NUMA";
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  constexpr std::size_t kBytes = 1U << 20;
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  {
    const Visit visit({.core = 0, .node = node});
    EXPECT_EQ(visit.node_error(), 0);
    EXPECT_EQ(::sched_getcpu(), 0);
    static_cast<char*>(memory)[0] = 1;
    EXPECT_EQ(node_of_memory(memory), node);
  }
  cpu_set_t after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  ::munmap(memory, kBytes);
}

TEST(Visit, to_a_node_that_there_is_not_is_refused_and_changes_nothing) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  {
    const Visit visit({.core = std::nullopt, .node = 1'000});
    EXPECT_NE(visit.node_error(), 0);
  }
  const Visit beyond({.core = 1'000'000, .node = 1'000'000});
  EXPECT_EQ(beyond.node_error(), EINVAL);
  cpu_set_t after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace stopbit::appliance::placement_test
