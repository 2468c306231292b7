// In the guest: the leaf of VFIO on QEMU's device `edu`, through the guest's kernel and IOMMU.
//
//     vfio_probe STEP ADDRESS       status 0: all as promised; else the first promise that was not kept is on stderr
#include <linux/vfio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/device/vfio/vfio_device.hpp"

namespace stopbit::device {
namespace {

// Of `edu`: docs/specs/edu.txt of QEMU. Its DMA reaches addresses of 28 bits.
constexpr std::uint32_t kIdentity = 0x00;
constexpr std::uint32_t kInverter = 0x04;
constexpr std::uint32_t kDmaFrom = 0x80;
constexpr std::uint32_t kDmaTo = 0x88;
constexpr std::uint32_t kDmaBytes = 0x90;
constexpr std::uint32_t kDmaCommand = 0x98;
constexpr std::uint32_t kIsEdu = 0x0100'00ED;
constexpr std::uint32_t kOwnMemory = 0x4'0000;
constexpr std::uint32_t kStart = 1;
constexpr std::uint32_t kToHost = 2;
constexpr std::size_t kBytes = 2048;  // of its 4096, the last of which some versions take for one too many
constexpr std::size_t kPage = 4096;
constexpr std::uint32_t kBits = 28;

void promise(bool kept, const std::string& what) {
  if (!kept) throw std::runtime_error(what);
}

template <class T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.message());
  return std::move(result).value();
}

void expect_failure(const std::string& said, const std::string& wanted) {
  promise(said.find(wanted) != std::string::npos, "'" + said + "' does not say '" + wanted + "'");
}

VfioOptions options_of(const std::string& address) {
  return {.address = address, .bar = 0, .offset = 0, .window_bytes = 4096, .address_bits = kBits};
}

std::string refusal(const VfioOptions& options, const std::shared_ptr<vfio::Calls>& calls = vfio::system_calls()) {
  const auto opened = open_vfio(options, calls);
  return opened ? "opened" : opened.message();
}

bool is_master(const std::string& address) {
  std::ifstream config("/sys/bus/pci/devices/" + address + "/config", std::ios::binary);
  char bytes[6] = {};
  config.read(bytes, sizeof(bytes));
  return config.good() && (bytes[4] & 4) != 0;
}

