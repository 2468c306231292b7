#pragma once

#include <functional>

/// The system calls that the kernel refuses to a process. Filters cannot be taken back, so each goes to a child.
namespace stopbit::kernel {

/// From now on every system call but write and exit_group ends the process.
void forbid_system_calls();

/// From now on no memory becomes executable: mmap and mprotect that ask for it say EACCES.
void forbid_executable_memory();

/// How a child ended that did `work`, which gives its exit status; as waitpid says.
[[nodiscard]] int status_of_child(const std::function<int()>& work);

}  // namespace stopbit::kernel
