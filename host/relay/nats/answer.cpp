#include "host/relay/nats/answer.hpp"

#include <charconv>
#include <string>

#include "microcode/base/printable.hpp"

namespace stopbit::relay {
namespace {

constexpr std::size_t kMaxShown = 200;

/// What follows "KEY": in the text; empty: nothing does.
std::string_view after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + key.size());
}

}  // namespace

Result<std::uint64_t, StoreFailure> parse_answer(std::string_view text) {
  if (const std::string_view error = after(text, "\"error\":"); !error.empty()) {
    std::string_view why = after(error, "\"description\":\"");
    why = why.substr(0, std::min(why.find('"'), kMaxShown));
    return StoreFailure{StoreFailure::Kind::Away, "the server did not store a message: " +
                                                      (why.empty() ? "without a reason" : printable(std::string(why)))};
  }
  std::string_view digits = after(text, "\"seq\":");
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  std::uint64_t sequence = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), sequence);
  const bool is_whole = end != digits.data() + digits.size() && (*end == ',' || *end == '}');
  if (problem != std::errc() || !is_whole || sequence == 0 ||
      text.find("\"duplicate\":true") != std::string_view::npos) {
    return StoreFailure{StoreFailure::Kind::Away, "the server's answer to a message is not one of JetStream: " +
                                                      printable(std::string(text.substr(0, kMaxShown)))};
  }
  return sequence;
}

}  // namespace stopbit::relay
