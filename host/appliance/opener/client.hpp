#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/appliance/opener/opener.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::opener {

/// The opener process as the process sees it that has started it. Any thread may ask; one at a time.
///
/// Once the opener has ended, or has not answered for kPatienceMs, every request fails with EPIPE.
class Client {
 public:
  static constexpr int kPatienceMs = 10'000;

  /// Forks the opener, which confines itself if `confined`. Before there are threads. `notes` takes what it could not
  /// give up. `again` reads the settings for renew().
  [[nodiscard]] static Result<std::unique_ptr<Client>> start(Grants grants, bool confined,
                                                             std::vector<std::string>& notes,
                                                             const ReadGrants& again = {});
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  /// Ends the opener.
  ~Client();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Lets the opener read the settings again, and adds the sockets, files and sets of files that they name. A failure
  /// changes nothing. From one thread.
  [[nodiscard]] Status renew();

  /// Indices for the requests below; nothing: the settings do not name it.
  [[nodiscard]] std::optional<std::uint32_t> socket_of(const std::string& interface,
                                                       const ingest::Membership& membership) const;
  [[nodiscard]] std::optional<std::uint32_t> connection_of(net::Endpoint address) const;
  [[nodiscard]] std::optional<std::uint32_t> file_of(const std::string& path) const;
  struct Name {
    std::uint32_t set = 0;
    std::uint64_t number = 0;
  };
  [[nodiscard]] std::optional<Name> name_of(std::string_view path) const;
  /// What a file is called when it was kept.
  [[nodiscard]] std::string kept_path(const Name& name) const;

  [[nodiscard]] Outcome ask(const Request& request);
  /// The opener has ended or does not answer. Asks the kernel.
  [[nodiscard]] bool has_ended() noexcept;

 private:
  Client(OpenFile socket, pid_t pid, Grants grants)
      : socket_(std::move(socket)), pid_(pid), grants_(std::move(grants)) {}
  [[nodiscard]] Outcome receive();
  [[nodiscard]] Status learn(ListKind list, Grants& known);

  const OpenFile socket_;
  const pid_t pid_;
  mutable std::mutex grants_mutex_;
  Grants grants_;     ///< As the opener has them. Connections never change.
  std::mutex mutex_;  ///< A request and its answer.
  std::atomic<bool> has_ended_ = false;
};

/// Each line of a text.
void add_lines(const std::string& text, std::vector<std::string>& lines);

}  // namespace stopbit::opener
