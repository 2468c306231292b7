// The driver of a simulated card: what XRT 2.13's library loads instead of a card's driver, with the Verilated kernel
// as the device. The functions are those of xrt.h; beside them go some objects of Debian's own emulation driver, which
// know XRT's inside (CMakeLists.txt). One card, one kernel, buffers in host memory only.
#include <xclbin.h>
#include <xrt.h>

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "running_model.hpp"

// What the objects of the emulation driver and XRT's library want to find. The names are theirs.
namespace xrt_core {
class device {
 public:
  void register_axlf(const axlf* file);  // in libxrt_coreutil
};
namespace query {
enum class key_type;
}
std::shared_ptr<device> get_userpf_device(void* handle, unsigned int index);  // in libxrt_coreutil
}  // namespace xrt_core

namespace xclhwemhal2 {
class HwEmShim {
 public:
  int deviceQuery(xrt_core::query::key_type key);
  static HwEmShim* handleCheck(void* handle);
};
int HwEmShim::deviceQuery(xrt_core::query::key_type) {
  return 0;
}
HwEmShim* HwEmShim::handleCheck(void*) {
  return nullptr;
}
}  // namespace xclhwemhal2

namespace stopbit::sim {
namespace {

constexpr std::uint64_t kHostBase = 0x20'0000'0000;  // as make_xclbin.py says
constexpr std::size_t kPage = 4096;
constexpr std::size_t kMaxBufferBytes = std::size_t{4} << 30;

struct Buffer {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t address = 0;
  unsigned int flags = 0;
  bool is_ours = false;  // else the caller's memory
};

class Card {
 public:
  ~Card() {
    model_.reset();  // nothing writes to the buffers any more
    for (const auto& [handle, buffer] : buffers_) {
      if (buffer.is_ours) ::munmap(buffer.data, buffer.bytes);
    }
  }
  Card() = default;
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  int load(const axlf* file) {
    for (std::uint32_t i = 0; i < file->m_header.m_numSections; ++i) {
      const axlf_section_header& section = file->m_sections[i];
      if (section.m_sectionKind != IP_LAYOUT) continue;
      const auto* layout =
          reinterpret_cast<const ip_layout*>(reinterpret_cast<const char*>(file) + section.m_sectionOffset);
      if (layout->m_count != 1) return -EINVAL;
      base_ = layout->m_ip_data[0].m_base_address;
      return 0;
    }
    return -EINVAL;
  }

  /// xrt::ip is exclusive.
  int open_context(unsigned int ip) {
    const std::scoped_lock lock(mutex_);
    return contexts_.insert(ip).second ? 0 : -EBUSY;
  }
  void close_context(unsigned int ip) {
    const std::scoped_lock lock(mutex_);
    contexts_.erase(ip);
  }

  [[nodiscard]] RunningModel& kernel() { return *model_; }
  [[nodiscard]] std::uint64_t base() const { return base_; }

