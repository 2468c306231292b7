#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

/// What the leaf asks of the kernel. One implementation makes the calls; another is a kernel with a simulated card
/// (host/device/sim/sim_vfio.hpp), so that everything above this line runs on both.
namespace stopbit::device::vfio {

/// Registers of a function, mapped from one of its BARs. `offset` is a multiple of 4 below the mapped size.
class Registers {
 public:
  Registers() = default;
  Registers(const Registers&) = delete;
  Registers& operator=(const Registers&) = delete;
  virtual ~Registers() = default;
  [[nodiscard]] virtual std::uint32_t read(std::uint32_t offset) noexcept = 0;
  virtual void write(std::uint32_t offset, std::uint32_t value) noexcept = 0;
  /// Whether an access has failed as a bus error, which ends the process without this: from then on nothing here is
  /// the function's.
  [[nodiscard]] virtual bool is_broken() const noexcept = 0;
};

/// Calls with a number as their result return -1 on failure and set errno, as those of the kernel do.
class Calls {
 public:
  Calls() = default;
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  virtual ~Calls() = default;

  /// The last part of what a symbolic link in /sys leads to; nothing if there is no such link.
  [[nodiscard]] virtual std::optional<std::string> link(const std::string& path) = 0;
  /// The content of a small file in /sys; nothing if there is no such file.
  [[nodiscard]] virtual std::optional<std::string> text(const std::string& path) = 0;
  /// Whether this process may read and write the file, without opening it.
  [[nodiscard]] virtual bool may_use(const std::string& path) = 0;
  /// For reading and writing.
  [[nodiscard]] virtual int open(const std::string& path) = 0;
  virtual void close(int file) noexcept = 0;
  /// `argument` is what the request says: a number, or a structure that is at least as long as the kernel wants.
  [[nodiscard]] virtual int control(int file, unsigned long request, void* argument) noexcept = 0;
  /// All of `bytes`, or false.
  [[nodiscard]] virtual bool read(int file, void* to, std::size_t bytes, std::uint64_t offset) noexcept = 0;
  [[nodiscard]] virtual bool write(int file, const void* from, std::size_t bytes, std::uint64_t offset) noexcept = 0;
  /// Null with errno if it cannot be mapped. `offset` is a multiple of the page size.
  [[nodiscard]] virtual std::unique_ptr<Registers> map(int file, std::size_t bytes, std::uint64_t offset) = 0;
};

/// Those of this machine's kernel.
[[nodiscard]] std::shared_ptr<Calls> system_calls();

}  // namespace stopbit::device::vfio
