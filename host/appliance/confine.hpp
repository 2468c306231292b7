#pragma once

#include <string>
#include <vector>

namespace stopbit::appliance {

/// What the process may still do to files.
struct Confinement {
  std::vector<std::string> written;  ///< Folders in which it makes, changes and takes away files.
  std::vector<std::string> read;     ///< Folders and files that it reads.
  bool makes_connections = false;    ///< Over libfabric in this process: new sockets, of any kind.
  bool shares_memory = false;        ///< With clients of a broker: their memory, and their files as memory.
  bool filters_calls = true;         ///< DPDK's drivers need calls that nobody can list: false with them.
};

/// Gives up, for good and for all threads made later, what an appliance does not need once it is set up:
///
/// 1. all capabilities, also those that a program it might start would get;
/// 2. new privileges by executing files (no_new_privs), and with the filter executing anything at all;
/// 3. files outside of the folders named, where the kernel has Landlock;
/// 4. system calls that are not on the list in confine.cpp (seccomp): no new sockets but those that are open, no
///    processes, no tracing, no mounting. A forbidden call ends with EPERM.
///
/// Before the threads are made. @returns what could not be done, a sentence each; empty if all of it was.
[[nodiscard]] std::vector<std::string> confine(const Confinement& confinement);

}  // namespace stopbit::appliance
