#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/cli/common/command.hpp"
#include "host/cli/common/nats_arguments.hpp"
#include "host/relay/kafka/kafka.hpp"
#include "host/relay/stream.hpp"

/// Streams that `stopbit relay` writes, as requested on the command line. Failures are ToolErrors.
namespace stopbit::tools {

struct StreamArguments {
  NatsArguments nats;
  std::string kafka_config;
  std::string since;
};
/// Options to reach their servers; --token-file is the command's own.
[[nodiscard]] std::vector<Option> stream_options(StreamArguments& arguments);
/// Those of readers.
[[nodiscard]] std::vector<Option> stream_reader_options(StreamArguments& arguments);
/// Whether the text is an address of such a stream.
[[nodiscard]] bool is_stream_address(std::string_view text);
/// An error if one of the options was given: the command does not read or write a stream.
void refuse_stream_options(const StreamArguments& arguments);
/// An error if options of NATS, or a token, were given for a topic of Kafka, or the reverse.
void check_stream_options(const std::string& address, const StreamArguments& arguments, const std::string& token_file);

[[nodiscard]] relay::KafkaAccess kafka_access(const std::string& address, const std::string& config);

/// Where to begin to read.
[[nodiscard]] relay::Stream::Start stream_start(const StreamArguments& arguments, bool from_start);

struct OpenStream {
  std::unique_ptr<relay::Stream> stream;
  std::string name;  ///< Of the stream or the topic.
};
[[nodiscard]] OpenStream open_stream(const std::string& address, const StreamArguments& arguments,
                                     const std::string& token_file);

}  // namespace stopbit::tools
