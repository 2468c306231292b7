#include "host/cli/common/service.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace stopbit::tools {
namespace {

std::string take_variable(const char* name) {
  const char* const value = std::getenv(name);
  std::string text = value != nullptr ? value : "";
  (void)::unsetenv(name);
  return text;
}

std::optional<std::uint64_t> number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A path, or a name in the abstract namespace, which begins with '@'.
os::Descriptor connect_to(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() < 2 || name.size() >= sizeof(address.sun_path) || (name[0] != '/' && name[0] != '@')) return {};
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  os::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (!socket.ok() || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) return {};
  return socket;
}

}  // namespace

Service Service::from_environment() {
  Service service;
  const std::string name = take_variable("NOTIFY_SOCKET");
  const std::string watchdog = take_variable("WATCHDOG_USEC");
  const std::string process = take_variable("WATCHDOG_PID");
  if (name.empty()) return service;
  service.socket_ = connect_to(name);
  const auto time = number(watchdog);
  const bool is_ours = process.empty() || number(process) == static_cast<std::uint64_t>(::getpid());
  if (time && *time != 0 && is_ours) service.watchdog_ = std::chrono::microseconds(*time);
  return service;
}

void Service::ready() {
  send("READY=1");
}

void Service::stopping() {
  send("STOPPING=1");
}

void Service::status(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text == status_) return;
  send("STATUS=" + text);
  status_ = std::move(text);
}

void Service::alive() {
  if (!watchdog_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_alive_) return;
  next_alive_ = now + *watchdog_ / 4;
  send("WATCHDOG=1");
}

/// A manager that does not read costs nothing but the message.
void Service::send(std::string_view text) const noexcept {
  if (socket_.ok()) (void)!::send(socket_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace stopbit::tools
