#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "host/device/vfio/calls.hpp"
#include "host/os/shm/guard.hpp"

namespace stopbit::device::vfio {
namespace {

/// A mapped BAR. A function whose memory is switched off (a reset, or it was pulled) answers with a bus error.
class Mapped final : public Registers {
 public:
  Mapped(std::byte* data, std::size_t bytes, os::GuardedRange* range) : data_(data), bytes_(bytes), range_(range) {}
  ~Mapped() override {
    os::unguard(range_);
    ::munmap(data_, bytes_);
  }
  [[nodiscard]] std::uint32_t read(std::uint32_t offset) noexcept override {
    return *reinterpret_cast<volatile std::uint32_t*>(data_ + offset);
  }
  void write(std::uint32_t offset, std::uint32_t value) noexcept override {
    // Earlier writes to memory are visible before the function sees this one.
    std::atomic_thread_fence(std::memory_order_release);
    *reinterpret_cast<volatile std::uint32_t*>(data_ + offset) = value;
  }
  [[nodiscard]] bool is_broken() const noexcept override { return range_->is_broken.load(std::memory_order_relaxed); }

 private:
  std::byte* data_;
  std::size_t bytes_;
  os::GuardedRange* range_;
};

class SystemCalls final : public Calls {
 public:
  [[nodiscard]] std::optional<std::string> link(const std::string& path) override {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    return error ? std::nullopt : std::optional(target.filename().string());
  }
  [[nodiscard]] std::optional<std::string> text(const std::string& path) override {
    std::ifstream file(path);
    if (!file) return std::nullopt;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  [[nodiscard]] bool may_use(const std::string& path) override { return ::access(path.c_str(), R_OK | W_OK) == 0; }
  [[nodiscard]] int open(const std::string& path) override { return ::open(path.c_str(), O_RDWR | O_CLOEXEC); }
  void close(int file) noexcept override { ::close(file); }
  [[nodiscard]] int control(int file, unsigned long request, void* argument) noexcept override {
    int result = -1;
    do {
      result = ::ioctl(file, request, argument);
    } while (result < 0 && errno == EINTR);
    return result;
  }
  [[nodiscard]] bool read(int file, void* to, std::size_t bytes, std::uint64_t offset) noexcept override {
    return ::pread(file, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }
  [[nodiscard]] bool write(int file, const void* from, std::size_t bytes, std::uint64_t offset) noexcept override {
    return ::pwrite(file, from, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }
  [[nodiscard]] std::unique_ptr<Registers> map(int file, std::size_t bytes, std::uint64_t offset) override {
    void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
    if (data == MAP_FAILED) return nullptr;
    os::GuardedRange* const range = os::guard(static_cast<std::byte*>(data), bytes);
    if (range != nullptr) return std::make_unique<Mapped>(static_cast<std::byte*>(data), bytes, range);
    ::munmap(data, bytes);
    errno = ENOMEM;
    return nullptr;
  }
};

}  // namespace

std::shared_ptr<Calls> system_calls() {
  return std::make_shared<SystemCalls>();
}

}  // namespace stopbit::device::vfio
