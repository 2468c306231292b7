#include "host/device/sim/sim_vfio.hpp"

#include <linux/vfio.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "host/device/vfio/list_head.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kConfigOffset = std::uint64_t{VFIO_PCI_CONFIG_REGION_INDEX} << 40;  // as vfio-pci places it
constexpr std::uint64_t kCommand = 4;
constexpr std::uint16_t kMaster = 1U << 2;
constexpr std::uint16_t kVendor = 0x10EE;
constexpr const char* kContainerPath = "/dev/vfio/vfio";

int refuse(int error) {
  errno = error;
  return -1;
}

template <class T>
void put(std::vector<std::byte>& bytes, const T& value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

/// Gives a structure as the kernel does: as much as there is room for, with its whole size in front.
template <class Info>
int tell(void* to, const Info& head, const std::vector<std::byte>& capability, const VfioMachine& machine) {
  std::uint32_t room = 0;
  std::memcpy(&room, to, sizeof(room));
  if (room < sizeof(Info)) return refuse(EINVAL);
  std::vector<std::byte> bytes;
  Info answer = head;
  const std::uint32_t whole = sizeof(Info) + static_cast<std::uint32_t>(capability.size());
  answer.argsz = machine.info_bytes != 0 ? machine.info_bytes : whole;
  answer.cap_offset = room < whole || capability.empty() ? 0
                      : machine.first_capability != 0    ? machine.first_capability
                                                         : std::uint32_t{sizeof(Info)};
  put(bytes, answer);
  bytes.insert(bytes.end(), capability.begin(), capability.end());
  std::memcpy(to, bytes.data(), std::min<std::size_t>(room, bytes.size()));
  return 0;
}

/// A capability of another kind, which a reader has to pass over, and then a list of pairs.
template <class Pairs>
std::vector<std::byte> list_of(std::uint32_t at, std::uint16_t id, const Pairs& pairs, std::uint32_t length) {
  std::vector<std::byte> bytes;
  put(bytes, vfio_info_cap_header{.id = 0x7FFF, .version = 1, .next = at + 8});
  put(bytes, device::vfio::ListHead{.header = {.id = id, .version = 1, .next = 0},
                                    .count = length != 0 ? length : static_cast<std::uint32_t>(pairs.size()),
                                    .reserved = 0});
  for (const auto& [first, second] : pairs) {
    put(bytes, std::uint64_t{first});
    put(bytes, std::uint64_t{second});
  }
  return bytes;
}

}  // namespace

class SimulatedVfio::Bar final : public device::vfio::Registers {
 public:
  Bar(SimulatedVfio& in, std::uint64_t begin) : in_(in), begin_(begin) {}
  ~Bar() override {
    const std::scoped_lock lock(in_.mutex_);
    --in_.mapped_bars_;
  }
  [[nodiscard]] std::uint32_t read(std::uint32_t offset) noexcept override {
    const std::scoped_lock lock(in_.mutex_);
    const std::uint64_t at = begin_ + offset;
    if (in_.machine_.is_broken) return 0;
    if (in_.machine_.is_gone || at < in_.machine_.registers_at) return ~std::uint32_t{0};
    return in_.function_->read(static_cast<std::uint32_t>(at - in_.machine_.registers_at));
  }
  void write(std::uint32_t offset, std::uint32_t value) noexcept override {
    const std::scoped_lock lock(in_.mutex_);
    const std::uint64_t at = begin_ + offset;
    if (in_.machine_.is_broken || in_.machine_.is_gone || at < in_.machine_.registers_at) return;
    in_.function_->write(static_cast<std::uint32_t>(at - in_.machine_.registers_at), value);
  }
  [[nodiscard]] bool is_broken() const noexcept override { return in_.machine_.is_broken; }

 private:
  SimulatedVfio& in_;
  std::uint64_t begin_;
};

SimulatedVfio::SimulatedVfio(std::unique_ptr<Function> function, VfioMachine machine)
    : function_(std::move(function)), machine_(std::move(machine)) {}

SimulatedVfio::~SimulatedVfio() = default;

