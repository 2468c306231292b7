#include "tests/system/kernel/filter.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace stopbit::kernel {
namespace {

constexpr unsigned kNumber = offsetof(seccomp_data, nr);
/// Low half of the third argument: what mmap and mprotect shall protect.
constexpr unsigned kProtection = offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t);

sock_filter load(unsigned offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}
sock_filter jump_if_equal(unsigned value, unsigned char then, unsigned char otherwise) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise);
}
sock_filter jump_if_any_bit(unsigned bits, unsigned char then, unsigned char otherwise) {
  return BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, then, otherwise);
}
sock_filter answer(unsigned action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}

/// Frees nothing: after it system calls are refused, and a sanitizer's free() sometimes makes one.
template <std::size_t Size>
void install(std::array<sock_filter, Size> filter) {
  const sock_fprog program{static_cast<unsigned short>(Size), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::perror("seccomp");
    std::abort();
  }
}

}  // namespace

void forbid_system_calls() {
  install(std::array{load(kNumber), jump_if_equal(SYS_write, 2, 0), jump_if_equal(SYS_exit_group, 1, 0),
                     answer(SECCOMP_RET_KILL_PROCESS), answer(SECCOMP_RET_ALLOW)});
}

void forbid_executable_memory() {
  install(std::array{load(kNumber), jump_if_equal(SYS_mmap, 1, 0), jump_if_equal(SYS_mprotect, 0, 3), load(kProtection),
                     jump_if_any_bit(PROT_EXEC, 0, 1), answer(SECCOMP_RET_ERRNO | EACCES), answer(SECCOMP_RET_ALLOW)});
}

int status_of_child(const std::function<int()>& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  // Not _exit: in front of that a sanitizer asks the kernel for something.
  if (child == 0) syscall(SYS_exit_group, work());
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) std::perror("child");
  return status;
}

}  // namespace stopbit::kernel
