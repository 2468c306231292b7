#include "host/device/vfio/vfio_device.hpp"

#include <linux/vfio.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/device/vfio/list_head.hpp"
#include "microcode/base/round_up.hpp"

namespace stopbit::device {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMaxBufferBytes = std::size_t{1} << 40;
constexpr std::size_t kMaxInfoBytes = 65'536;  // of a structure with capabilities
constexpr int kMaxCapabilities = 64;
constexpr std::uint64_t kMaxFileOffset = ~std::uint64_t{0} >> 1;
/// What reads answer that reach nothing.
constexpr std::uint32_t kNothing = ~std::uint32_t{0};

// Addresses for the function. The first MiB is left out, so that an address of zero is an error. Kernels before 5.4 do
// not say what an IOMMU can map: there all is below the window of interrupts.
constexpr std::uint64_t kFirstAddress = std::uint64_t{1} << 20;
constexpr std::uint64_t kLastUnasked = 0xFEDF'FFFF;

// Of a function's configuration.
constexpr std::uint64_t kVendor = 0;
constexpr std::uint64_t kCommand = 4;
constexpr std::uint16_t kNoVendor = 0xFFFF;
constexpr std::uint16_t kCommandMemory = 1U << 1;
constexpr std::uint16_t kCommandMaster = 1U << 2;

constexpr int kRestLooks = 1000;
constexpr auto kRestPause = std::chrono::milliseconds(1);

std::string reason() {
  return std::generic_category().message(errno);
}

std::string group_path(const std::string& group) {
  return "/dev/vfio/" + group;
}

constexpr const char* kContainer = "/dev/vfio/vfio";

Failure about_device(const VfioOptions& options, const std::string& what) {
  return Failure{"device " + options.address + ": " + what};
}

Failure about_bar(const VfioOptions& options, const std::string& what) {
  return Failure{"bar " + std::to_string(options.bar) + " of " + options.address + ": " + what};
}

Failure too_small(const VfioOptions& options, std::uint64_t bytes) {
  return about_bar(options, "it has " + std::to_string(bytes) + " bytes, and the kernel's registers take " +
                                std::to_string(options.window_bytes) + " from offset " +
                                std::to_string(options.offset));
}

bool has_room(const VfioOptions& options, std::uint64_t bytes) {
  return options.offset <= bytes && options.window_bytes <= bytes - options.offset;
}

Failure not_permitted(const VfioOptions& options, const std::string& path) {
  return about_device(options, "no permission to use " + path +
                                   ": make it the user's of this process (chown, or a "
                                   "rule of udev)");
}

/// Bytes of a BAR by sysfs; nothing if that does not say it, 0 if it is not one of memory.
std::optional<std::uint64_t> bar_bytes(const VfioOptions& options, vfio::Calls& calls) {
  constexpr std::uint64_t kIsMemory = 0x200;
  const auto text = calls.text("/sys/bus/pci/devices/" + options.address + "/resource");
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  std::string line;
  for (std::uint32_t i = 0; i <= options.bar; ++i) {
    if (!std::getline(in, line)) return std::nullopt;
  }
  std::istringstream words(line);
  std::uint64_t begin = 0;
  std::uint64_t last = 0;
  std::uint64_t flags = 0;
  words >> std::hex >> begin >> last >> flags;
  if (words.fail()) return std::nullopt;
  if ((flags & kIsMemory) == 0 || last <= begin) return 0;
  return last - begin + 1;
}

/// The number of the function's IOMMU group, if the function and this process can be used with it.
Result<std::string> find_group(const VfioOptions& options, vfio::Calls& calls) {
  const std::string folder = "/sys/bus/pci/devices/" + options.address;
  if (!calls.link(folder + "/subsystem")) {
    return about_device(options, "this machine has no such PCI function (`lspci -D` lists them)");
  }
  const auto group = calls.link(folder + "/iommu_group");
  if (!group) {
    return about_device(options,
                        "it has no IOMMU, which has to be on in the firmware's setup and in the kernel "
                        "(intel_iommu=on or amd_iommu=on)");
  }
  const auto driver = calls.link(folder + "/driver");
  if (!driver || *driver != "vfio-pci") {
    return about_device(options, (driver ? "its driver is " + *driver + ", not vfio-pci" : "it has no driver") +
                                     std::string(": driverctl set-override ") + options.address + " vfio-pci");
  }
  return *group;
}

/// Structures of VFIO begin with their size, and the kernel says there how much it has to tell. @returns nothing, with
/// errno, if it does not answer, or wants more than kMaxInfoBytes.
template <class Info>
std::optional<std::vector<std::byte>> ask(vfio::Calls& calls, int file, unsigned long request, const Info& question) {
  static_assert(std::is_trivially_copyable_v<Info>);
  std::size_t size = sizeof(Info);
  for (int i = 0; i < 2; ++i) {
    std::vector<std::byte> bytes(size);
    std::memcpy(bytes.data(), &question, sizeof(question));
    auto whole = static_cast<std::uint32_t>(size);
    std::memcpy(bytes.data(), &whole, sizeof(whole));
    if (calls.control(file, request, bytes.data()) != 0) return std::nullopt;
    std::memcpy(&whole, bytes.data(), sizeof(whole));
    if (whole <= size) return bytes;
    if (whole > kMaxInfoBytes) break;
    size = whole;
  }
  errno = EMSGSIZE;
  return std::nullopt;
}

template <class T>
T at(std::span<const std::byte> bytes, std::size_t offset = 0) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value{};
  if (offset <= bytes.size() && sizeof(T) <= bytes.size() - offset) {
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
  }
  return value;
}