std::optional<std::string> SimulatedVfio::link(const std::string& path) {
  const std::string folder = "/sys/bus/pci/devices/" + machine_.address;
  if (path == folder + "/subsystem") return "pci";
  if (path == folder + "/iommu_group") return machine_.group;
  if (path == folder + "/driver") return machine_.driver;
  return std::nullopt;
}

std::optional<std::string> SimulatedVfio::text(const std::string& path) {
  if (path != "/sys/bus/pci/devices/" + machine_.address + "/resource") return std::nullopt;
  std::string text;
  for (std::uint32_t bar = 0; bar <= VFIO_PCI_BAR5_REGION_INDEX; ++bar) {
    constexpr std::uint64_t kAt = 0xE000'0000;
    char line[64] = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
    if (bar == machine_.bar && machine_.bar_bytes != 0) {
      std::snprintf(line, sizeof(line), "0x%016llx 0x%016llx 0x0000000000040200\n",
                    static_cast<unsigned long long>(kAt),
                    static_cast<unsigned long long>(kAt + machine_.bar_bytes - 1));
    }
    text += line;
  }
  return text;
}

int SimulatedVfio::error_of(const std::string& path) const {
  const auto found = machine_.open_errors.find(path);
  if (found != machine_.open_errors.end()) return found->second;
  if (path == kContainerPath) return 0;
  return machine_.group && path == "/dev/vfio/" + *machine_.group ? 0 : ENOENT;
}

bool SimulatedVfio::may_use(const std::string& path) {
  errno = error_of(path);
  return errno == 0;
}

int SimulatedVfio::open(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  if (const int error = error_of(path); error != 0) return refuse(error);
  const Kind kind = path == kContainerPath ? Kind::Container : Kind::Group;
  if (kind == Kind::Group && is_open(Kind::Group)) return refuse(EBUSY);
  files_[next_file_] = kind;
  return next_file_++;
}

void SimulatedVfio::close(int file) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = files_.find(file);
  if (found == files_.end()) return;
  const Kind kind = found->second;
  files_.erase(found);
  // As vfio-pci does it, whatever the process has left undone.
  if (kind == Kind::Function) {
    set_command(command_ & ~kMaster);
    function_->reset();
  }
  if (kind != Kind::Function && !is_open(Kind::Function)) forget_memory();
}

bool SimulatedVfio::has(int file, Kind kind) const {
  const auto found = files_.find(file);
  return found != files_.end() && found->second == kind;
}

bool SimulatedVfio::is_open(Kind kind) const {
  return std::any_of(files_.begin(), files_.end(), [&](const auto& file) { return file.second == kind; });
}

int SimulatedVfio::control(int file, unsigned long request, void* argument) noexcept {
  const std::scoped_lock lock(mutex_);
  if (has(file, Kind::Container)) return control_container(request, argument);
  if (has(file, Kind::Group)) return control_group(request, argument);
  if (has(file, Kind::Function)) return control_function(request, argument);
  return refuse(EBADF);
}

int SimulatedVfio::control_container(unsigned long request, void* argument) {
  const auto number = reinterpret_cast<unsigned long>(argument);
  const bool has_kind = std::find(machine_.iommus.begin(), machine_.iommus.end(), number) != machine_.iommus.end();
  switch (request) {
    case VFIO_GET_API_VERSION: return machine_.api_version;
    case VFIO_CHECK_EXTENSION: return has_kind ? 1 : 0;
    case VFIO_SET_IOMMU:
      if (!has_container_ || iommu_ != 0 || !has_kind) return refuse(EINVAL);
      if (machine_.iommu_error != 0) return refuse(machine_.iommu_error);
      iommu_ = number;
      return 0;
    default: break;
  }
  if (iommu_ == 0) return refuse(EINVAL);
  switch (request) {
    case VFIO_IOMMU_GET_INFO: return tell_iommu(argument);
    case VFIO_IOMMU_MAP_DMA: return map_memory(argument);
    case VFIO_IOMMU_UNMAP_DMA: return unmap_memory(argument);
    default: return refuse(ENOTTY);
  }
}

