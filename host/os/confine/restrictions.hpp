#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "microcode/base/result.hpp"

/// Restrictions of a process and all its later threads, permanent, applied after its set-up. Each function returns what
/// could not be done, as a sentence.
namespace stopbit::confine {

/// Rules out new privileges by executing files (no_new_privs). Required before the other restrictions unless the
/// process is root.
[[nodiscard]] Status rule_out_privileges();
/// Drops all capabilities except `kept`, also for programs that it might start.
[[nodiscard]] Status drop_capabilities(std::span<const int> kept = {});
/// Denies access to files, except folders in which it creates, changes and removes files, and folders and files that it
/// reads. Needs Landlock in the kernel.
[[nodiscard]] Status restrict_files(const std::vector<std::string>& written, const std::vector<std::string>& read);
/// A system call that is allowed if an argument, seen through the mask, has this value. If several are given for one
/// call, one must match.
struct LimitedCall {
  int call;
  unsigned argument;
  std::uint64_t mask;
  std::uint64_t value;
};
/// Denies all other system calls (seccomp): they fail with EPERM.
[[nodiscard]] Status filter_calls(std::span<const int> allowed, std::span<const LimitedCall> limited = {});

/// A filter for a thread that is restricted further than its process: created by one thread, applied by another without
/// allocation. A call must be allowed by all filters that a thread has.
class ThreadFilter {
 public:
  [[nodiscard]] Status make(std::span<const int> allowed, std::span<const LimitedCall> limited = {});
  /// Applies the filter to the calling thread, permanently; new privileges must be ruled out first. @returns an error
  /// number, or 0.
  [[nodiscard]] int apply() const noexcept;

 private:
  std::vector<sock_filter> program_;
};

}  // namespace stopbit::confine
