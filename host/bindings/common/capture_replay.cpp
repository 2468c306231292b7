#include "host/bindings/common/capture_replay.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "host/ports/pcap/pcap_source.hpp"
#include "host/replay/capture_channels.hpp"
#include "host/replay/pacer.hpp"

namespace stopbit::consumer {
namespace {

template <class T>
T checked(Result<T> result, const char* what) {
  if (!result) throw Failed(Fault::Usage, std::string(what) + ": " + result.message());
  return std::move(result).value();
}

replay::Options options_of(const ReplayWish& wish, std::function<void(const replay::Progress&)> on_progress) {
  replay::Options options;
  if (wish.feed) {
    if (!wish.decode.framing.empty() || !wish.decode.reset.empty() || !wish.groups.empty()) {
      throw Failed(Fault::Usage, "framing, reset and groups are those of the feed");
    }
    options.feed = wish.feed->channels();
  } else {
    options.framing = framing_of(wish.decode);
  }
  options.merge = wish.merge;
  for (const std::string& group : wish.groups) options.groups.push_back(checked(net::parse_endpoint(group), "group"));
  if (!wish.pace.empty()) options.speed = checked(replay::parse_pace(wish.pace), "pace");
  options.limit = wish.limit;
  options.strict = wish.decode.strict;
  options.limits = wish.decode.limits;
  options.on_progress = std::move(on_progress);
  return options;
}

std::unique_ptr<ingest::PacketSource> open(const std::string& path) {
  if (path != "-" && ::access(path.c_str(), R_OK) != 0) throw Failed(errno, path);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw Failed(EISDIR, path);
  Result<std::unique_ptr<ingest::PacketSource>> source = ingest::open_capture(path);
  if (!source) throw Failed(Fault::Input, source.message());
  return std::move(source).value();
}

std::vector<std::unique_ptr<ingest::PacketSource>> open_all(const std::vector<std::string>& paths) {
  if (paths.empty()) throw Failed(Fault::Usage, "no capture given");
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  sources.reserve(paths.size());
  for (const std::string& path : paths) sources.push_back(open(path));
  return sources;
}

}  // namespace

net::Framing framing_of(const DecodeWish& wish) {
  net::Framing framing = checked(net::parse_framing(wish.framing.empty() ? "none" : wish.framing), "framing");
  if (wish.reset.empty()) return framing;
  const std::optional<ResetRule> rule = parse_reset_rule(wish.reset);
  if (!rule) throw Failed(Fault::Usage, "reset: '" + wish.reset + "' is not packet, template or never");
  framing.reset = *rule;
  return framing;
}

MadeEngine engine_of(const DecodeWish& wish, const Program& program, const EngineOptions& options) {
  for (const EngineKind kind : {EngineKind::Interp, EngineKind::Quick}) {
    if (wish.engine == engine_name(kind)) return make_engine(program, options, kind);
  }
  if (!wish.engine.empty() && wish.engine != "native") {
    throw Failed(Fault::Usage, "engine: '" + wish.engine + "' is not native, quick or interp");
  }
  MadeEngine made = make_engine(program, options, EngineKind::Native);
  if (!wish.engine.empty() && made.kind != EngineKind::Native) {
    throw Failed(Fault::System, "native code cannot run here: " + made.why_not_native);
  }
  return made;
}

FeedPtr feed_of_captures(FirmwarePtr firmware, const std::vector<std::string>& captures, const DecodeWish& wish) {
  const net::Framing framing = framing_of(wish);
  net::FlowTable groups(replay::kMaxCaptureGroups);
  for (const std::string& path : captures) {
    std::error_code ignored;
    if (path == "-" || std::filesystem::is_fifo(path, ignored)) {
      throw Failed(Fault::Usage, path + ": a pipe can be read once: give a file, or a feed that names the groups");
    }
    replay::add_groups(*open(path), groups);
  }
  if (groups.groups().empty()) throw Failed(Fault::Input, "the captures hold no UDP datagram");
  return std::make_shared<const Feed>(replay::channels_of(groups, framing), 0, std::move(firmware));
}

CaptureReplay::CaptureReplay(FirmwarePtr firmware, const std::vector<std::string>& captures, const ReplayWish& wish,
                             record::RecordSink& sink, std::function<void(const replay::Progress&)> on_progress)
    : firmware_(std::move(firmware)),
      feed_(wish.feed),
      options_(options_of(wish, std::move(on_progress))),
      sources_(open_all(captures)),
      engine_(engine_of(wish.decode, firmware_->program(), replay::engine_options(options_))),
      replay_(firmware_->program(), *engine_.engine, sink, options_) {
  for (const auto& source : sources_) {
    source->ask_while_waiting([this] {
      if (options_.on_progress) options_.on_progress({});
      return replay_.is_stop_requested();
    });
  }
}

}  // namespace stopbit::consumer
