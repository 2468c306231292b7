// Any text as the settings of a simulation: errors with places, or settings within their bounds, whose feed is the
// same twice. Every line is also tried as a pattern of a preset.

#include <string>
#include <string_view>

#include "host/lab/simulate/exchange.hpp"
#include "host/lab/simulate/pattern.hpp"
#include "tests/fuzz/checks.hpp"

namespace {

using namespace stopbit;

constexpr int kDatagrams = 20;
constexpr std::uint64_t kMostInstruments = 64;  ///< Of a feed that is worth its time here.
constexpr double kMostEvents = 5'000;

std::string start_of_feed(const simulate::Settings& settings) {
  Diagnostics diagnostics;
  const auto preset = simulate::load_preset(settings.preset, diagnostics);
  if (!preset) return {};
  const auto exchange = simulate::Exchange::make(settings, *preset, diagnostics);
  fuzz::require(exchange != nullptr || diagnostics.has_errors(), "a refusal says why");
  if (exchange == nullptr) return {};
  std::string feed;
  simulate::Sent sent;
  std::uint64_t last = 0;
  for (int i = 0; i < kDatagrams && exchange->next(sent); ++i) {
    fuzz::require(sent.time_ns >= last, "time goes on");
    fuzz::require(sent.line < settings.lines.size(), "a line that there is");
    last = sent.time_ns;
    feed.append(reinterpret_cast<const char*>(sent.payload.data()), sent.payload.size());
  }
  fuzz::require(exchange->fault().empty(), "our presets can be encoded", exchange->fault());
  return feed;
}

void check_settings(std::string text) {
  Diagnostics diagnostics;
  const auto document = config::Document::parse("sim.toml", std::move(text), diagnostics);
  const auto settings = simulate::read_settings(document, diagnostics);
  fuzz::require(settings.has_value() != diagnostics.has_errors(), "settings, or errors");
  if (!settings) return;
  fuzz::require(!settings->lines.empty() && settings->lines.size() <= 2, "one line or two");
  // A preset in a file would be read from the disk.
  if (settings->preset.ends_with(".toml") || settings->channels * settings->instruments > kMostInstruments) return;
  const auto seconds = static_cast<double>(settings->duration_ns) / 1e9;
  const auto times = [seconds](std::uint64_t every_ns) {
    return every_ns == 0 ? 0 : seconds * 1e9 / static_cast<double>(every_ns);
  };
  const double events = seconds * settings->rate + times(settings->heartbeat_every_ns) +
                        times(settings->snapshot_every_ns) * static_cast<double>(settings->instruments) +
                        times(settings->burst_every_ns) * static_cast<double>(settings->burst_packets);
  if (events > kMostEvents) return;
  fuzz::require(start_of_feed(*settings) == start_of_feed(*settings), "the same feed from the same settings");
}

void check_patterns(std::string_view text) {
  simulate::Facts facts;
  facts.symbol = "ABC";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    const auto pattern = simulate::Pattern::parse(line);
    std::string written;
    if (pattern) pattern.value().write(facts, written);
    if (line.find('$') == std::string_view::npos) {
      fuzz::require(pattern.ok() && written == line, "text without variables stays as it is");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4'096) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_settings(text);
  check_patterns(text);
  return 0;
}