int SimulatedVfio::control_group(unsigned long request, void* argument) {
  switch (request) {
    case VFIO_GROUP_GET_STATUS: {
      auto& status = *static_cast<vfio_group_status*>(argument);
      if (status.argsz < sizeof(status)) return refuse(EINVAL);
      status.flags = machine_.is_viable ? VFIO_GROUP_FLAGS_VIABLE : 0;
      return 0;
    }
    case VFIO_GROUP_SET_CONTAINER:
      if (machine_.container_error != 0) return refuse(machine_.container_error);
      if (!machine_.is_viable) return refuse(EPERM);
      if (has_container_ || !has(*static_cast<const int*>(argument), Kind::Container)) return refuse(EINVAL);
      has_container_ = true;
      return 0;
    case VFIO_GROUP_GET_DEVICE_FD:
      if (iommu_ == 0) return refuse(EINVAL);
      if (machine_.function_error != 0) return refuse(machine_.function_error);
      if (machine_.address != static_cast<const char*>(argument)) return refuse(ENODEV);
      files_[next_file_] = Kind::Function;
      function_->reset();
      return next_file_++;
    default: return refuse(ENOTTY);
  }
}

int SimulatedVfio::control_function(unsigned long request, void* argument) {
  switch (request) {
    case VFIO_DEVICE_GET_INFO: {
      auto& info = *static_cast<vfio_device_info*>(argument);
      if (info.argsz < offsetof(vfio_device_info, cap_offset)) return refuse(EINVAL);
      info.flags = (machine_.is_pci ? VFIO_DEVICE_FLAGS_PCI : VFIO_DEVICE_FLAGS_PLATFORM) |
                   (machine_.can_reset ? VFIO_DEVICE_FLAGS_RESET : 0);
      info.num_regions = VFIO_PCI_NUM_REGIONS;
      info.num_irqs = VFIO_PCI_NUM_IRQS;
      return 0;
    }
    case VFIO_DEVICE_GET_REGION_INFO: return tell_region(argument);
    case VFIO_DEVICE_RESET:
      if (!machine_.can_reset) return refuse(EINVAL);
      if (machine_.reset_error != 0) return refuse(machine_.reset_error);
      story_.emplace_back("reset");
      function_->reset();
      return 0;
    default: return refuse(ENOTTY);
  }
}

int SimulatedVfio::tell_iommu(void* argument) const {
  vfio_iommu_type1_info info{};
  info.flags = VFIO_IOMMU_INFO_PGSIZES;
  info.iova_pgsizes = machine_.page_sizes;
  std::vector<std::byte> capability;
  if (!machine_.ranges.empty()) {
    info.flags |= VFIO_IOMMU_INFO_CAPS;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
    for (const VfioMachine::Range& range : machine_.ranges) pairs.emplace_back(range.begin, range.last);
    capability = list_of(sizeof(info), VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE, pairs, machine_.list_length);
  }
  return tell(argument, info, capability, machine_);
}

int SimulatedVfio::tell_region(void* argument) const {
  vfio_region_info info{};
  std::memcpy(&info, argument, sizeof(info));
  const std::uint32_t index = info.index;
  info = {};
  info.index = index;
  std::vector<std::byte> capability;
  if (index == VFIO_PCI_CONFIG_REGION_INDEX) {
    info.flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
    info.size = kPage;
    info.offset = kConfigOffset;
  } else if (index == machine_.bar) {
    info.flags = machine_.bar_flags;
    info.size = machine_.bar_bytes;
    info.offset = machine_.bar_offset;
    if (machine_.sparse) {
      info.flags |= VFIO_REGION_INFO_FLAG_CAPS;
      capability = list_of(sizeof(info), VFIO_REGION_INFO_CAP_SPARSE_MMAP, *machine_.sparse, machine_.list_length);
    }
  } else if (index >= VFIO_PCI_NUM_REGIONS) {
    return refuse(EINVAL);
  }
  return tell(argument, info, capability, machine_);
}

