#include "host/os/confine/restrictions.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "host/os/shm/segment.hpp"

namespace stopbit::confine {
namespace {

Failure failed(const std::string& what) {
  return {what + ": " + std::strerror(errno)};
}

}  // namespace

Status rule_out_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("no_new_privs could not be set");
  return Done{};
}

Status drop_capabilities(std::span<const int> kept) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> had{};
  if (::syscall(SYS_capget, &header, had.data()) != 0) return failed("cannot read the capabilities");
  std::array<__user_cap_data_struct, 2> left{};
  for (const int capability : kept) {
    const auto number = static_cast<unsigned>(capability);
    const std::uint32_t bit = had.at(number / 32).permitted & 1U << number % 32;
    left.at(number / 32).permitted |= bit;
    left.at(number / 32).effective |= bit;
  }
  // Those of the bounding set come back when a program is executed by root; only who has CAP_SETPCAP can drop them.
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability) != 0 && errno != EPERM)
      return failed(
          "the bounding set of capabilities "
          "was not reduced");
  }
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (::syscall(SYS_capset, &header, left.data()) != 0) return failed("capabilities were not dropped");
  return Done{};
}

Status restrict_files(const std::vector<std::string>& written, const std::vector<std::string>& read) {
  constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
  constexpr std::uint64_t kWrite = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                   LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                   LANDLOCK_ACCESS_FS_MAKE_DIR;
  constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
  landlock_ruleset_attr attributes{};
  // All that the first version of Landlock knows: what no rule allows is forbidden.
  attributes.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  const os::Descriptor rules(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0)));
  if (!rules.ok()) return failed("the kernel has no Landlock, files are not restricted");
  const auto allow = [&](const std::string& path, std::uint64_t access) -> Status {
    const os::Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status {};
    if (!place.ok() || ::fstat(place.get(), &status) != 0) return Done{};  // what is not there needs no permission
    landlock_path_beneath_attr rule{};
    rule.allowed_access = S_ISDIR(status.st_mode) ? access : access & kOfFiles;
    rule.parent_fd = place.get();
    if (::syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
      return failed("files are not restricted");
    }
    return Done{};
  };
  for (const std::string& path : written) {
    if (Status done = allow(path, kRead | kWrite); !done) return done;
  }
  for (const std::string& path : read) {
    if (Status done = allow(path, kRead); !done) return done;
  }
  if (::syscall(SYS_landlock_restrict_self, rules.get(), 0) != 0) return failed("files are not restricted");
  return Done{};
}

namespace {

using Filter = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

Failure not_filtered(int error) {
  return {std::string("system calls are not filtered: ") + std::strerror(error)};
}

Status make_filter(Filter& filter, std::span<const int> allowed, std::span<const LimitedCall> limited) {
  filter.reset(::seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (!filter) return not_filtered(ENOMEM);
  for (const int call : allowed) {
    const int error = ::seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0);
    if (error != 0) return not_filtered(-error);
  }
  for (const LimitedCall& call : limited) {
    const scmp_arg_cmp fits{call.argument, SCMP_CMP_MASKED_EQ, call.mask, call.value};
    const int error = ::seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, call.call, 1, &fits);
    if (error != 0) return not_filtered(-error);
  }
  return Done{};
}

}  // namespace

Status filter_calls(std::span<const int> allowed, std::span<const LimitedCall> limited) {
  Filter filter(nullptr, ::seccomp_release);
  if (Status done = make_filter(filter, allowed, limited); !done) return done;
  const int error = ::seccomp_load(filter.get());
  if (error != 0) return not_filtered(-error);
  return Done{};
}

Status ThreadFilter::make(std::span<const int> allowed, std::span<const LimitedCall> limited) {
  program_.clear();
  Filter filter(nullptr, ::seccomp_release);
  if (Status done = make_filter(filter, allowed, limited); !done) return done;
  // libseccomp writes programs to files only.
  const os::Descriptor file(::memfd_create("stopbit-filter", MFD_CLOEXEC));
  if (!file.ok()) return not_filtered(errno);
  if (const int error = ::seccomp_export_bpf(filter.get(), file.get()); error != 0) return not_filtered(-error);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return not_filtered(errno);
  program_.resize(static_cast<std::size_t>(status.st_size) / sizeof(sock_filter));
  if (::pread(file.get(), program_.data(), static_cast<std::size_t>(status.st_size), 0) != status.st_size) {
    return not_filtered(EIO);
  }
  return Done{};
}

int ThreadFilter::apply() const noexcept {
  const sock_fprog program{static_cast<unsigned short>(program_.size()), const_cast<sock_filter*>(program_.data())};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : errno;
}

}  // namespace stopbit::confine