/// A run of addresses or offsets. `last` is its last byte.
struct Run {
  std::uint64_t begin = 0;
  std::uint64_t last = 0;
};

/// The list of a capability, in what the kernel gave; nothing if there is no such capability, or its list does not lie
/// in it.
std::optional<std::vector<std::array<std::uint64_t, 2>>> pairs_of(std::span<const std::byte> info, std::uint32_t first,
                                                                  std::uint16_t id) {
  std::uint32_t offset = first;
  for (int i = 0; i < kMaxCapabilities && offset != 0; ++i) {
    const auto head = at<vfio_info_cap_header>(info, offset);
    if (head.id != id) {
      offset = head.next;
      continue;
    }
    if (offset > info.size() || sizeof(vfio::ListHead) > info.size() - offset) return std::nullopt;
    const std::size_t begin = offset + sizeof(vfio::ListHead);
    const std::uint32_t count = at<vfio::ListHead>(info, offset).count;
    if (count > (info.size() - begin) / (2 * sizeof(std::uint64_t))) return std::nullopt;
    std::vector<std::array<std::uint64_t, 2>> pairs(count);
    if (count != 0) std::memcpy(pairs.data(), info.data() + begin, count * sizeof(pairs[0]));
    return pairs;
  }
  return std::nullopt;
}

/// Addresses that the function sees our memory at.
class AddressSpace {
 public:
  AddressSpace() = default;
  AddressSpace(const std::vector<Run>& runs, std::uint32_t bits) {
    const std::uint64_t most = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    for (Run run : runs) {
      run.begin = std::max(run.begin, kFirstAddress);
      run.last = std::min(run.last, most);
      if (run.begin < run.last && run.last - run.begin >= kPage - 1) runs_.push_back(run);
    }
  }

  /// The lowest free range, with a page after it that is not mapped; `bytes` is a multiple of kPage.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t bytes) {
    for (const Run& run : runs_) {
      std::uint64_t begin = run.begin + (kPage - run.begin % kPage) % kPage;
      for (const auto& [taken, size] : taken_) {
        if (taken + size + kPage <= begin) continue;
        if (taken >= begin && taken - begin >= bytes + kPage) break;
        begin = taken + size + kPage;
      }
      if (begin < run.begin || begin > run.last || run.last - begin < bytes - 1) continue;
      taken_[begin] = bytes;
      return begin;
    }
    return std::nullopt;
  }
  void give_back(std::uint64_t begin) { taken_.erase(begin); }

 private:
  std::vector<Run> runs_;
  std::map<std::uint64_t, std::uint64_t> taken_;
};

/// Pages of this process, zeroed. A child that is forked does not have them: shared pages could become copies.
class Pages {
 public:
  Pages() = default;
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Pages& operator=(Pages&& other) = delete;
  ~Pages() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  [[nodiscard]] bool make(std::size_t bytes) {
    void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return false;
    data_ = static_cast<std::byte*>(data);
    bytes_ = bytes;
    return ::madvise(data_, bytes_, MADV_DONTFORK) == 0;
  }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class File {
 public:
  File() = default;
  File(std::shared_ptr<vfio::Calls> calls, int number) : calls_(std::move(calls)), number_(number) {}
  File(File&& other) noexcept : calls_(std::move(other.calls_)), number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    close();
    calls_ = std::move(other.calls_);
    number_ = std::exchange(other.number_, -1);
    return *this;
  }
  ~File() { close(); }
  void close() noexcept {
    if (number_ >= 0) calls_->close(std::exchange(number_, -1));
  }
  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] bool ok() const noexcept { return number_ >= 0; }

 private:
  std::shared_ptr<vfio::Calls> calls_;
  int number_ = -1;
};