void transfer(Device& device, std::uint64_t from, std::uint64_t to, std::uint32_t direction) {
  need(device.write(kDmaFrom, static_cast<std::uint32_t>(from)));
  need(device.write(kDmaTo, static_cast<std::uint32_t>(to)));
  need(device.write(kDmaBytes, kBytes));
  need(device.write(kDmaCommand, kStart | direction));
  while ((need(device.read(kDmaCommand)) & kStart) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Registers, and memory in both directions, as long as the function has it.
void use(Device& device) {
  promise(need(device.read(kIdentity)) == kIsEdu, "it is not edu");
  need(device.write(kInverter, 0x1234'5678));
  promise(need(device.read(kInverter)) == ~0x1234'5678U, "a register does not hold what was written");
  auto out = need(device.allocate(kBytes));
  auto in = need(device.allocate(3 * kPage));
  for (std::size_t i = 0; i < kBytes; ++i) out->data()[i] = static_cast<std::byte>(i * 7 + i / 256);
  transfer(device, out->address(), kOwnMemory, 0);
  transfer(device, kOwnMemory, in->address() + kPage, kToHost);
  promise(std::memcmp(in->data() + kPage, out->data(), kBytes) == 0, "the bytes that came back are others");
  promise(in->data()[kPage - 1] == std::byte{0} && in->data()[kPage + kBytes] == std::byte{0},
          "others were written, too");
  // What it has no more is out of its reach, though the pages are still ours.
  const std::uint64_t address = out->address();
  out.reset();
  auto stranger = need(device.allocate(kBytes));
  promise(stranger->address() == address, "an address that is free is not used again");
  stranger.reset();
  std::vector<std::byte> before(in->data(), in->data() + in->bytes());
  transfer(device, kOwnMemory, address, kToHost);
  transfer(device, kOwnMemory, in->address() + in->bytes(), kToHost);
  promise(std::memcmp(in->data(), before.data(), before.size()) == 0, "a transfer to nowhere has come here");
  transfer(device, kOwnMemory, in->address(), kToHost);
  promise(std::memcmp(in->data(), before.data() + kPage, kBytes) == 0, "it works no more after such a transfer");
}

void step_use(const std::string& address) {
  const VfioOptions options = options_of(address);
  need(check_vfio(options, *vfio::system_calls()));
  for (int i = 0; i < 3; ++i) {
    auto device = need(open_vfio(options, vfio::system_calls()));
    promise(is_master(address), "it may not write to memory");
    use(*device);
    expect_failure(refusal(options), "another process uses it");
    device.reset();
    promise(!is_master(address), "it may write to memory after it was closed");
  }
}

void step_refuse(const std::string& address) {
  VfioOptions options = options_of(address);
  options.bar = 1;
  expect_failure(refusal(options), "bar 1 of " + address + ": it has 0 bytes");
  expect_failure(check_vfio(options, *vfio::system_calls()).message(), "it has 0 bytes");
  options = options_of(address);
  options.offset = 0x10'0000;
  expect_failure(refusal(options), "it has 1048576 bytes, and the kernel's registers take 4096 from offset 1048576");
  expect_failure(check_vfio(options, *vfio::system_calls()).message(), "it has 1048576 bytes");
  options = options_of("0000:3f:00.0");
  expect_failure(refusal(options), "no such PCI function");
  options = options_of(address);
  options.address_bits = 24;
  auto device = need(open_vfio(options, vfio::system_calls()));
  expect_failure(device->allocate(std::size_t{32} << 20).message(), "have no room for it among their addresses");
}

/// A driver other than vfio-pci, or none.
void step_driver(const std::string& address) {
  expect_failure(refusal(options_of(address)), "driver");
  expect_failure(check_vfio(options_of(address), *vfio::system_calls()).message(), "driverctl set-override");
}

void step_reset(const std::string& address) {
  auto device = need(open_vfio(options_of(address), vfio::system_calls()));
  need(device->write(kInverter, 1));
  need(device->reset());
  promise(is_master(address), "it may not write to memory after a reset");
  use(*device);
}

void step_no_reset(const std::string& address) {
  auto device = need(open_vfio(options_of(address), vfio::system_calls()));
  expect_failure(device->reset().message(), "cannot be reset");
  use(*device);
}

/// The kernel's calls, with the function's file in reach.
class Listening final : public vfio::Calls {
 public:
  std::optional<std::string> link(const std::string& path) override { return calls_->link(path); }
  std::optional<std::string> text(const std::string& path) override { return calls_->text(path); }
  bool may_use(const std::string& path) override { return calls_->may_use(path); }
  int open(const std::string& path) override { return calls_->open(path); }
  void close(int file) noexcept override { calls_->close(file); }
  int control(int file, unsigned long request, void* argument) noexcept override {
    const int result = calls_->control(file, request, argument);
    if (request == VFIO_GROUP_GET_DEVICE_FD) function = result;
    return result;
  }
  bool read(int file, void* to, std::size_t bytes, std::uint64_t offset) noexcept override {
    return calls_->read(file, to, bytes, offset);
  }
  bool write(int file, const void* from, std::size_t bytes, std::uint64_t offset) noexcept override {
    command = offset;
    return calls_->write(file, from, bytes, offset);
  }
  std::unique_ptr<vfio::Registers> map(int file, std::size_t bytes, std::uint64_t offset) override {
    return calls_->map(file, bytes, offset);
  }

  int function = -1;
  std::uint64_t command = 0;  ///< Offset of its command register.

 private:
  std::shared_ptr<vfio::Calls> calls_ = vfio::system_calls();
};

/// Its memory is switched off, as if it had left: accesses are bus errors.
void step_broken(const std::string& address) {
  const auto calls = std::make_shared<Listening>();
  auto device = need(open_vfio(options_of(address), calls));
  promise(need(device->read(kIdentity)) == kIsEdu, "it is not edu");
  const std::uint16_t off = 0;
  promise(calls->write(calls->function, &off, sizeof(off), calls->command), "its configuration cannot be written");
  expect_failure(device->read(kIdentity).message(), "has left the bus");
  expect_failure(device->write(kInverter, 1).message(), "has left the bus");
  device.reset();
  use(*need(open_vfio(options_of(address), vfio::system_calls())));
}

/// Another user, with little memory to lock.
void step_user(const std::string& address, bool may) {
  constexpr uid_t kSomebody = 1000;
  constexpr rlimit kLittle{65'536, 65'536};
  promise(::setrlimit(RLIMIT_MEMLOCK, &kLittle) == 0 && ::setgid(kSomebody) == 0 && ::setuid(kSomebody) == 0,
          "cannot become another user");
  if (!may) {
    expect_failure(refusal(options_of(address)), "no permission to use /dev/vfio/");
    expect_failure(check_vfio(options_of(address), *vfio::system_calls()).message(), "no permission to use /dev/vfio/");
    return;
  }
  auto device = need(open_vfio(options_of(address), vfio::system_calls()));
  use(*device);
  expect_failure(device->allocate(1 << 20).message(), "the limit of locked memory is too low");
}

void run(const std::string& step, const std::string& address) {
  if (step == "use") return step_use(address);
  if (step == "refuse") return step_refuse(address);
  if (step == "driver") return step_driver(address);
  if (step == "reset") return step_reset(address);
  if (step == "no-reset") return step_no_reset(address);
  if (step == "broken") return step_broken(address);
  if (step == "stranger") return step_user(address, false);
  if (step == "user") return step_user(address, true);
  throw std::runtime_error("there is no step '" + step + "'");
}

}  // namespace
}  // namespace stopbit::device

int main(int count, char** words) {
  if (count != 3) return 2;
  try {
    stopbit::device::run(words[1], words[2]);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s: %s\n", words[1], problem.what());
    return 1;
  }
  return 0;
}
