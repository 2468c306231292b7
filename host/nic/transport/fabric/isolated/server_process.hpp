#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "host/nic/transport/fabric/isolated/supervisor.hpp"
#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic {

/// The process in which an endpoint is served, as the one sees it that wants it: it can be started, it can be killed,
/// and it ends.
class ServerProcess {
 public:
  ServerProcess() = default;
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  virtual ~ServerProcess() = default;

  /// Of one that does not run.
  virtual void start() = 0;
  virtual void kill() = 0;
  /// How the one that ran has ended, once, for people; nothing: it runs.
  [[nodiscard]] virtual std::optional<std::string> ended() = 0;
  /// Asks for the facts of the one that runs. False: none are known of such processes.
  [[nodiscard]] virtual bool look() { return false; }
  /// The answer, once, when it has come; ended() fetches it.
  [[nodiscard]] virtual std::optional<ServerFacts> facts() { return std::nullopt; }
  /// It can no longer be started. Known once the last one has ended.
  [[nodiscard]] virtual bool is_gone() const { return false; }
};

/// Whether a server that has shown no life between these two looks hangs, and did not only want for a processor: of its
/// own time, that in which it could have gone on, `patience_ns` have passed.
[[nodiscard]] bool hangs(const ServerFacts& first, const ServerFacts& last, std::uint64_t patience_ns) noexcept;

/// Such processes, one after the other, of a supervisor (supervisor.hpp), which is started here and ends with this
/// object. After the start it takes two system calls on one socket, sendto and recvfrom: a confined process may go on.
class SupervisedProcess final : public ServerProcess {
 public:
  /// Starts `program` as a supervisor of servers over `memory`, a sealed memory file.
  [[nodiscard]] static Result<std::unique_ptr<ServerProcess>> spawn(const std::string& program, int memory);
  ~SupervisedProcess() override;

  void start() override;
  void kill() override;
  [[nodiscard]] std::optional<std::string> ended() override;
  [[nodiscard]] bool look() override;
  [[nodiscard]] std::optional<ServerFacts> facts() override { return std::exchange(facts_, std::nullopt); }
  [[nodiscard]] bool is_gone() const override { return is_gone_; }

 private:
  SupervisedProcess(os::Descriptor socket, pid_t supervisor) noexcept
      : socket_(std::move(socket)), supervisor_(supervisor) {}
  void say(SupervisorWord word) noexcept;

  os::Descriptor socket_;
  pid_t supervisor_;
  std::optional<ServerFacts> facts_;
  bool has_ended_ = true;
  bool is_gone_ = false;
};

}  // namespace stopbit::nic
