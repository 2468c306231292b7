#include "host/confine/confine.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "host/ring/segment.hpp"

namespace stopbit::confine {
namespace {

std::string failed(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

}  // namespace

std::string rule_out_privileges() {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? "" : failed("new privileges are not ruled out");
}

std::string drop_capabilities() {
  // Those of the bounding set come back when a program is executed by root; only who has CAP_SETPCAP can drop them.
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability) != 0 && errno != EPERM) return failed("capabilities are not bounded");
  }
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return failed("capabilities are not dropped");
  return {};
}

std::string restrict_files(const std::vector<std::string>& written, const std::vector<std::string>& read) {
  constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
  constexpr std::uint64_t kWrite = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                   LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                   LANDLOCK_ACCESS_FS_MAKE_DIR;
  constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
  landlock_ruleset_attr attributes{};
  // All that the first version of Landlock knows: what no rule allows is forbidden.
  attributes.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  const ring::Descriptor rules(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0)));
  if (!rules.ok()) return failed("the kernel has no Landlock, files are not restricted");
  const auto allow = [&](const std::string& path, std::uint64_t access) -> std::string {
    const ring::Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status {};
    if (!place.ok() || ::fstat(place.get(), &status) != 0) return {};  // what is not there needs no permission
    landlock_path_beneath_attr rule{};
    rule.allowed_access = S_ISDIR(status.st_mode) ? access : access & kOfFiles;
    rule.parent_fd = place.get();
    if (::syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
      return failed("files are not restricted");
    }
    return {};
  };
  for (const std::string& path : written) {
    if (std::string problem = allow(path, kRead | kWrite); !problem.empty()) return problem;
  }
  for (const std::string& path : read) {
    if (std::string problem = allow(path, kRead); !problem.empty()) return problem;
  }
  if (::syscall(SYS_landlock_restrict_self, rules.get(), 0) != 0) return failed("files are not restricted");
  return {};
}

std::string filter_calls(std::span<const int> allowed, std::span<const LimitedCall> limited) {
  const std::unique_ptr<void, void (*)(scmp_filter_ctx)> filter(::seccomp_init(SCMP_ACT_ERRNO(EPERM)),
                                                                ::seccomp_release);
  if (!filter) return "system calls are not filtered: no memory";
  for (const int call : allowed) {
    const int error = ::seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0);
    if (error != 0) return std::string("system calls are not filtered: ") + std::strerror(-error);
  }
  for (const LimitedCall& call : limited) {
    const scmp_arg_cmp fits{call.argument, SCMP_CMP_MASKED_EQ, call.mask, call.value};
    const int error = ::seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, call.call, 1, &fits);
    if (error != 0) return std::string("system calls are not filtered: ") + std::strerror(-error);
  }
  const int error = ::seccomp_load(filter.get());
  if (error != 0) return std::string("system calls are not filtered: ") + std::strerror(-error);
  return {};
}

}  // namespace stopbit::confine
