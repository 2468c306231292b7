#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/cli/common/command.hpp"
#include "host/remote/remote_ring.hpp"

/// Published rings, as requested on the command line (host/remote/remote_ring.hpp). Failures are ToolErrors.
namespace stopbit::tools {

/// Arguments for one, from the command line.
struct RemoteArguments {
  std::vector<std::string> filter;
  bool from_start = false;
  bool lossless = false;
  std::string token_file;
  std::string network_token_file;
  bool is_plain = false;
  std::string provider;
  bool is_far = false;
  std::optional<std::uint64_t> max_table_bytes;
};
[[nodiscard]] std::vector<Option> remote_options(RemoteArguments& arguments);

[[nodiscard]] remote::RingAddress ring_address_from(const std::string& text);

/// A line for each change of state goes to `tell`, on any thread; a signal to stop ends the wait.
[[nodiscard]] remote::RingWait wait_for_signals(bool is_patient, std::function<void(const std::string&)> tell);

struct RemoteUse {
  const RemoteArguments& arguments;
  bool follows = false;                                                      ///< As remote::RemoteRing::Options.
  std::shared_ptr<const std::atomic<std::uint64_t>> records_read = nullptr;  ///< The same.
};
/// Null after a request to stop.
[[nodiscard]] std::unique_ptr<remote::RemoteRing> open_remote(const std::string& address, const std::string& name,
                                                              const RemoteUse& use, const remote::RingWait& wait);
/// Waits until the ring exists. False after a request to stop.
[[nodiscard]] bool wait_until_there(const remote::RemoteRing& ring, const remote::RingWait& wait);

}  // namespace stopbit::tools
