#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/device/vfio/calls.hpp"

namespace stopbit::sim {

/// What is on the simulated function: registers from offset 0 of its BAR, and accesses to memory. One thread at a time.
class Function {
 public:
  Function() = default;
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  virtual ~Function() = default;
  [[nodiscard]] virtual std::uint32_t read(std::uint32_t offset) = 0;
  virtual void write(std::uint32_t offset, std::uint32_t value) = 0;
  /// From now on it can reach this memory at this address,
  virtual void map(std::uint64_t address, std::byte* data, std::size_t bytes) = 0;
  /// and from now on no more.
  virtual void unmap(std::uint64_t address) = 0;
  virtual void reset() = 0;
};

/// The machine around the function. Tests change what they want to see refused.
struct VfioMachine {
  struct Range {
    std::uint64_t begin;
    std::uint64_t last;
  };
  std::string address = "0000:5b:00.0";
  std::optional<std::string> group = "17";         ///< Nothing: it has no IOMMU.
  std::optional<std::string> driver = "vfio-pci";  ///< Nothing: none.
  std::map<std::string, int> open_errors = {};     ///< errno of opening these files.
  int api_version = 0;
  bool is_viable = true;
  int container_error = 0;                     ///< Of giving the group its container; 0: none.
  int iommu_error = 0;                         ///< Of choosing the IOMMU.
  std::vector<unsigned long> iommus = {1, 3};  ///< Kinds that the kernel has.
  std::uint64_t page_sizes = 4096;
  std::vector<Range> ranges = {{0, 0xFEDF'FFFF}, {0xFEF0'0000, (std::uint64_t{1} << 39) - 1}};
  std::uint64_t memory_limit = ~std::uint64_t{0};  ///< Bytes that may be mapped: RLIMIT_MEMLOCK.
  int function_error = 0;                          ///< Of opening the function.
  bool is_pci = true;
  bool can_reset = true;
  int reset_error = 0;
  std::uint32_t bar = 0;  ///< The one with the registers; others have no bytes.
  std::uint64_t bar_bytes = 0x2'0000;
  std::uint32_t bar_flags = 7;     ///< VFIO_REGION_INFO_FLAG_READ, WRITE, MMAP
  std::uint64_t bar_offset = 0;    ///< In the function's file.
  std::uint64_t registers_at = 0;  ///< In the BAR.
  std::optional<std::vector<std::pair<std::uint64_t, std::uint64_t>>> sparse = {};  ///< Its parts that can be mapped.
  int map_error = 0;
  std::uint32_t info_bytes = 0;        ///< What structures say of their size; 0: the truth.
  std::uint32_t first_capability = 0;  ///< Where they say that the first one is; 0: the truth.
  std::uint32_t list_length = 0;       ///< What lists say of their length; 0: the truth.
  bool is_gone = false;                ///< Off the bus: reads are all ones, writes go nowhere.
  bool is_broken = false;              ///< An access to registers is a bus error.
  bool unmap_fails = false;
};

/// Linux's VFIO, as far as host/device/vfio uses it, with one function: refuses what the kernel refuses, in the same
/// order of calls. The function reaches memory that is mapped while it is master of the bus. Any thread.
class SimulatedVfio final : public device::vfio::Calls {
 public:
  explicit SimulatedVfio(std::unique_ptr<Function> function, VfioMachine machine = {});
  ~SimulatedVfio() override;

  [[nodiscard]] std::optional<std::string> link(const std::string& path) override;
  [[nodiscard]] std::optional<std::string> text(const std::string& path) override;
  [[nodiscard]] bool may_use(const std::string& path) override;
  [[nodiscard]] int open(const std::string& path) override;
  void close(int file) noexcept override;
  [[nodiscard]] int control(int file, unsigned long request, void* argument) noexcept override;
  [[nodiscard]] bool read(int file, void* to, std::size_t bytes, std::uint64_t offset) noexcept override;
  [[nodiscard]] bool write(int file, const void* from, std::size_t bytes, std::uint64_t offset) noexcept override;
  [[nodiscard]] std::unique_ptr<device::vfio::Registers> map(int file, std::size_t bytes,
                                                             std::uint64_t offset) override;

  // What a test looks at.
  [[nodiscard]] VfioMachine& machine() noexcept { return machine_; }
  [[nodiscard]] bool is_master() const noexcept;
  [[nodiscard]] std::size_t open_files() const noexcept { return files_.size(); }
  [[nodiscard]] std::size_t mapped_bars() const noexcept { return mapped_bars_; }
  /// What happened to the function, in order: "reset", "master", "no master", "map", "unmap".
  [[nodiscard]] const std::vector<std::string>& story() const noexcept { return story_; }

 private:
  enum class Kind : std::uint8_t { Container, Group, Function };
  class Bar;
  struct Mapping {
    std::byte* data;
    std::size_t bytes;
  };

  [[nodiscard]] int error_of(const std::string& path) const;
  [[nodiscard]] bool has(int file, Kind kind) const;
  [[nodiscard]] bool is_open(Kind kind) const;
  int control_container(unsigned long request, void* argument);
  int control_group(unsigned long request, void* argument);
  int control_function(unsigned long request, void* argument);
  int tell_iommu(void* argument) const;
  int tell_region(void* argument) const;
  int map_memory(const void* argument);
  int unmap_memory(void* argument);
  void forget_memory();
  void set_command(std::uint16_t command);

  mutable std::mutex mutex_;
  std::unique_ptr<Function> function_;
  VfioMachine machine_;
  std::map<int, Kind> files_;
  int next_file_ = 100;
  bool has_container_ = false;
  unsigned long iommu_ = 0;
  std::map<std::uint64_t, Mapping> memory_;
  std::uint16_t command_ = 0;
  std::size_t mapped_bars_ = 0;
  std::vector<std::string> story_;
};

}  // namespace stopbit::sim
