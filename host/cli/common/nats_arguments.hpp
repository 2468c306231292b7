#pragma once

#include <string>
#include <vector>

#include "host/cli/common/command.hpp"
#include "host/relay/nats/nats.hpp"

/// Servers of NATS, as requested on the command line. Failures are ToolErrors.
namespace stopbit::tools {

struct NatsArguments {
  std::string user;
  std::string password_file;
  std::string credentials;
  bool tls = false;
  std::string ca;
  std::string certificate;
  std::string key;
};
/// Their options; --token-file is the command's own. `begins` begins the text of each.
[[nodiscard]] std::vector<Option> nats_options(NatsArguments& arguments, const std::string& begins);
/// Whether one of them was given.
[[nodiscard]] bool has_nats_options(const NatsArguments& arguments);

/// Reads the files of secrets; warns of those that other users may read, and of secrets that cross a network in the
/// clear.
[[nodiscard]] relay::NatsAccess nats_access(const std::string& address, const NatsArguments& arguments,
                                            const std::string& token_file);

}  // namespace stopbit::tools