  unsigned int allocate(std::size_t size, unsigned int flags, void* memory) {
    constexpr unsigned int kNone = ~0U;
    if (size == 0 || size > kMaxBufferBytes) return kNone;
    Buffer buffer;
    buffer.bytes = (size + kPage - 1) / kPage * kPage;
    buffer.flags = flags;
    buffer.is_ours = memory == nullptr;
    if (memory == nullptr) {
      memory = ::mmap(nullptr, buffer.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return kNone;
    }
    buffer.data = static_cast<std::byte*>(memory);
    unsigned int handle = 0;
    {
      const std::scoped_lock lock(mutex_);
      handle = next_handle_++;
      buffer.address = next_address_;
      next_address_ += buffer.bytes + kPage;  // what goes over an end meets nothing
      buffers_[handle] = buffer;
    }
    model_->map(buffer.address, buffer.data, buffer.bytes);
    return handle;
  }

  void free(unsigned int handle) {
    const std::optional<Buffer> buffer = find(handle);
    if (!buffer) return;
    model_->unmap(buffer->address);
    if (buffer->is_ours) ::munmap(buffer->data, buffer->bytes);
    const std::scoped_lock lock(mutex_);
    buffers_.erase(handle);
  }

  std::optional<Buffer> find(unsigned int handle) {
    const std::scoped_lock lock(mutex_);
    const auto found = buffers_.find(handle);
    return found == buffers_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::unique_ptr<RunningModel> model_ = std::make_unique<RunningModel>();
  std::uint64_t base_ = 0;

  std::mutex mutex_;
  std::map<unsigned int, Buffer> buffers_;
  std::set<unsigned int> contexts_;
  unsigned int next_handle_ = 1;
  std::uint64_t next_address_ = kHostBase;
};

/// What XRT holds as a device handle.
struct Handle {
  std::shared_ptr<Card> card;
  std::shared_ptr<xrt_core::device> core;
};

/// All handles of the process are of one card, which lives as long as one of them.
std::shared_ptr<Card> the_card() {
  static std::mutex mutex;
  static std::weak_ptr<Card> card;
  const std::scoped_lock lock(mutex);
  std::shared_ptr<Card> made = card.lock();
  if (!made) {
    made = std::make_shared<Card>();
    card = made;
  }
  return made;
}

Card& card_of(xclDeviceHandle handle) {
  return *static_cast<Handle*>(handle)->card;
}

}  // namespace
}  // namespace stopbit::sim

using stopbit::sim::card_of;

extern "C" {

XCL_DRIVER_DLLESPEC unsigned int xclProbe() {
  return 1;
}

XCL_DRIVER_DLLESPEC xclDeviceHandle xclOpen(unsigned int index, const char*, xclVerbosityLevel) {
  if (index != 0) return nullptr;
  auto handle = std::make_unique<stopbit::sim::Handle>();
  handle->card = stopbit::sim::the_card();
  handle->core = xrt_core::get_userpf_device(handle.get(), index);
  return handle.release();
}

XCL_DRIVER_DLLESPEC void xclClose(xclDeviceHandle handle) {
  delete static_cast<stopbit::sim::Handle*>(handle);
}

XCL_DRIVER_DLLESPEC int xclLoadXclBin(xclDeviceHandle handle, const axlf* file) {
  if (file == nullptr || std::string_view(file->m_magic) != "xclbin2") return -EINVAL;
  const int status = card_of(handle).load(file);
  if (status == 0) static_cast<stopbit::sim::Handle*>(handle)->core->register_axlf(file);
  return status;
}

XCL_DRIVER_DLLESPEC int xclOpenContext(xclDeviceHandle handle, const xuid_t, unsigned int ip, bool) {
  return card_of(handle).open_context(ip);
}

XCL_DRIVER_DLLESPEC int xclCloseContext(xclDeviceHandle handle, const xuid_t, unsigned int ip) {
  card_of(handle).close_context(ip);
  return 0;
}

XCL_DRIVER_DLLESPEC int xclRegRead(xclDeviceHandle handle, std::uint32_t, std::uint32_t offset, std::uint32_t* value) {
  *value = card_of(handle).kernel().read(offset);
  return 0;
}

XCL_DRIVER_DLLESPEC int xclRegWrite(xclDeviceHandle handle, std::uint32_t, std::uint32_t offset, std::uint32_t value) {
  card_of(handle).kernel().write(offset, value);
  return 0;
}

XCL_DRIVER_DLLESPEC size_t xclRead(xclDeviceHandle handle, xclAddressSpace, std::uint64_t offset, void* to,
                                   size_t bytes) {
  auto& card = card_of(handle);
  for (size_t at = 0; at + 4 <= bytes; at += 4) {
    const std::uint32_t value = card.kernel().read(static_cast<std::uint32_t>(offset - card.base() + at));
    std::memcpy(static_cast<char*>(to) + at, &value, sizeof(value));
  }
  return bytes;
}

XCL_DRIVER_DLLESPEC size_t xclWrite(xclDeviceHandle handle, xclAddressSpace, std::uint64_t offset, const void* from,
                                    size_t bytes) {
  auto& card = card_of(handle);
  for (size_t at = 0; at + 4 <= bytes; at += 4) {
    std::uint32_t value = 0;
    std::memcpy(&value, static_cast<const char*>(from) + at, sizeof(value));
    card.kernel().write(static_cast<std::uint32_t>(offset - card.base() + at), value);
  }
  return bytes;
}

XCL_DRIVER_DLLESPEC xclBufferHandle xclAllocBO(xclDeviceHandle handle, size_t size, int, unsigned int flags) {
  return card_of(handle).allocate(size, flags, nullptr);
}

XCL_DRIVER_DLLESPEC xclBufferHandle xclAllocUserPtrBO(xclDeviceHandle handle, void* memory, size_t size,
                                                      unsigned int flags) {
  if (memory == nullptr || reinterpret_cast<std::uintptr_t>(memory) % 64 != 0 || size % 4096 != 0) return NULLBO;
  return card_of(handle).allocate(size, flags, memory);
}

XCL_DRIVER_DLLESPEC void xclFreeBO(xclDeviceHandle handle, xclBufferHandle buffer) {
  card_of(handle).free(buffer);
}

XCL_DRIVER_DLLESPEC void* xclMapBO(xclDeviceHandle handle, xclBufferHandle buffer, bool) {
  const auto found = card_of(handle).find(buffer);
  return found ? found->data : nullptr;
}

XCL_DRIVER_DLLESPEC int xclUnmapBO(xclDeviceHandle, xclBufferHandle, void*) {
  return 0;
}

XCL_DRIVER_DLLESPEC int xclSyncBO(xclDeviceHandle, xclBufferHandle, xclBOSyncDirection, size_t, size_t) {
  return 0;  // host and device share it
}

XCL_DRIVER_DLLESPEC int xclCopyBO(xclDeviceHandle, xclBufferHandle, xclBufferHandle, size_t, size_t, size_t) {
  return -ENOSYS;
}

XCL_DRIVER_DLLESPEC int xclGetBOProperties(xclDeviceHandle handle, xclBufferHandle buffer,
                                           xclBOProperties* properties) {
  const auto found = card_of(handle).find(buffer);
  if (!found) return -EINVAL;
  *properties = {};
  properties->handle = buffer;
  properties->flags = found->flags;
  properties->size = found->bytes;
  properties->paddr = found->address;
  return 0;
}

XCL_DRIVER_DLLESPEC xclBufferExportHandle xclExportBO(xclDeviceHandle, xclBufferHandle) {
  return -ENOSYS;
}

XCL_DRIVER_DLLESPEC xclBufferHandle xclImportBO(xclDeviceHandle, xclBufferExportHandle, unsigned int) {
  return NULLBO;
}

XCL_DRIVER_DLLESPEC ssize_t xclUnmgdPread(xclDeviceHandle, unsigned int, void*, size_t, std::uint64_t) {
  return -ENOSYS;
}

XCL_DRIVER_DLLESPEC ssize_t xclUnmgdPwrite(xclDeviceHandle, unsigned int, const void*, size_t, std::uint64_t) {
  return -ENOSYS;
}

XCL_DRIVER_DLLESPEC int xclExecBuf(xclDeviceHandle, xclBufferHandle) {
  return -ENOSYS;  // the kernel is the user's to drive: nothing is started
}

XCL_DRIVER_DLLESPEC int xclExecWait(xclDeviceHandle, int) {
  return 0;
}

XCL_DRIVER_DLLESPEC int xclGetDeviceInfo2(xclDeviceHandle, xclDeviceInfo2* info) {
  *info = {};
  info->mMagic = 0X586C0C6C;
  std::snprintf(info->mName, sizeof(info->mName), "%s", "stopbit_simulation");
  info->mDDRBankCount = 1;
  info->mDataAlignment = 4096;
  return 0;
}

XCL_DRIVER_DLLESPEC int xclReClock2(xclDeviceHandle, unsigned short, const unsigned short*) {
  return 0;
}

XCL_DRIVER_DLLESPEC int xclP2pEnable(xclDeviceHandle, bool, bool) {
  return -ENOSYS;
}

XCL_DRIVER_DLLESPEC int xclLockDevice(xclDeviceHandle) {
  return 0;
}

}  // extern "C"

// These have C++ names in XRT, too.
int xclUpdateSchedulerStat(xclDeviceHandle) {
  return 0;
}
int xclInternalResetDevice(xclDeviceHandle, xclResetKind) {
  return -ENOSYS;
}
int xclCmaEnable(xclDeviceHandle, bool, std::uint64_t) {
  return -ENOSYS;
}
int xclCloseExportHandle(int) {
  return -ENOSYS;
}
