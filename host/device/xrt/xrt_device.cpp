#include "host/device/xrt/xrt_device.hpp"

#include <xclbin.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>

#include <experimental/xrt_ip.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "host/device/generated/registers.hpp"
#include "host/device/xclbin.hpp"

namespace stopbit::device {
namespace {

constexpr std::size_t kPage = 4096;  // XRT wants whole ones

class XrtBuffer final : public HostBuffer {
 public:
  XrtBuffer(xrt::bo buffer, std::size_t bytes)
      : buffer_(std::move(buffer)), data_(buffer_.map<std::byte*>()), bytes_(bytes), address_(buffer_.address()) {}

  [[nodiscard]] std::byte* data() noexcept override { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::uint64_t address() const noexcept override { return address_; }

 private:
  xrt::bo buffer_;
  std::byte* data_;
  std::size_t bytes_;
  std::uint64_t address_;
};

class XrtDevice final : public Device {
 public:
  XrtDevice(xrt::device device, xrt::ip kernel, std::uint32_t memory)
      : device_(std::move(device)), kernel_(std::move(kernel)), memory_(memory) {}

  [[nodiscard]] Result<std::uint32_t> read(std::uint32_t offset) override {
    try {
      return kernel_.read_register(offset);
    } catch (const std::exception& error) {
      return Failure{"cannot read register " + std::to_string(offset) + " of the kernel: " + error.what()};
    }
  }

  [[nodiscard]] Status write(std::uint32_t offset, std::uint32_t value) override {
    try {
      kernel_.write_register(offset, value);
      return Done{};
    } catch (const std::exception& error) {
      return Failure{"cannot write register " + std::to_string(offset) + " of the kernel: " + error.what()};
    }
  }

  [[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate(std::size_t bytes) override {
    try {
      const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
      auto buffer = std::make_unique<XrtBuffer>(xrt::bo(device_, whole, xrt::bo::flags::host_only, memory_), whole);
      if (buffer->data() == nullptr || buffer->address() % kPage != 0) {
        return Failure{"the card's driver returned memory that is not aligned to 4096 bytes"};
      }
      std::memset(buffer->data(), 0, whole);
      return std::unique_ptr<HostBuffer>(std::move(buffer));
    } catch (const std::exception& error) {
      return Failure{"cannot allocate " + std::to_string(bytes) +
                     " bytes of host memory for the card: " + error.what()};
    }
  }

 private:
  xrt::device device_;
  xrt::ip kernel_;
  std::uint32_t memory_;
};

static_assert(kXclbinHeaderBytes == sizeof(axlf) - sizeof(axlf_section_header));
static_assert(kXclbinSectionBytes == sizeof(axlf_section_header));

constexpr std::uint64_t kMaxXclbinBytes = std::uint64_t{1} << 30;  // a card's whole configuration is a tenth of that

/// Whether XRT can be given the file.
Status check_xclbin(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Failure{"cannot open '" + path + "': " + std::generic_category().message(errno)};
  const std::streamoff end = file.tellg();
  if (end < 0 || static_cast<std::uint64_t>(end) > kMaxXclbinBytes) {
    return Failure{"'" + path + "' is not an xclbin: it is too large, or not a regular file"};
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(end));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), end)) return Failure{"cannot read '" + path + "'"};
  const Result<std::vector<XclbinSection>> sections = xclbin_sections(bytes);
  if (!sections) return Failure{"'" + path + "' is not an xclbin: " + sections.message()};
  return Done{};
}

}  // namespace

Result<std::unique_ptr<Device>> open_xrt(const XrtOptions& options) {
  if (const Status good = check_xclbin(options.xclbin); !good) return good.failure();
  try {
    xrt::device device(options.card);
    const xrt::uuid uuid = device.load_xclbin(options.xclbin);
    const std::string name = std::string(registers::kKernelName) + ":{" + registers::kKernelName + "_" +
                             std::to_string(options.kernel + 1) + "}";
    xrt::ip kernel(device, uuid, name);
    return std::unique_ptr<Device>(std::make_unique<XrtDevice>(std::move(device), std::move(kernel), options.memory));
  } catch (const std::exception& error) {
    return Failure{"cannot use card " + std::to_string(options.card) + " with '" + options.xclbin +
                   "': " + error.what()};
  }
}

}  // namespace stopbit::device
