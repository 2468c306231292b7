#include "host/cli/common/stream_arguments.hpp"

#include <utility>

#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/since.hpp"
#include "host/os/shm/read_file.hpp"
#include "host/relay/nats/nats.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kMaxConfigBytes = 64 * 1024;
constexpr const char* kNatsNames =
    "--nats-user, --password-file, --credentials, --tls, --ca, --certificate and --key need a stream of NATS";

template <class Made>
std::unique_ptr<relay::Stream> stream_of(Made made) {
  if (!made) throw ToolError(kExitEnvironment, made.message());
  return std::move(made).value();
}

}  // namespace

std::vector<Option> stream_options(StreamArguments& arguments) {
  std::vector<Option> options = nats_options(arguments.nats, "For nats://: ");
  options.push_back({.names = "--kafka-config",
                     .value = "FILE",
                     .help =
                         "For kafka://: a file with lines KEY=VALUE that say how to reach the brokers, with the names "
                         "of librdkafka: security.*, ssl.*, sasl.*, socket.*, broker.address.* and compression.*.",
                     .target = &arguments.kafka_config,
                     .hint = file_hint()});
  return options;
}

std::vector<Option> stream_reader_options(StreamArguments& arguments) {
  std::vector<Option> options = stream_options(arguments);
  options.push_back({.names = "--since",
                     .value = "TIME",
                     .help =
                         "For nats:// and kafka://: begins with the records that arrived at the appliance at this "
                         "time, by the times in their heads, wherever they are in the stream: today, 90min, 2h, 3d, "
                         "2019-04-04 or 2019-04-04T08:36:00 (UTC).",
                     .target = &arguments.since});
  return options;
}

relay::Stream::Start stream_start(const StreamArguments& arguments, bool from_start) {
  using From = relay::Stream::Start::From;
  if (arguments.since.empty()) return {from_start ? From::Oldest : From::Newest};
  if (from_start) throw ToolError(kExitUsage, "--since and --from-start: give one");
  return {From::Time, since_from(arguments.since)};
}

bool is_stream_address(std::string_view text) {
  return relay::is_nats_address(text) || relay::is_kafka_address(text);
}

void refuse_stream_options(const StreamArguments& arguments) {
  if (has_nats_options(arguments.nats)) throw ToolError(kExitUsage, kNatsNames);
  if (!arguments.since.empty()) throw ToolError(kExitUsage, "--since needs a stream of NATS or a topic of Kafka");
  if (!arguments.kafka_config.empty()) throw ToolError(kExitUsage, "--kafka-config needs a topic of Kafka");
}

void check_stream_options(const std::string& address, const StreamArguments& arguments, const std::string& token_file) {
  StreamArguments others = arguments;
  others.since.clear();
  if (relay::is_kafka_address(address)) {
    others.kafka_config.clear();
    if (!token_file.empty()) throw ToolError(kExitUsage, "--token-file: not for a topic of Kafka; use --kafka-config");
  } else {
    others.nats = {};
  }
  refuse_stream_options(others);
}

relay::KafkaAccess kafka_access(const std::string& address, const std::string& config) {
  Result<relay::KafkaAddress> parsed = relay::parse_kafka_address(address);
  if (!parsed) throw ToolError(kExitUsage, parsed.message());
  relay::KafkaAccess access{std::move(parsed).value(), {}};
  if (config.empty()) return access;
  claim_file(config);
  Result<relay::KafkaSettings> settings = relay::parse_kafka_settings(read_file(config, kMaxConfigBytes));
  if (!settings) throw ToolError(kExitRejected, printable(config) + ": " + settings.message());
  access.settings = std::move(settings).value();
  if (const std::string warning = os::exposure_of_secret(config); !warning.empty()) {
    print_stderr("warning: {}\n", warning);
  }
  return access;
}

OpenStream open_stream(const std::string& address, const StreamArguments& arguments, const std::string& token_file) {
  check_stream_options(address, arguments, token_file);
  if (relay::is_kafka_address(address)) {
    relay::KafkaAccess access = kafka_access(address, arguments.kafka_config);
    std::string name = access.address.topic;
    return {stream_of(relay::make_kafka_stream(std::move(access))), std::move(name)};
  }
  relay::NatsAccess access = nats_access(address, arguments.nats, token_file);
  std::string name = access.address.stream;
  return {stream_of(relay::make_nats_stream(std::move(access))), std::move(name)};
}

}  // namespace stopbit::tools
