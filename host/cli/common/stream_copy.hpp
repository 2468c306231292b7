#pragma once

#include <string>

#include "host/cli/common/rings_printer.hpp"
#include "host/relay/follower.hpp"
#include "host/relay/nats/nats.hpp"

/// Streams that `stopbit relay` writes, read back. Failures are ToolErrors; a signal to stop ends the reading.
namespace stopbit::tools {

struct StreamCopy {
  std::string address;
  relay::NatsAccess access;
  relay::FollowerOptions options;
};

/// Prints the records. Returns the exit status.
[[nodiscard]] int print_stream(const StreamCopy& copy, RingsPrinter& rings);
/// Writes them into rings of one name, one after another. `is_lossless`: waits for a reader, and then for all.
[[nodiscard]] int copy_stream(const StreamCopy& copy, const std::string& ring, bool is_lossless);

}  // namespace stopbit::tools
