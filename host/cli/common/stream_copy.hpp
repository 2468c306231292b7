#pragma once

#include <memory>
#include <string>

#include "host/cli/common/rings_printer.hpp"
#include "host/multicast/receiver.hpp"
#include "host/relay/follower.hpp"
#include "host/relay/stream.hpp"

/// Streams that `stopbit relay` writes and rings on multicast lines, read back. Failures are ToolErrors; a signal to
/// stop ends the reading.
namespace stopbit::tools {

struct StreamCopy {
  std::string address;
  std::unique_ptr<relay::Stream> stream;
  relay::FollowerOptions options;
};

/// Prints the records. Returns the exit status.
[[nodiscard]] int print_stream(const StreamCopy& copy, RingsPrinter& rings);
/// Writes them into rings of one name, one after another. `is_lossless`: waits for a reader, and then for all.
[[nodiscard]] int copy_stream(const StreamCopy& copy, const std::string& ring, bool is_lossless);

/// A ring on multicast lines.
struct MulticastCopy {
  std::string address;
  multicast::ReceiverOptions options;
};
/// Prints its records or market events; other ones than `content` are a ToolError. Returns the exit status.
[[nodiscard]] int print_multicast(const MulticastCopy& copy, RingsPrinter& rings, Format format, Content content);
/// Writes its records into rings of one name, one after another.
[[nodiscard]] int copy_multicast(const MulticastCopy& copy, const std::string& ring);

}  // namespace stopbit::tools