/// The IOMMU's view of this process. Buffers hold on to it, and may outlive the device, which closes it.
class Container {
 public:
  Container(std::shared_ptr<vfio::Calls> calls, File file) : calls_(std::move(calls)), file_(std::move(file)) {}

  [[nodiscard]] const File& file() const noexcept { return file_; }

  /// Reads what can be mapped.
  [[nodiscard]] Status measure(const VfioOptions& options) {
    const auto info = ask(*calls_, file_.get(), VFIO_IOMMU_GET_INFO, vfio_iommu_type1_info{});
    if (!info) return about_device(options, "its IOMMU does not say what it can map: " + reason());
    const auto head = at<vfio_iommu_type1_info>(*info);
    if ((head.flags & VFIO_IOMMU_INFO_PGSIZES) != 0 && (head.iova_pgsizes & kPage) == 0) {
      return about_device(options, "its IOMMU does not map pages of 4096 bytes");
    }
    std::vector<Run> runs;
    if ((head.flags & VFIO_IOMMU_INFO_CAPS) != 0) {
      const auto ranges = pairs_of(*info, head.cap_offset, VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE);
      for (const auto& [begin, last] : ranges.value_or(std::vector<std::array<std::uint64_t, 2>>())) {
        runs.push_back({begin, last});
      }
    }
    if (runs.empty()) runs.push_back({0, kLastUnasked});
    space_ = AddressSpace(runs, options.address_bits);
    return Done{};
  }

  [[nodiscard]] Result<std::uint64_t> map(const Pages& pages) {
    const auto address = space_.take(pages.bytes());
    if (!address) return Failure{"the IOMMU and the function have no room for it among their addresses"};
    vfio_iommu_type1_dma_map map{};
    map.argsz = sizeof(map);
    map.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
    map.vaddr = reinterpret_cast<std::uintptr_t>(pages.data());
    map.iova = *address;
    map.size = pages.bytes();
    if (calls_->control(file_.get(), VFIO_IOMMU_MAP_DMA, &map) == 0) return *address;
    const int error = errno;
    space_.give_back(*address);
    if (error == ENOMEM) {
      return Failure{
          "the limit of locked memory is too low, or there is none left: raise LimitMEMLOCK of the unit, or "
          "ulimit -l"};
    }
    return Failure{"the IOMMU cannot map it: " + std::generic_category().message(error)};
  }

  /// Takes pages away from the function. They stay until it is closed if that fails, since it may write to them.
  void unmap(Pages pages, std::uint64_t address) noexcept {
    if (!file_.ok()) return;
    vfio_iommu_type1_dma_unmap unmap{};
    unmap.argsz = sizeof(unmap);
    unmap.iova = address;
    unmap.size = pages.bytes();
    if (calls_->control(file_.get(), VFIO_IOMMU_UNMAP_DMA, &unmap) == 0) {
      space_.give_back(address);
    } else {
      stuck_.push_back(std::move(pages));
    }
  }

  /// All mappings end.
  void close() noexcept {
    file_.close();
    stuck_.clear();
  }

 private:
  std::shared_ptr<vfio::Calls> calls_;
  File file_;
  AddressSpace space_;
  std::vector<Pages> stuck_;
};

class VfioBuffer final : public HostBuffer {
 public:
  VfioBuffer(std::shared_ptr<Container> container, Pages pages, std::uint64_t address)
      : container_(std::move(container)), pages_(std::move(pages)), address_(address) {}
  ~VfioBuffer() override { container_->unmap(std::move(pages_), address_); }

  [[nodiscard]] std::byte* data() noexcept override { return pages_.data(); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return pages_.bytes(); }
  [[nodiscard]] std::uint64_t address() const noexcept override { return address_; }

 private:
  std::shared_ptr<Container> container_;
  Pages pages_;
  std::uint64_t address_;
};

