#include "host/cli/common/error_desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/analyse/explain/explain.hpp"
#include "host/analyse/guess/sample.hpp"
#include "host/ports/out/frame.hpp"

namespace stopbit::tools {
namespace {

using appliance::ErrorSample;

/// The datagram as a capture of one packet.
guess::Sample capture_of(const ErrorSample& evidence, const std::string& name) {
  egress::FrameBuilder frames({}, {0, 1});
  const auto frame = frames.build(evidence.datagram());
  guess::Sample sample;
  sample.name = name;
  sample.packets.push_back({.frame = {frame.begin(), frame.end()},
                            .original_bytes = frame.size(),
                            .arrival_ns = evidence.time_ns,
                            .number = 1});
  sample.bytes = frame.size();
  return sample;
}

}  // namespace

std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const std::size_t head = text.rfind('\n', most / 4);
  const std::size_t tail = text.find('\n', text.size() - (most - most / 4));
  if (head == std::string::npos || tail == std::string::npos) return text.substr(text.size() - most);
  return text.substr(0, head + 1) + "  ...\n" + text.substr(tail + 1);
}

void ErrorDesk::step() {
  ErrorSample evidence;
  if (explained_.size() == kMaxExplained || !appliance_.next_error_sample(evidence)) return;
  const feed::Channel& channel = appliance_.channel(evidence.channel);
  explained_.push_back({.channel = channel.number,
                        .template_index = evidence.template_index,
                        .block = evidence.block,
                        .word = evidence.word,
                        .code = evidence.code,
                        .first_ns = evidence.time_ns,
                        .name = channel.name,
                        .text = explain(evidence, channel)});
}

std::string ErrorDesk::explain(const ErrorSample& evidence, const feed::Channel& channel) const {
  if (evidence.size > ErrorSample::kMaxBytes)
    return fmt::format("The datagram was not kept: its {} bytes are too many.\n", evidence.size);
  const std::shared_ptr<const Program> program = appliance_.program_of(evidence);
  if (program == nullptr) return "Not explained: the image that failed to decode it has been replaced.\n";
  const appliance::Settings& settings = appliance_.settings();
  replay::Options options;
  options.framing = channel.framing;
  if (evidence.is_joined) {
    options.framing = {};
    options.framing.name = fmt::format("{}, joined", channel.framing.name);
    options.framing.skip = evidence.data_offset;
    options.framing.reset = channel.framing.reset;
  }
  options.strict = settings.strict;
  options.limits = settings.limits;
  const Result<record::Schema> schema = record::Schema::make(*program);
  if (!schema) return schema.message() + "\n";
  const Result<explain::Explanation> explanation = explain::explain(
      schema.value(), options, std::make_unique<guess::SampleSource>(capture_of(evidence, channel.name)), 1, false);
  if (!explanation) return explanation.message() + "\n";
  std::string text;
  if (channel.framing.reset != ResetRule::Packet) {
    text += "Only this datagram was kept, so it is decoded without the datagrams before it.\n";
  }
  if (explanation.value().outcome.error != evidence.code) {
    text += "Decoded alone, it does not fail in the same way: the cause includes earlier datagrams.\n";
  }
  return text + shortened(explain::to_text(explanation.value(), false), kMaxTextBytes);
}

std::string ErrorDesk::to_json(const appliance::StatusReport& status) const {
  using nlohmann::json;
  json list = json::array();
  for (const counters::SeenError& error : status.errors) {
    json item = appliance::error_json(error);
    const auto found = std::find_if(explained_.begin(), explained_.end(), [&](const Explained& known) {
      return known.channel == error.channel && known.template_index == error.template_index &&
             known.block == error.block && known.word == error.word && known.code == error.code &&
             known.first_ns == error.first_ns;
    });
    if (found != explained_.end()) {
      item["channel_name"] = found->name;
      item["explanation"] = found->text;
    }
    list.push_back(std::move(item));
  }
  return list.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace stopbit::tools
