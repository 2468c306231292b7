#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/appliance/settings.hpp"
#include "host/os/confine/restrictions.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::appliance {

/// What the process may still do to files.
struct Confinement {
  std::vector<std::string> written;  ///< Folders in which it makes, changes and takes away files.
  std::vector<std::string> read;     ///< Folders and files that it reads.
  bool makes_connections = false;    ///< Over libfabric in this process: new sockets, of any kind.
  bool shares_memory = false;        ///< With clients of a broker: their memory, and their files as memory.
  bool filters_calls = true;         ///< False with DPDK, whose drivers need calls that cannot be listed.
  bool has_opener = false;           ///< Another process opens recordings.
  bool has_card = false;             ///< Its driver needs calls that no thread of ours makes.
  bool has_connections = false;      ///< A thread asks replay services of exchanges, or has sessions with them.
  bool has_nic = false;              ///< A thread serves other processes and hosts,
  bool has_udp = false;              ///< the latter by UDP, too.
};

/// Gives up, for good and for all threads made later, what an appliance does not need once it is set up:
///
/// 1. all capabilities, also those that a program it might start would get;
/// 2. new privileges by executing files (no_new_privs), and with the filter executing anything at all;
/// 3. files outside of the folders named, where the kernel has Landlock;
/// 4. system calls that are not on the list in confinement.cpp (seccomp): no new sockets but those that are open, no
///    processes, no tracing, no mounting, no memory that can be written and executed at once. A forbidden call ends
///    with EPERM. Each thread then keeps only those of its kind: ThreadFilters.
///
/// Before the threads are made. @returns what could not be done, a sentence each; empty if all of it was.
[[nodiscard]] std::vector<std::string> confine(const Confinement& confinement);

/// Threads of an appliance, by what they do once it runs.
enum class ThreadKind : std::uint8_t {
  SocketAgent,    ///< Receives from sockets.
  CaptureAgent,   ///< Reads captures.
  MixedAgent,     ///< Does both.
  LosslessAgent,  ///< Reads captures, and lets readers into rings that wait for them.
  CardAgent,      ///< Its driver needs calls that cannot be listed: all of the process.
  Recorder,       ///< Writes packets to disk.
  Log,            ///< Writes lines to the log.
  Nic,            ///< Serves other processes and hosts.
  Housekeeper,    ///< Control, HTTP, logs, images: the thread that has made all others.
  Readers,        ///< Looks at the signs of readers.
  Replay,         ///< Asks replay services of exchanges, or has sessions with them.
};
inline constexpr std::size_t kThreadKinds = 11;
[[nodiscard]] std::string_view to_text(ThreadKind kind) noexcept;
[[nodiscard]] ThreadKind agent_kind(const Settings& settings, std::size_t agent);

/// System calls.
struct CallList {
  std::vector<int> calls;
  std::vector<confine::LimitedCall> limited;

  /// Number of calls; a call with several limits counts once.
  [[nodiscard]] std::size_t size() const;
};
/// The names of the calls, in order.
[[nodiscard]] std::vector<std::string> names_of(const CallList& list);
/// Of the process, when it is set up and before its threads begin: those of its threads, and those that make a thread.
/// With a card, or libfabric in this process, also calls that their code may need.
[[nodiscard]] CallList calls_of(const Confinement& confinement);
/// Of a thread that runs. Without what only builds with sanitizers need.
[[nodiscard]] CallList calls_of(ThreadKind kind, const Confinement& confinement);

/// The filter of each kind of thread. Threads share memory, so this does not wall them off from each other; it is for
/// code that packets reach: what goes wrong in an agent finds no call that opens, maps or starts anything.
class ThreadFilters {
 public:
  /// Fails with what could not be done.
  [[nodiscard]] Status make(const Confinement& confinement);
  /// To the calling thread, for good. After confine().
  void apply(ThreadKind kind) noexcept;
  /// The first error number of apply; 0: none. From any thread.
  [[nodiscard]] int error() const noexcept { return error_.load(std::memory_order_relaxed); }

 private:
  std::array<std::optional<confine::ThreadFilter>, kThreadKinds> filters_;
  std::atomic<int> error_ = 0;
};

}  // namespace stopbit::appliance
