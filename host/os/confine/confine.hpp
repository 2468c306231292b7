#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "microcode/base/result.hpp"

/// What a process gives up for good, and for all threads made later, once it is set up. Each returns what could not be
/// done, a sentence.
namespace stopbit::confine {

/// New privileges by executing files (no_new_privs). Before the other two, for who is not root.
[[nodiscard]] Status rule_out_privileges();
/// All capabilities but `kept`, of which it keeps those that it has; also those that a program which it might start
/// would get.
[[nodiscard]] Status drop_capabilities(std::span<const int> kept = {});
/// Files, but for folders in which it makes, changes and takes away files, and for folders and files that it reads;
/// where the kernel has Landlock.
[[nodiscard]] Status restrict_files(const std::vector<std::string>& written, const std::vector<std::string>& read);
/// A system call that is allowed if an argument, seen through the mask, has this value. Of several for one call, one
/// has to fit.
struct LimitedCall {
  int call;
  unsigned argument;
  std::uint64_t mask;
  std::uint64_t value;
};
/// System calls that are not among these (seccomp): each ends with EPERM.
[[nodiscard]] Status filter_calls(std::span<const int> allowed, std::span<const LimitedCall> limited = {});

/// The same filter for a thread that gives up more than its process has: made by one thread, applied by another, which
/// needs no memory for it. A call must be allowed by all filters that a thread has.
class ThreadFilter {
 public:
  [[nodiscard]] Status make(std::span<const int> allowed, std::span<const LimitedCall> limited = {});
  /// To the calling thread, for good; new privileges must be ruled out. @returns an error number, or 0.
  [[nodiscard]] int apply() const noexcept;

 private:
  std::vector<sock_filter> program_;
};

}  // namespace stopbit::confine
