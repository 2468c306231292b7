#include "host/relay/address.hpp"

#include <algorithm>
#include <cstddef>

#include "host/relay/kafka/kafka.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::relay {
namespace {

constexpr std::string_view kKafkaScheme = "kafka://";
constexpr std::size_t kMaxTopic = 240;  ///< Brokers allow 249; the topic of layouts has a longer name.
constexpr std::size_t kMaxBrokers = 16;

bool are_brokers(std::string_view text) noexcept {
  for (std::size_t count = 1; count <= kMaxBrokers; ++count) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (!is_server_name(text.substr(0, comma))) return false;
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
  return false;
}

bool is_topic(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMaxTopic && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_name_character(c) || c == '.'; });
}

/// What a user may need to reach a broker; not what decides about order, repetition or the position of a reader.
bool is_of_access(std::string_view key) noexcept {
  constexpr std::string_view kBegins[] = {"security.", "ssl.", "sasl.", "socket.", "broker.address.", "compression."};
  return std::any_of(std::begin(kBegins), std::end(kBegins),
                     [&](std::string_view one) { return key.starts_with(one); });
}

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace

bool is_kafka_address(std::string_view text) noexcept {
  return text.starts_with(kKafkaScheme);
}

Result<KafkaAddress> parse_kafka_address(const std::string& text) {
  const std::string_view rest = is_kafka_address(text) ? std::string_view(text).substr(kKafkaScheme.size()) : "";
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view brokers = rest.substr(0, slash);
  const std::string_view topic = slash < rest.size() ? rest.substr(slash + 1) : "";
  // A password in an address would be in the list of processes.
  if (brokers.find('@') != std::string_view::npos) {
    return Failure{"an address has no user and no password; use --kafka-config"};
  }
  if (!are_brokers(brokers) || !is_topic(topic)) {
    return Failure{"'" + printable(text) +
                   "' is not kafka://HOST[:PORT][,HOST[:PORT]...]/TOPIC, with letters, digits, '.', '_' and '-' in the "
                   "topic's name"};
  }
  return KafkaAddress{std::string(brokers), std::string(topic)};
}

Result<KafkaSettings> parse_kafka_settings(std::string_view text) {
  KafkaSettings settings;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::size_t equals = std::min(line.find('='), line.size());
    const std::string_view key = trimmed(line.substr(0, equals));
    // Not the line itself, which may have a password.
    if (equals == line.size() || key.empty()) return Failure{"line " + std::to_string(number) + " is not KEY=VALUE"};
    if (!is_of_access(key)) {
      return Failure{"line " + std::to_string(number) + ": '" + printable(key) +
                     "' is not a setting of access: security.*, ssl.*, sasl.*, socket.*, broker.address.* and "
                     "compression.* are"};
    }
    settings.emplace_back(key, trimmed(line.substr(equals + 1)));
  }
  return settings;
}

}  // namespace stopbit::relay
