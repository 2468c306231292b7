#include "host/remote/notation.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "microcode/base/nearest.hpp"

namespace stopbit::remote {
namespace {

constexpr std::string_view kFabric = "fabric://";
constexpr std::string_view kUdp = "udp://";
constexpr std::string_view kShm = "shm://";
constexpr std::string_view kBroker = "broker:";
constexpr std::size_t kValueBytes = 8;

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// A number, or text: quoted, or anything that is not a number. Only the first bytes of text count.
std::uint64_t value_of(std::string_view text) {
  if (const auto number = number_of<std::uint64_t>(text)) return *number;
  if (const auto number = number_of<std::int64_t>(text)) return static_cast<std::uint64_t>(*number);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < std::min(text.size(), kValueBytes); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  }
  return value;
}

/// "; did you mean ...?" if the text begins almost like an address.
std::string meant_by(const std::string& text) {
  const std::size_t end = text.find("://");
  if (end == std::string::npos) return {};
  const std::string word = text.substr(0, end);
  if (word == "broker") return "; did you mean 'broker:' without the slashes?";
  const std::array<std::string, 3> known = {"udp://", "fabric://", "shm://"};
  return did_you_mean(word + "://", known);
}

/// Adds one condition to `pattern`, and its field to the filter.
Status add_condition(std::string_view condition, Filter& filter, Filter::Pattern& pattern) {
  const std::size_t sign = condition.find('=');
  if (sign == std::string_view::npos || sign == 0) {
    return Failure{"a condition must be channel=, template= or FIELD=, and a value"};
  }
  const std::string name(condition.substr(0, sign));
  const std::string_view value = condition.substr(sign + 1);
  if (name == "channel" || name == "template") {
    const auto number = number_of<std::uint32_t>(value);
    if (!number) return Failure{"a " + name + " must be a number"};
    (name == "channel" ? pattern.wanted.channel : pattern.wanted.template_id) = *number;
    (name == "channel" ? pattern.mask.channel : pattern.mask.template_id) = ~std::uint32_t{0};
    return Done{};
  }
  if (!filter.field.empty() && filter.field != name) {
    return Failure{"a filter can compare one field, '" + filter.field + "'; '" + name + "' is a second one"};
  }
  filter.field = name;
  pattern.wanted.value = value_of(value);
  pattern.mask.value = ~std::uint64_t{0};
  return Done{};
}

}  // namespace

bool is_ring_address(std::string_view text) noexcept {
  return text.starts_with(kBroker) || text.find("://") != std::string_view::npos;
}

Result<RingAddress> parse_ring_address(const std::string& text) {
  using Carrier = RingAddress::Carrier;
  RingAddress address;
  std::string_view rest;
  for (const auto& [prefix, carrier] : {std::pair(kFabric, Carrier::Fabric), std::pair(kUdp, Carrier::Udp),
                                        std::pair(kShm, Carrier::Shm), std::pair(kBroker, Carrier::Broker)}) {
    if (!text.starts_with(prefix)) continue;
    address.carrier = carrier;
    rest = std::string_view(text).substr(prefix.size());
  }
  const std::size_t slash = rest.rfind('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == rest.size()) {
    return Failure{"'" + text +
                   "' is not an address of a published ring: udp://HOST:PORT/RING, fabric://HOST:PORT/RING, "
                   "shm://NETWORK/RING or broker:SOCKET/RING" +
                   meant_by(text)};
  }
  address.place = rest.substr(0, slash);
  address.ring = rest.substr(slash + 1);
  if (address.carrier == Carrier::Fabric || address.carrier == Carrier::Udp) {
    const std::size_t colon = address.place.rfind(':');
    const auto port = number_of<std::uint16_t>(std::string_view(address.place).substr(colon + 1));
    if (colon == std::string::npos || colon == 0 || !port || *port == 0) {
      const std::string_view scheme = address.carrier == Carrier::Udp ? kUdp : kFabric;
      return Failure{"'" + text + "' has no port: " + std::string(scheme) + "HOST:PORT/RING"};
    }
  }
  return address;
}

Result<Filter> parse_filter(const std::vector<std::string>& patterns) {
  Filter filter;
  for (const std::string& text : patterns) {
    Filter::Pattern pattern;
    pattern.mask = {.channel = 0, .template_id = 0, .value = 0};
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view part = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
      if (const Status added = add_condition(part, filter, pattern); !added) {
        return Failure{"filter '" + text + "': " + added.message()};
      }
    }
    if (filter.patterns.size() == kMaxPatterns) {
      return Failure{"filter can be given " + std::to_string(kMaxPatterns) + " times"};
    }
    filter.patterns.push_back(pattern);
  }
  return filter;
}

}  // namespace stopbit::remote
