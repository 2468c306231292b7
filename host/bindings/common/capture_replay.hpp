#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/record/sink.hpp"
#include "decoder/select/make_engine.hpp"
#include "host/bindings/common/feed.hpp"
#include "host/bindings/common/firmware.hpp"
#include "host/feed/framing/framing.hpp"
#include "host/ports/packet_source.hpp"
#include "host/replay/replay.hpp"

namespace stopbit::consumer {

/// How datagrams are decoded, in the words of the command line. Empty: the default.
struct DecodeWish {
  std::string framing;  ///< As net::parse_framing; default "none".
  std::string reset;    ///< "packet", "template", "never"; default: the framing's rule.
  std::string engine;   ///< "native", "quick", "interp"; default: native, or quick where that cannot run.
  bool strict = false;
  EngineLimits limits = {};
};

/// Fault::Usage for what does not exist.
[[nodiscard]] net::Framing framing_of(const DecodeWish& wish);
/// "native" is Fault::System where it cannot run; only the default falls back.
[[nodiscard]] MadeEngine engine_of(const DecodeWish& wish, const Program& program, const EngineOptions& options);

struct ReplayWish {
  DecodeWish decode;
  std::string pace;                 ///< "max" or "1x", "10x", ...; default "max".
  std::vector<std::string> groups;  ///< "A.B.C.D:PORT"; none = all.
  std::uint64_t limit = 0;          ///< Datagrams; 0 = no limit.
  bool merge = false;               ///< All captures at once, by packet time; else one after the other.
  FeedPtr feed = nullptr;  ///< Its channels, with lines A and B merged; then there is no framing, reset and group.
};

/// Each multicast group of the captures as a channel with one line, so that each number arrives once and in order.
/// Reads the captures to their end: Fault::Usage for pipes, which have no second time.
[[nodiscard]] FeedPtr feed_of_captures(FirmwarePtr firmware, const std::vector<std::string>& captures,
                                       const DecodeWish& wish);

/// Captures on their way through an engine. Everything that can be refused is refused by the constructor.
class CaptureReplay {
 public:
  /// Opens the captures, one after the other. `on_progress` may be empty; it is also called, without figures, while
  /// the replay waits for a pipe.
  CaptureReplay(FirmwarePtr firmware, const std::vector<std::string>& captures, const ReplayWish& wish,
                record::RecordSink& sink, std::function<void(const replay::Progress&)> on_progress = {});

  /// Decodes all of it on the caller's thread. Once.
  [[nodiscard]] replay::Summary run() { return replay_.run(sources_); }
  /// Ends run soon, a wait for a pipe included; from any thread.
  void request_stop() noexcept { replay_.request_stop(); }
  [[nodiscard]] EngineKind engine() const noexcept { return engine_.kind; }

 private:
  using Sources = std::vector<std::unique_ptr<ingest::PacketSource>>;

  FirmwarePtr firmware_;
  FeedPtr feed_;  ///< The options point into it.
  replay::Options options_;
  Sources sources_;
  MadeEngine engine_;
  replay::Replay replay_;
};

}  // namespace stopbit::consumer
