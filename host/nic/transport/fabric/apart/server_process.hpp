#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "host/nic/transport/fabric/apart/supervisor.hpp"
#include "host/ring/segment.hpp"
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
  /// Nobody can start it any more. Known once the one that ran, or was to be started, has ended.
  [[nodiscard]] virtual bool is_gone() const { return false; }
};

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
  [[nodiscard]] bool is_gone() const override { return is_gone_; }

 private:
  SupervisedProcess(ring::Descriptor socket, pid_t supervisor) noexcept
      : socket_(std::move(socket)), supervisor_(supervisor) {}
  void say(SupervisorWord word) noexcept;

  ring::Descriptor socket_;
  pid_t supervisor_;
  bool has_ended_ = true;
  bool is_gone_ = false;
};

}  // namespace stopbit::nic