class VfioDevice final : public Device {
 public:
  VfioDevice(VfioOptions options, std::shared_ptr<vfio::Calls> calls)
      : options_(std::move(options)), calls_(std::move(calls)) {}

  ~VfioDevice() override {
    if (registers_ != nullptr) {
      rest();
      // If one of these fails the kernel does both again as the function is closed.
      (void)set_command(kCommandMemory);
      if (can_reset_) (void)calls_->control(function_.get(), VFIO_DEVICE_RESET, nullptr);
    }
    registers_.reset();
    function_.close();
    group_.close();
    if (container_ != nullptr) container_->close();
  }

  [[nodiscard]] Status open() {
    const Result<std::string> group = find_group(options_, *calls_);
    if (!group) return group.failure();
    Status done = open_group(group.value());
    if (done) done = container_->measure(options_);
    if (done) done = open_function();
    if (done) done = map_registers();
    if (done) done = wake();
    return done;
  }

  [[nodiscard]] Result<std::uint32_t> read(std::uint32_t offset) override {
    if (const Status there = check_offset("read", offset); !there) return there.failure();
    const std::uint32_t value = registers_->read(offset);
    if (registers_->is_broken() || (value == kNothing && is_gone())) return gone("read", offset);
    return value;
  }

  [[nodiscard]] Status write(std::uint32_t offset, std::uint32_t value) override {
    if (Status there = check_offset("write", offset); !there) return there;
    registers_->write(offset, value);
    if (registers_->is_broken()) return gone("write", offset);
    return Done{};
  }

  [[nodiscard]] Result<std::unique_ptr<HostBuffer>> allocate(std::size_t bytes) override {
    const auto fail = [&](const std::string& why) {
      return Failure{"cannot allocate " + std::to_string(bytes) + " bytes of memory for " + name() + ": " + why};
    };
    if (bytes == 0 || bytes > kMaxBufferBytes) return fail("no such size");
    Pages pages;
    if (!pages.make(round_up(bytes, kPage))) return fail(reason());
    const Result<std::uint64_t> address = container_->map(pages);
    if (!address) return fail(address.message());
    return std::unique_ptr<HostBuffer>(std::make_unique<VfioBuffer>(container_, std::move(pages), address.value()));
  }

  [[nodiscard]] Status reset() override {
    if (!can_reset_) return Failure{name() + " cannot be reset"};
    if (is_gone()) return Failure{name() + " has left the bus"};
    rest();  // it may answer again
    if (Status done = set_command(kCommandMemory); !done) return done;
    if (calls_->control(function_.get(), VFIO_DEVICE_RESET, nullptr) != 0) {
      return Failure{name() + " cannot be reset: " + reason()};
    }
    registers_.reset();
    if (Status done = map_registers(); !done) return done;
    return wake();
  }

 private:
  [[nodiscard]] std::string name() const { return "PCI function " + options_.address; }

