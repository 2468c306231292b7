#include "host/nic/netvm/fault_source.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "host/nic/names.hpp"

namespace stopbit::nic {

bool FaultSource::open() noexcept {
  os::Descriptor file(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)));
  if (!file.ok()) return false;
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM |
                 UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP;
  if (::ioctl(file.get(), UFFDIO_API, &api) != 0) return false;
  file_ = std::move(file);
  return true;
}

bool FaultSource::watch(std::byte* memory, std::size_t bytes, bool protects) noexcept {
  uffdio_register request{};
  request.range = {reinterpret_cast<std::uintptr_t>(memory), bytes};
  request.mode = UFFDIO_REGISTER_MODE_MISSING;
  if (protects) request.mode |= UFFDIO_REGISTER_MODE_WP;
  return ::ioctl(file_.get(), UFFDIO_REGISTER, &request) == 0;
}

FaultSource::Given FaultSource::give(std::byte* to, const std::byte* from) noexcept {
  uffdio_copy copy{};
  copy.dst = reinterpret_cast<std::uintptr_t>(to);
  copy.src = reinterpret_cast<std::uintptr_t>(from);
  copy.len = kPageBytes;
  if (::ioctl(file_.get(), UFFDIO_COPY, &copy) == 0) return Given::Yes;
  if (errno == EEXIST) return Given::WasThere;
  return errno == EAGAIN ? Given::Again : Given::Failed;
}

FaultSource::Given FaultSource::protect(std::uintptr_t page, bool on) noexcept {
  uffdio_writeprotect request{};
  request.range = {page, kPageBytes};
  request.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0;  // without it, who waits is woken
  if (::ioctl(file_.get(), UFFDIO_WRITEPROTECT, &request) == 0) return Given::Yes;
  return errno == EAGAIN ? Given::Again : Given::Failed;
}

void FaultSource::wake(std::uintptr_t page) noexcept {
  uffdio_range range{page, kPageBytes};
  (void)::ioctl(file_.get(), UFFDIO_WAKE, &range);
}

bool FaultSource::read(FaultEvent& event) noexcept {
  uffd_msg message{};
  for (;;) {
    if (::read(file_.get(), &message, sizeof(message)) != static_cast<ssize_t>(sizeof(message))) return false;
    const auto page = [](std::uint64_t address) { return address / kPageBytes * kPageBytes; };
    switch (message.event) {
      case UFFD_EVENT_PAGEFAULT: {
        const bool is_write = (message.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP) != 0;
        event = {is_write ? FaultEvent::Kind::Write : FaultEvent::Kind::Missing, page(message.arg.pagefault.address), 0,
                 0};
        return true;
      }
      case UFFD_EVENT_REMOVE:
        event = {FaultEvent::Kind::Removed, message.arg.remove.start, message.arg.remove.end, 0};
        return true;
      case UFFD_EVENT_UNMAP:
        event = {FaultEvent::Kind::Unmapped, message.arg.remove.start, message.arg.remove.end, 0};
        return true;
      case UFFD_EVENT_REMAP:
        event = {FaultEvent::Kind::Moved, message.arg.remap.from, message.arg.remap.from + message.arg.remap.len,
                 message.arg.remap.to};
        return true;
      default: break;  // an event that was not requested
    }
  }
}

}  // namespace stopbit::nic
