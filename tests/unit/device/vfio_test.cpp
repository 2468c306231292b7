#include "host/device/vfio/vfio_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/device/generated/registers.hpp"
#include "host/device/sim/sim_vfio.hpp"
#include "tests/lib/scratch.hpp"

// The leaf on a simulated kernel that refuses: what is said, and what is left open. On a real one:
// tests/system/qemu; with the Verilated kernel: fpga/sim.

namespace stopbit::device {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A kernel of registers that comes to rest at its second look, and remembers what it can reach.
class Registers final : public sim::Function {
 public:
  [[nodiscard]] std::uint32_t read(std::uint32_t offset) override {
    if (offset == registers::kId) return id;
    if (offset == registers::kStatus) return never_rests || looks++ == 0 ? 0 : registers::kStatusIdle;
    return values[offset];
  }
  void write(std::uint32_t offset, std::uint32_t value) override {
    values[offset] = value;
    if (offset == registers::kControl) reached_at_control.push_back(memory.size());
  }
  void map(std::uint64_t address, std::byte* data, std::size_t bytes) override { memory[address] = {data, bytes}; }
  void unmap(std::uint64_t address) override { memory.erase(address); }
  void reset() override { ++resets; }

  std::uint32_t id = registers::kIdValue;
  bool never_rests = false;
  int looks = 0;
  int resets = 0;
  std::map<std::uint32_t, std::uint32_t> values;
  std::vector<std::size_t> reached_at_control;  ///< Buffers in reach at each command to stop.
  std::map<std::uint64_t, std::pair<std::byte*, std::size_t>> memory;
};

class Vfio : public ::testing::Test {
 protected:
  Vfio() {
    auto made = std::make_unique<Registers>();
    function = made.get();
    kernel = std::make_shared<sim::SimulatedVfio>(std::move(made));
    machine = &kernel->machine();
    options.address = machine->address;
  }
  void TearDown() override {
    EXPECT_EQ(kernel->open_files(), 0U);
    EXPECT_EQ(kernel->mapped_bars(), 0U);
    EXPECT_FALSE(kernel->is_master());
  }

  std::unique_ptr<Device> open() {
    auto opened = open_vfio(options, kernel);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.message());
    return opened.ok() ? std::move(opened).value() : nullptr;
  }
  /// Why it is not opened; nothing is left of the try.
  std::string refusal() {
    const auto opened = open_vfio(options, kernel);
    EXPECT_EQ(kernel->open_files(), opened.ok() ? 3U : 0U);
    return opened.ok() ? "opened" : opened.message();
  }
  std::string obstacle() {
    const Status found = check_vfio(options, *kernel);
    return found ? "none" : found.message();
  }

  std::shared_ptr<sim::SimulatedVfio> kernel;
  Registers* function = nullptr;
  sim::VfioMachine* machine = nullptr;
  VfioOptions options;
};

