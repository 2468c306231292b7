#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// What a process gives up for good, and for all threads made later, once it is set up. Each returns what could not be
/// done, a sentence, or nothing.
namespace stopbit::confine {

/// New privileges by executing files (no_new_privs). Before the other two, for who is not root.
[[nodiscard]] std::string rule_out_privileges();
/// All capabilities, also those that a program which it might start would get.
[[nodiscard]] std::string drop_capabilities();
/// Files, but for folders in which it makes, changes and takes away files, and for folders and files that it reads;
/// where the kernel has Landlock.
[[nodiscard]] std::string restrict_files(const std::vector<std::string>& written, const std::vector<std::string>& read);
/// A system call that is allowed if an argument, seen through the mask, has this value. Of several for one call, one
/// has to fit.
struct LimitedCall {
  int call;
  unsigned argument;
  std::uint64_t mask;
  std::uint64_t value;
};
/// System calls that are not among these (seccomp): each ends with EPERM.
[[nodiscard]] std::string filter_calls(std::span<const int> allowed, std::span<const LimitedCall> limited = {});

}  // namespace stopbit::confine
