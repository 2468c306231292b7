#include <algorithm>

#include "host/relay/address.hpp"
#include "host/relay/nats/nats.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::relay {
namespace {

constexpr std::string_view kScheme = "nats://";
constexpr std::size_t kMaxName = 200;  ///< The server makes folders of these names.

}  // namespace

bool is_nats_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMaxName && std::all_of(text.begin(), text.end(), is_name_character);
}

bool is_nats_address(std::string_view text) noexcept {
  return text.starts_with(kScheme);
}

Result<NatsAddress> parse_nats_address(const std::string& text) {
  const std::string_view rest = is_nats_address(text) ? std::string_view(text).substr(kScheme.size()) : "";
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view host = rest.substr(0, slash);
  const std::string_view stream = slash < rest.size() ? rest.substr(slash + 1) : "";
  // A password in an address would be in the list of processes.
  if (host.find('@') != std::string_view::npos) {
    return Failure{
        "an address has no user and no password; use --nats-user and --password-file, --token-file "
        "or --credentials"};
  }
  if (!is_server_name(host) || !is_nats_name(stream)) {
    return Failure{"'" + printable(text) +
                   "' is not nats://HOST[:PORT]/STREAM, with letters, digits, '_' and '-' in the stream's name"};
  }
  return NatsAddress{std::string(kScheme) + std::string(host), std::string(stream)};
}

}  // namespace stopbit::relay