TEST_F(Vfio, reads_writes_and_shares_memory) {
  auto device = open();
  ASSERT_NE(device, nullptr);
  EXPECT_TRUE(kernel->is_master());
  EXPECT_EQ(device->read(registers::kId).value(), registers::kIdValue);
  ASSERT_TRUE(device->write(0x300, 0x1234'5678).ok());
  EXPECT_EQ(device->read(0x300).value(), 0x1234'5678U);
  for (const std::uint32_t offset : {registers::kWindowBytes, 2U, ~0U}) {
    EXPECT_FALSE(device->read(offset).ok()) << offset;
    EXPECT_FALSE(device->write(offset, 1).ok()) << offset;
  }
  auto buffer = device->allocate(5000);
  ASSERT_TRUE(buffer.ok()) << buffer.message();
  EXPECT_EQ(buffer.value()->bytes(), 8192U);
  const auto reached = function->memory.find(buffer.value()->address());
  ASSERT_NE(reached, function->memory.end());
  EXPECT_EQ(reached->second.first, buffer.value()->data());
  EXPECT_EQ(reached->second.second, 8192U);
  EXPECT_TRUE(std::all_of(buffer.value()->data(), buffer.value()->data() + 8192,
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_F(Vfio, stops_the_kernel_before_it_takes_the_memory_away) {
  auto device = open();
  ASSERT_NE(device, nullptr);
  auto freed = device->allocate(4096);
  auto outlives = device->allocate(4096);
  ASSERT_TRUE(freed.ok() && outlives.ok());
  freed = Failure{"gone"};
  EXPECT_EQ(function->memory.size(), 1U);
  EXPECT_EQ(function->reached_at_control, std::vector<std::size_t>{0}) << "as it was opened, before it had any";
  function->looks = 0;
  device.reset();
  EXPECT_EQ(function->reached_at_control, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(function->looks, 2);
  EXPECT_EQ(function->values[registers::ring::base(7) + registers::ring::kCommand], registers::ring::kCommandStop);
  EXPECT_THAT(kernel->story(), ElementsAre("master", "map", "map", "unmap", "no master", "reset"));
  EXPECT_TRUE(function->memory.empty());
  EXPECT_EQ(kernel->open_files(), 0U) << "a buffer keeps nothing open";
  std::memset(outlives.value()->data(), 7, outlives.value()->bytes());  // it is the process's
}

TEST_F(Vfio, closes_a_kernel_that_does_not_rest_or_is_none) {
  function->never_rests = true;
  EXPECT_NE(open(), nullptr);
  EXPECT_THAT(kernel->story(), ElementsAre("master", "no master", "reset"));
  function->id = 0x0100'00ED;
  function->never_rests = false;
  function->looks = 0;
  function->values.clear();
  EXPECT_NE(open(), nullptr);
  EXPECT_EQ(function->looks, 0);
  EXPECT_TRUE(function->values.empty()) << "registers of something else are left alone";
}

TEST_F(Vfio, says_what_is_in_the_way_before_and_while_it_opens) {
  EXPECT_EQ(obstacle(), "none");
  const auto both = [&](const std::function<void()>& change, const std::string& what) {
    const sim::VfioMachine good = *machine;
    change();
    EXPECT_THAT(obstacle(), HasSubstr(what));
    EXPECT_THAT(obstacle(), ::testing::StartsWith(what.find("bytes") == std::string::npos ? "device 0000:5b:00.0: "
                                                                                          : "bar 0 of 0000:5b:00.0: "));
    EXPECT_THAT(refusal(), HasSubstr(what));
    *machine = good;
  };
  both([&] { machine->address = "0000:5c:00.0"; }, "this machine has no such PCI function");
  both([&] { machine->group.reset(); }, "it has no IOMMU");
  both([&] { machine->driver.reset(); }, "it has no driver: driverctl set-override 0000:5b:00.0 vfio-pci");
  both([&] { machine->driver = "xdma"; }, "its driver is xdma, not vfio-pci");
  both([&] { machine->open_errors["/dev/vfio/17"] = EACCES; }, "no permission to use /dev/vfio/17");
  both([&] { machine->open_errors["/dev/vfio/vfio"] = EACCES; }, "no permission to use /dev/vfio/vfio");
  both([&] { machine->open_errors["/dev/vfio/vfio"] = ENOENT; }, "/dev/vfio/vfio: No such file");
  both([&] { machine->bar_bytes = 0x8000; }, "it has 32768 bytes, and the kernel's registers take 65536 from offset 0");
  both([&] { machine->bar_bytes = 0; }, "it has 0 bytes");
}

TEST_F(Vfio, says_why_it_cannot_be_opened) {
  const auto refused = [&](const std::function<void()>& change, const std::string& what) {
    const sim::VfioMachine good = *machine;
    change();
    EXPECT_THAT(refusal(), HasSubstr(what));
    *machine = good;
  };
  refused([&] { machine->api_version = 1; }, "another version of VFIO");
  refused([&] { machine->open_errors["/dev/vfio/17"] = EBUSY; }, "another process uses it, or a function of its IOMMU");
  refused([&] { machine->open_errors["/dev/vfio/17"] = ENOENT; }, "VFIO without an IOMMU is not supported");
  refused([&] { machine->open_errors["/dev/vfio/17"] = EMFILE; }, "cannot open /dev/vfio/17: Too many open files");
  refused([&] { machine->is_viable = false; }, "IOMMU group 17 has other functions, which drivers of the kernel use");
  refused([&] { machine->container_error = ENODEV; }, "IOMMU group 17 cannot be used: No such device");
  refused([&] { machine->iommus.clear(); }, "has no IOMMU of type 1");
  refused([&] { machine->iommu_error = EPERM; }, "does not remap interrupts");
  refused([&] { machine->iommu_error = ENODEV; }, "its IOMMU cannot be used: No such device");
  refused([&] { machine->page_sizes = 65'536; }, "does not map pages of 4096");
  refused([&] { machine->function_error = EINVAL; }, "it cannot be opened: Invalid argument");
  refused([&] { machine->is_pci = false; }, "does not describe it as a PCI function");
  refused([&] { machine->is_gone = true; }, "it does not answer");
  refused([&] { machine->map_error = EAGAIN; }, "bar 0 of 0000:5b:00.0: it cannot be mapped: Resource temporarily");
  refused([&] { machine->bar_flags = 3; }, "it cannot be mapped: the kernel keeps it");
  refused([&] { machine->bar_flags = 5; }, "it cannot be mapped: the kernel keeps it");
  machine->iommus = {1};
  EXPECT_EQ(refusal(), "opened") << "older kernels have the first kind only";
}

TEST_F(Vfio, distrusts_sizes_and_offsets_of_bars) {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  const auto of = [&](std::uint64_t bytes, std::uint64_t file_offset, std::uint64_t offset) {
    machine->bar_bytes = bytes;
    machine->bar_offset = file_offset;
    options.offset = offset;
    return refusal();
  };
  EXPECT_THAT(of(0, 0, 0), HasSubstr("it has 0 bytes"));
  EXPECT_THAT(of(0xFFFF, 0, 0), HasSubstr("it has 65535 bytes"));
  EXPECT_THAT(of(0x2'0000, 0, 0x1'1000), HasSubstr("take 65536 from offset 69632"));
  EXPECT_THAT(of(0x2'0000, 0, 0xFFFF'FFFF'FFFF'F000), HasSubstr("it has 131072 bytes"));
  EXPECT_THAT(of(kHuge, 0x1'0000, 0), HasSubstr("names no offset"));
  EXPECT_THAT(of(0x2'0000, kHuge - 0xFFF, 0), HasSubstr("names no offset"));
  EXPECT_THAT(of(0x2'0000, 100, 0), HasSubstr("names no offset"));
  EXPECT_EQ(of(0x2'0000, 0x7FFF'FFFF'FFF0'0000, 0x1'0000), "opened");
  options.bar = 2;
  EXPECT_THAT(of(0x2'0000, 0, 0), HasSubstr("bar 2 of 0000:5b:00.0: it has 0 bytes"));
}

TEST_F(Vfio, finds_registers_in_another_bar_at_an_offset) {
  machine->bar = options.bar = 4;
  machine->bar_bytes = 0x100'0000;
  machine->registers_at = options.offset = 0x4'0000;
  auto device = open();
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->read(registers::kId).value(), registers::kIdValue);
  EXPECT_EQ(obstacle(), "none");
}

TEST_F(Vfio, maps_the_parts_that_the_kernel_lets_it) {
  options.offset = 0x1'0000;
  machine->sparse = {{0, 0x1000}, {0x1'0000, 0x1'0000}};
  EXPECT_EQ(refusal(), "opened");
  machine->sparse = {{0, 0x1'F000}, {0x1'F000, 0x1000}};
  EXPECT_THAT(refusal(), HasSubstr("or a part of it"));
  machine->sparse = std::vector<std::pair<std::uint64_t, std::uint64_t>>{};
  EXPECT_THAT(refusal(), HasSubstr("or a part of it"));
  machine->sparse = {{~std::uint64_t{0}, ~std::uint64_t{0}}};
  EXPECT_THAT(refusal(), HasSubstr("or a part of it"));
}

/// A structure that says it is endless, or whose list of capabilities leads nowhere, is no reason to read beyond it.
TEST_F(Vfio, distrusts_lists_of_capabilities) {
  machine->info_bytes = ~0U;
  EXPECT_THAT(refusal(), HasSubstr("does not say what it can map: Message too long"));
  machine->info_bytes = 3;
  EXPECT_EQ(refusal(), "opened");
  machine->info_bytes = 0;
  for (const std::uint32_t first : {1U, 60U, 4096U, ~0U, ~0U - 7}) {
    machine->first_capability = first;
    EXPECT_EQ(refusal(), "opened") << first;
  }
  machine->first_capability = 0;
  machine->ranges = {{0x1'0000'0000, 0x2'0000'0000}};
  for (const std::uint32_t length : {2U, 50U, 1U << 29, ~0U}) {
    machine->list_length = length;
    auto device = open();
    ASSERT_NE(device, nullptr);
    EXPECT_THAT(device->allocate(4096).message(), HasSubstr("cannot map it: Invalid argument"))
        << "at an address of a list that is not believed, " << length;
  }
  machine->list_length = 1;
  EXPECT_EQ(open()->allocate(4096).value()->address(), 0x1'0000'0000U);
}

TEST_F(Vfio, chooses_addresses_that_iommu_and_function_can_have) {
  machine->ranges = {{0x10'0000, 0x10'4FFF}, {0x20'0000, 0x20'0FFF}, {0x1'0000'0000, 0x2'0000'0000}};
  auto device = open();
  ASSERT_NE(device, nullptr);
  const auto address = [&](Result<std::unique_ptr<HostBuffer>>& buffer) {
    return buffer.ok() ? buffer.value()->address() : 0;
  };
  auto first = device->allocate(0x2000);
  auto second = device->allocate(0x2000);
  auto third = device->allocate(0x1000);
  auto fourth = device->allocate(0x1000);
  EXPECT_EQ(address(first), 0x10'0000U);
  EXPECT_EQ(address(second), 0x10'3000U) << "after a page that is not mapped";
  EXPECT_EQ(address(third), 0x20'0000U) << "the whole range";
  EXPECT_EQ(address(fourth), 0x1'0000'0000U);
  EXPECT_FALSE(device->allocate(std::size_t{1} << 40).ok());
  EXPECT_FALSE(device->allocate(0).ok());
  first = Failure{"gone"};
  auto tight = device->allocate(0x3000);
  EXPECT_EQ(address(tight), 0x1'0000'2000U) << "there would be no page before the second one";
  auto again = device->allocate(0x1000);
  EXPECT_EQ(address(again), 0x10'0000U) << "what was given back is given again";
  device.reset();
  options.address_bits = 28;
  machine->ranges = {{0x1'0000'0000, 0x2'0000'0000}};
  device = open();
  ASSERT_NE(device, nullptr);
  EXPECT_THAT(device->allocate(4096).message(), HasSubstr("have no room for it among their addresses"));
}

TEST_F(Vfio, takes_addresses_that_any_iommu_has_from_a_kernel_that_does_not_say) {
  machine->ranges.clear();
  auto device = open();
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->allocate(4096).value()->address(), 0x10'0000U);
}

TEST_F(Vfio, names_the_limit_of_locked_memory) {
  machine->memory_limit = 8192;
  auto device = open();
  ASSERT_NE(device, nullptr);
  auto one = device->allocate(8192);
  ASSERT_TRUE(one.ok());
  EXPECT_THAT(device->allocate(4096).message(), HasSubstr("limit of locked memory is too low"));
  one = Failure{"gone"};
  EXPECT_TRUE(device->allocate(4096).ok());
}

TEST_F(Vfio, keeps_memory_that_cannot_be_taken_from_the_function) {
  auto device = open();
  ASSERT_NE(device, nullptr);
  auto buffer = device->allocate(4096);
  ASSERT_TRUE(buffer.ok());
  std::byte* const data = buffer.value()->data();
  const std::uint64_t address = buffer.value()->address();
  machine->unmap_fails = true;
  buffer = Failure{"gone"};
  *data = std::byte{1};  // still there, since the function may write to it
  machine->unmap_fails = false;
  EXPECT_NE(device->allocate(4096).value()->address(), address);
}

TEST_F(Vfio, finds_out_that_the_function_has_left_the_bus) {
  auto device = open();
  ASSERT_NE(device, nullptr);
  function->values[0x400] = ~0U;
  EXPECT_EQ(device->read(0x400).value(), ~0U) << "a register may have this value";
  machine->is_gone = true;
  EXPECT_THAT(device->read(0x400).message(), HasSubstr("PCI function 0000:5b:00.0 has left the bus"));
  EXPECT_THAT(device->reset().message(), HasSubstr("has left the bus"));
  machine->is_gone = false;
  EXPECT_EQ(device->read(0x400).value(), ~0U);
  machine->is_broken = true;
  EXPECT_THAT(device->read(registers::kId).message(), HasSubstr("has left the bus"));
  EXPECT_THAT(device->write(0x400, 1).message(), HasSubstr("has left the bus"));
  machine->is_broken = false;
}

TEST_F(Vfio, is_reset_where_it_is_and_keeps_its_memory) {
  auto device = open();
  ASSERT_NE(device, nullptr);
  auto buffer = device->allocate(4096);
  ASSERT_TRUE(buffer.ok());
  const std::size_t files = kernel->open_files();
  ASSERT_TRUE(device->reset().ok());
  EXPECT_EQ(function->reached_at_control, (std::vector<std::size_t>{0, 1, 0})) << "opened, before the reset, after it";
  EXPECT_EQ(kernel->open_files(), files) << "a confined process opens nothing";
  EXPECT_THAT(kernel->story(), ElementsAre("master", "map", "no master", "reset", "master"));
  EXPECT_EQ(function->memory.count(buffer.value()->address()), 1U);
  machine->reset_error = EAGAIN;
  EXPECT_THAT(device->reset().message(), HasSubstr("cannot be reset: Resource temporarily unavailable"));
  EXPECT_FALSE(kernel->is_master());
  machine->can_reset = false;
  device.reset();
  device = open();
  ASSERT_NE(device, nullptr);
  EXPECT_THAT(device->reset().message(), HasSubstr("cannot be reset"));
}

TEST_F(Vfio, belongs_to_one_at_a_time) {
  auto first = open();
  ASSERT_NE(first, nullptr);
  const auto second = open_vfio(options, kernel);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.message(), HasSubstr("another process uses it"));
  EXPECT_EQ(first->read(registers::kId).value(), registers::kIdValue);
  first.reset();
  EXPECT_NE(open(), nullptr);
}

TEST(VfioAddress, has_the_form_of_lspci) {
  EXPECT_TRUE(is_pci_address("0000:81:00.0"));
  EXPECT_TRUE(is_pci_address("10af:ff:1f.7"));
  for (const char* const text :
       {"", "81:00.0", "0000:81:00", "0000:81:00.8", "0000:81:00.00", "0000-81:00.0", "0000:8G:00.0", "0000:8F:00.0"}) {
    EXPECT_FALSE(is_pci_address(text)) << text;
  }
}

TEST(VfioCalls, survive_a_bar_that_answers_with_a_bus_error) {
  const stopbit::testing::Scratch scratch;
  const std::string path = scratch.write("bar", std::string(16'384, '\x11'));
  const auto calls = vfio::system_calls();
  const int file = calls->open(path);
  ASSERT_GE(file, 0);
  const auto registers = calls->map(file, 8192, 4096);
  ASSERT_NE(registers, nullptr);
  EXPECT_EQ(registers->read(4), 0x1111'1111U);
  registers->write(4, 7);
  std::uint32_t value = 0;
  ASSERT_TRUE(calls->read(file, &value, sizeof(value), 4100));
  EXPECT_EQ(value, 7U);
  EXPECT_FALSE(registers->is_broken());
  ASSERT_EQ(::truncate(path.c_str(), 4096), 0);
  EXPECT_EQ(registers->read(4), 0U);
  EXPECT_TRUE(registers->is_broken());
  registers->write(4, 8);
  EXPECT_FALSE(calls->read(file, &value, sizeof(value), 4100));
  calls->close(file);
  EXPECT_FALSE(calls->link(path));
  EXPECT_FALSE(calls->text(scratch.path("none")));
  EXPECT_TRUE(calls->may_use(path));
  EXPECT_EQ(calls->open(scratch.path("none")), -1);
}

}  // namespace
}  // namespace stopbit::device