  [[nodiscard]] Status open_group(const std::string& group) {
    File container(calls_, calls_->open(kContainer));
    if (!container.ok()) {
      if (errno == EACCES || errno == EPERM) return not_permitted(options_, kContainer);
      return about_device(
          options_, std::string("cannot open ") + kContainer + ": " + reason() + "; is the module vfio-pci loaded?");
    }
    if (calls_->control(container.get(), VFIO_GET_API_VERSION, nullptr) != VFIO_API_VERSION) {
      return about_device(options_, "this kernel has another version of VFIO");
    }
    const std::string path = group_path(group);
    group_ = File(calls_, calls_->open(path));
    if (!group_.ok()) return no_group(path);
    vfio_group_status status{};
    status.argsz = sizeof(status);
    if (calls_->control(group_.get(), VFIO_GROUP_GET_STATUS, &status) != 0) {
      return about_device(options_, "the state of " + path + " cannot be read: " + reason());
    }
    if ((status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0) {
      return about_device(options_, "its IOMMU group " + group +
                                        " has other functions, which drivers of the kernel use: all have to be with "
                                        "vfio-pci (ls /sys/kernel/iommu_groups/" +
                                        group + "/devices)");
    }
    int number = container.get();
    if (calls_->control(group_.get(), VFIO_GROUP_SET_CONTAINER, &number) != 0) {
      return about_device(options_, "its IOMMU group " + group + " cannot be used: " + reason());
    }
    container_ = std::make_shared<Container>(calls_, std::move(container));
    return choose_iommu();
  }

  [[nodiscard]] Failure no_group(const std::string& path) const {
    switch (errno) {
      case EBUSY:
        return about_device(options_, "another process uses it, or a function of its IOMMU group (" + path + ")");
      case EACCES:
      case EPERM: return not_permitted(options_, path);
      case ENOENT:
        return about_device(options_, path +
                                          " does not exist: VFIO without an IOMMU is not supported, because the card "
                                          "could write to any memory");
      default: return about_device(options_, "cannot open " + path + ": " + reason());
    }
  }

  [[nodiscard]] Status choose_iommu() {
    for (const std::uintptr_t kind : {std::uintptr_t{VFIO_TYPE1v2_IOMMU}, std::uintptr_t{VFIO_TYPE1_IOMMU}}) {
      void* const argument = reinterpret_cast<void*>(kind);  // NOLINT(performance-no-int-to-ptr): so the call wants it
      if (calls_->control(container_->file().get(), VFIO_CHECK_EXTENSION, argument) <= 0) continue;
      if (calls_->control(container_->file().get(), VFIO_SET_IOMMU, argument) == 0) return Done{};
      if (errno == EPERM) {
        return about_device(options_,
                            "the kernel does not give it to a process, because this machine does not remap "
                            "interrupts (dmesg says so)");
      }
      return about_device(options_, "its IOMMU cannot be used: " + reason());
    }
    return about_device(options_, "this kernel's VFIO has no IOMMU of type 1: load the module vfio_iommu_type1");
  }

  [[nodiscard]] Status open_function() {
    function_ = File(calls_, calls_->control(group_.get(), VFIO_GROUP_GET_DEVICE_FD, options_.address.data()));
    if (!function_.ok()) return about_device(options_, "it cannot be opened: " + reason());
    vfio_device_info info{};
    info.argsz = sizeof(info);
    if (calls_->control(function_.get(), VFIO_DEVICE_GET_INFO, &info) != 0) {
      return about_device(options_, "VFIO does not describe it: " + reason());
    }
    if ((info.flags & VFIO_DEVICE_FLAGS_PCI) == 0 || info.num_regions <= VFIO_PCI_CONFIG_REGION_INDEX) {
      return about_device(options_, "VFIO does not describe it as a PCI function");
    }
    can_reset_ = (info.flags & VFIO_DEVICE_FLAGS_RESET) != 0;
    const auto config = region(VFIO_PCI_CONFIG_REGION_INDEX);
    if (!config) return about_device(options_, "its configuration cannot be found: " + reason());
    const auto head = at<vfio_region_info>(*config);
    if (head.offset > kMaxFileOffset - kPage) return about_device(options_, "its configuration is at no offset");
    config_ = head.offset;
    if (is_gone()) return about_device(options_, "it does not answer");
    return Done{};
  }

  [[nodiscard]] std::optional<std::vector<std::byte>> region(std::uint32_t index) {
    vfio_region_info question{};
    question.index = index;
    return ask(*calls_, function_.get(), VFIO_DEVICE_GET_REGION_INFO, question);
  }

  [[nodiscard]] Status map_registers() {
    const auto info = region(VFIO_PCI_BAR0_REGION_INDEX + options_.bar);
    if (!info) return about_bar(options_, "VFIO does not describe it: " + reason());
    const auto head = at<vfio_region_info>(*info);
    if (!has_room(options_, head.size)) return too_small(options_, head.size);
    constexpr std::uint32_t kNeeded =
        VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE | VFIO_REGION_INFO_FLAG_MMAP;
    if ((head.flags & kNeeded) != kNeeded || !can_map(*info, head)) {
      return about_bar(options_, "it cannot be mapped: the kernel keeps it, or a part of it, to itself");
    }
    if (head.offset % kPage != 0 || head.offset > kMaxFileOffset || head.size > kMaxFileOffset - head.offset) {
      return about_bar(options_, "VFIO names no offset that can be mapped");
    }
    registers_ = calls_->map(function_.get(), options_.window_bytes, head.offset + options_.offset);
    if (registers_ == nullptr) return about_bar(options_, "it cannot be mapped: " + reason());
    return Done{};
  }

  /// Some kernels leave out the page with the vectors of interrupts, and list what is left.
  [[nodiscard]] bool can_map(std::span<const std::byte> info, const vfio_region_info& head) const {
    if ((head.flags & VFIO_REGION_INFO_FLAG_CAPS) == 0) return true;
    const auto areas = pairs_of(info, head.cap_offset, VFIO_REGION_INFO_CAP_SPARSE_MMAP);
    if (!areas) return true;
    return std::any_of(areas->begin(), areas->end(), [&](const std::array<std::uint64_t, 2>& area) {
      const auto& [begin, bytes] = area;
      return begin <= options_.offset && options_.offset - begin <= bytes &&
             options_.window_bytes <= bytes - (options_.offset - begin);
    });
  }

  /// A function that could not be reset as it was opened may still have rings of an earlier process: it comes to rest
  /// before it may access memory, where our buffers may have the same addresses.
  [[nodiscard]] Status wake() {
    if (Status done = set_command(kCommandMemory); !done) return done;
    rest();
    return set_command(kCommandMemory | kCommandMaster);
  }

  /// Stops the decode kernel, if it is one and answers.
  void rest() noexcept {
    namespace reg = registers;
    if (options_.window_bytes < reg::kWindowBytes || registers_->read(reg::kId) != reg::kIdValue) return;
    registers_->write(reg::kControl, 0);
    for (std::uint32_t i = 0; i < reg::ring::kCount; ++i) {
      registers_->write(reg::ring::base(i) + reg::ring::kCommand, reg::ring::kCommandStop);
    }
    for (int look = 0; look < kRestLooks; ++look) {
      const std::uint32_t status = registers_->read(reg::kStatus);
      if (status == kNothing || registers_->is_broken() || (status & reg::kStatusIdle) != 0) return;
      std::this_thread::sleep_for(kRestPause);
    }
  }

  /// Sets which of memory and mastery the function has; the rest of its command register stays.
  [[nodiscard]] Status set_command(std::uint16_t bits) {
    std::uint16_t command = 0;
    bool done = calls_->read(function_.get(), &command, sizeof(command), config_ + kCommand);
    command = static_cast<std::uint16_t>((command & ~(kCommandMemory | kCommandMaster)) | bits);
    done = done && calls_->write(function_.get(), &command, sizeof(command), config_ + kCommand);
    if (done) return Done{};
    return about_device(options_, "its configuration cannot be changed: " + reason());
  }

  [[nodiscard]] bool is_gone() {
    std::uint16_t vendor = 0;
    return !calls_->read(function_.get(), &vendor, sizeof(vendor), config_ + kVendor) || vendor == kNoVendor;
  }

  [[nodiscard]] Status check_offset(const char* what, std::uint32_t offset) const {
    if (offset < options_.window_bytes && offset % sizeof(std::uint32_t) == 0) return Done{};
    return Failure{std::string("cannot ") + what + " register " + std::to_string(offset) +
                   " of the kernel: there is no such register"};
  }
  [[nodiscard]] Failure gone(const char* what, std::uint32_t offset) const {
    return Failure{std::string("cannot ") + what + " register " + std::to_string(offset) + " of the kernel: " + name() +
                   " has left the bus"};
  }

  VfioOptions options_;
  std::shared_ptr<vfio::Calls> calls_;
  std::shared_ptr<Container> container_;
  File group_;
  File function_;
  std::uint64_t config_ = 0;  ///< Offset of the configuration in `function_`.
  bool can_reset_ = false;
  std::unique_ptr<vfio::Registers> registers_;
};

}  // namespace

bool is_pci_address(const std::string& text) {
  constexpr std::string_view kForm = "xxxx:xx:xx.7";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const char c = text[i];
    const bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (kForm[i] == 'x' ? !is_hex : kForm[i] == '7' ? (c < '0' || c > '7') : c != kForm[i]) return false;
  }
  return true;
}

Status check_vfio(const VfioOptions& options, vfio::Calls& calls) {
  const Result<std::string> group = find_group(options, calls);
  if (!group) return group.failure();
  const auto bytes = bar_bytes(options, calls);
  if (bytes && !has_room(options, *bytes)) return too_small(options, *bytes);
  for (const std::string& path : {std::string(kContainer), group_path(group.value())}) {
    if (!calls.may_use(path)) {
      if (errno == EACCES || errno == EPERM) return not_permitted(options, path);
      return about_device(options, "cannot use " + path + ": " + reason());
    }
  }
  return Done{};
}

Result<std::unique_ptr<Device>> open_vfio(const VfioOptions& options, std::shared_ptr<vfio::Calls> calls) {
  auto device = std::make_unique<VfioDevice>(options, std::move(calls));
  if (const Status opened = device->open(); !opened) return opened.failure();
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace stopbit::device
