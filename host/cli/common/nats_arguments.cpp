#include "host/cli/common/nats_arguments.hpp"

#include <utility>

#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/os/shm/read_file.hpp"

namespace stopbit::tools {
namespace {

std::string secret_from(const std::string& path) {
  Result<std::string> secret = os::read_secret(path);
  if (!secret) throw ToolError(kExitEnvironment, secret.message());
  if (!path.empty() && secret.value().empty()) throw ToolError(kExitRejected, path + ": its first line is empty");
  return std::move(secret).value();
}

/// A warning; empty: the secret stays on this host, is encrypted, or does not cross the network at all.
std::string crossing_of(const relay::NatsAccess& access) {
  const std::string_view host = std::string_view(access.address.server).substr(sizeof("nats://") - 1);
  const bool is_here = host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]");
  if (is_here || access.uses_tls || (access.password.empty() && access.token.empty())) return {};
  return "without --tls the password or token crosses the network unencrypted";
}

void check(const NatsArguments& arguments, const std::string& token_file) {
  const int identities = static_cast<int>(!arguments.user.empty()) + static_cast<int>(!token_file.empty()) +
                         static_cast<int>(!arguments.credentials.empty());
  if (identities > 1) throw ToolError(kExitUsage, "--nats-user, --token-file and --credentials: give one");
  if (arguments.user.empty() != arguments.password_file.empty()) {
    throw ToolError(kExitUsage, "--nats-user and --password-file go together");
  }
  if (arguments.certificate.empty() != arguments.key.empty()) {
    throw ToolError(kExitUsage, "--certificate and --key go together");
  }
  if (!arguments.tls && !(arguments.ca.empty() && arguments.certificate.empty())) {
    throw ToolError(kExitUsage, "--ca, --certificate and --key need --tls");
  }
}

}  // namespace

std::vector<Option> nats_options(NatsArguments& arguments, const std::string& begins) {
  return {{.names = "--nats-user",
           .value = "NAME",
           .help = begins + "the user, with --password-file.",
           .target = &arguments.user},
          {.names = "--password-file",
           .value = "FILE",
           .help = begins + "a file whose first line is the user's password.",
           .target = &arguments.password_file,
           .hint = file_hint()},
          {.names = "--credentials",
           .value = "FILE",
           .help = begins + "a file with the JWT and the key of a user, as `nsc` writes it.",
           .target = &arguments.credentials,
           .hint = file_hint({".creds"})},
          {.names = "--tls",
           .value = "",
           .help = begins + "requires an encrypted connection and checks the server's certificate and host name.",
           .target = &arguments.tls},
          {.names = "--ca",
           .value = "FILE",
           .help = begins + "authorities that may sign the server's certificate. Default: those of the system.",
           .target = &arguments.ca,
           .hint = file_hint()},
          {.names = "--certificate",
           .value = "FILE",
           .help = begins + "the certificate by which the server knows this client, with --key.",
           .target = &arguments.certificate,
           .hint = file_hint()},
          {.names = "--key",
           .value = "FILE",
           .help = begins + "the private key of --certificate.",
           .target = &arguments.key,
           .hint = file_hint()}};
}

bool has_nats_options(const NatsArguments& arguments) {
  return arguments.tls ||
         !(arguments.user.empty() && arguments.password_file.empty() && arguments.credentials.empty() &&
           arguments.ca.empty() && arguments.certificate.empty() && arguments.key.empty());
}

relay::NatsAccess nats_access(const std::string& address, const NatsArguments& arguments,
                              const std::string& token_file) {
  const Result<relay::NatsAddress> parsed = relay::parse_nats_address(address);
  if (!parsed) throw ToolError(kExitUsage, parsed.message());
  check(arguments, token_file);
  relay::NatsAccess access;
  access.address = parsed.value();
  access.user = arguments.user;
  access.password = secret_from(arguments.password_file);
  access.token = secret_from(token_file);
  access.credentials = arguments.credentials;
  access.uses_tls = arguments.tls;
  access.ca = arguments.ca;
  access.certificate = arguments.certificate;
  access.key = arguments.key;
  for (const std::string* file : {&access.credentials, &access.ca, &access.certificate, &access.key}) {
    if (!file->empty()) claim_file(*file);
  }
  for (const std::string* file : {&arguments.password_file, &token_file, &arguments.credentials, &arguments.key}) {
    const std::string warning = file->empty() ? "" : os::exposure_of_secret(*file);
    if (!warning.empty()) print_stderr("warning: {}\n", warning);
  }
  if (const std::string warning = crossing_of(access); !warning.empty()) print_stderr("warning: {}\n", warning);
  return access;
}

}  // namespace stopbit::tools