int SimulatedVfio::map_memory(const void* argument) {
  vfio_iommu_type1_dma_map map{};
  std::memcpy(&map, argument, sizeof(map));
  constexpr std::uint32_t kBoth = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
  if (map.argsz < sizeof(map) || map.flags != kBoth) return refuse(EINVAL);
  if (map.size == 0 || (map.size | map.iova | map.vaddr) % kPage != 0) return refuse(EINVAL);
  const std::uint64_t last = map.iova + map.size - 1;
  const auto holds = [&](const VfioMachine::Range& range) { return range.begin <= map.iova && last <= range.last; };
  if (last < map.iova ||
      (!machine_.ranges.empty() && std::none_of(machine_.ranges.begin(), machine_.ranges.end(), holds))) {
    return refuse(EINVAL);
  }
  std::uint64_t bytes = map.size;
  for (const auto& [address, mapping] : memory_) {
    if (map.iova < address + mapping.bytes && address <= last) return refuse(EEXIST);
    bytes += mapping.bytes;
  }
  if (bytes > machine_.memory_limit) return refuse(ENOMEM);
  auto* const data = reinterpret_cast<std::byte*>(map.vaddr);  // NOLINT(performance-no-int-to-ptr): so the call has it
  memory_[map.iova] = {data, map.size};
  story_.emplace_back("map");
  if ((command_ & kMaster) != 0) function_->map(map.iova, data, map.size);
  return 0;
}

int SimulatedVfio::unmap_memory(void* argument) {
  auto& unmap = *static_cast<vfio_iommu_type1_dma_unmap*>(argument);
  if (unmap.argsz < sizeof(unmap) || machine_.unmap_fails) return refuse(EINVAL);
  const auto found = memory_.find(unmap.iova);
  if (found == memory_.end() || found->second.bytes != unmap.size) return refuse(EINVAL);
  story_.emplace_back("unmap");
  if ((command_ & kMaster) != 0) function_->unmap(unmap.iova);
  memory_.erase(found);
  return 0;
}

/// The group has no container any more.
void SimulatedVfio::forget_memory() {
  if ((command_ & kMaster) != 0) {
    for (const auto& [address, mapping] : memory_) function_->unmap(address);
  }
  memory_.clear();
  has_container_ = false;
  iommu_ = 0;
}

void SimulatedVfio::set_command(std::uint16_t command) {
  const bool was = (command_ & kMaster) != 0;
  const bool is = (command & kMaster) != 0;
  command_ = command;
  if (was == is) return;
  story_.emplace_back(is ? "master" : "no master");
  for (const auto& [address, mapping] : memory_) {
    if (is) {
      function_->map(address, mapping.data, mapping.bytes);
    } else {
      function_->unmap(address);
    }
  }
}

bool SimulatedVfio::is_master() const noexcept {
  const std::scoped_lock lock(mutex_);
  return (command_ & kMaster) != 0;
}

bool SimulatedVfio::read(int file, void* to, std::size_t bytes, std::uint64_t offset) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!has(file, Kind::Function) || bytes != sizeof(std::uint16_t)) return refuse(EINVAL) == 0;
  std::uint16_t value = 0;
  if (offset == kConfigOffset) value = kVendor;
  if (offset == kConfigOffset + kCommand) value = command_;
  if (machine_.is_gone) value = 0xFFFF;
  std::memcpy(to, &value, sizeof(value));
  return true;
}

bool SimulatedVfio::write(int file, const void* from, std::size_t bytes, std::uint64_t offset) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!has(file, Kind::Function) || bytes != sizeof(std::uint16_t)) return refuse(EINVAL) == 0;
  std::uint16_t value = 0;
  std::memcpy(&value, from, sizeof(value));
  if (offset == kConfigOffset + kCommand && !machine_.is_gone) set_command(value);
  return true;
}

std::unique_ptr<device::vfio::Registers> SimulatedVfio::map(int file, std::size_t bytes, std::uint64_t offset) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t begin = offset - machine_.bar_offset;
  errno = machine_.map_error != 0 ? machine_.map_error : EINVAL;
  if (machine_.map_error != 0 || !has(file, Kind::Function) || offset % kPage != 0) return nullptr;
  if (begin > machine_.bar_bytes || bytes > machine_.bar_bytes - begin) return nullptr;
  ++mapped_bars_;
  return std::make_unique<Bar>(*this, begin);
}

}  // namespace stopbit::sim
