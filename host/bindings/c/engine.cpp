#include <algorithm>
#include <cstring>

#include "decoder/record/buffer_sink.hpp"
#include "host/bindings/c/handles.hpp"
#include "host/bindings/common/capture_replay.hpp"
#include "host/feed/channel/error_text.hpp"

using namespace stopbit;  // NOLINT(google-build-using-namespace): the functions themselves are global

namespace {

constexpr std::uint16_t kMaxChannels = 1'024;
constexpr char kNotOpen[] = "the engine is not open";

/// Called by BufferSink.
struct ToCallback {
  stopbit_engine* engine;
  void operator()(std::span<const record::Slot> slots) const noexcept;
};

/// Everything that an open engine has.
struct Open {
  Open(stopbit_engine* engine, capi::SharedPtr of, const stopbit_options& options);

  capi::SharedPtr shared;
  net::Framing framing;
  EngineOptions engine_options;
  MadeEngine made;
  record::BufferSink<ToCallback> sink;
};

consumer::DecodeWish wish_of(const stopbit_options& options) {
  const auto text = [](const char* given) { return std::string(given != nullptr ? given : ""); };
  return {.framing = text(options.framing),
          .reset = text(options.reset),
          .engine = text(options.engine),
          .strict = options.strict != 0};
}

net::Framing framing_of(const stopbit_options& options) {
  net::Framing framing = consumer::framing_of(wish_of(options));
  if (framing.blocks || framing.kind == net::FramingKind::B3) {
    throw consumer::Failed(consumer::Fault::Usage,
                           "framing: messages of '" + framing.name + "' are sent in chunks or blocks; use a replay");
  }
  return framing;
}

EngineOptions engine_options_of(const stopbit_options& options, const net::Framing& framing) {
  if (options.channels > kMaxChannels) {
    throw consumer::Failed(consumer::Fault::Usage, "channels: at most " + std::to_string(kMaxChannels));
  }
  EngineOptions result;
  result.reset = framing.reset;
  result.strict = options.strict != 0;
  result.channels = std::max<std::uint16_t>(options.channels, 1);
  return result;
}

Open::Open(stopbit_engine* engine, capi::SharedPtr of, const stopbit_options& options)
    : shared(std::move(of)),
      framing(framing_of(options)),
      engine_options(engine_options_of(options, framing)),
      made(consumer::engine_of(wish_of(options), shared->firmware->program(), engine_options)),
      sink(shared->firmware->program().max_record_slots, ToCallback{engine}) {}

}  // namespace

struct stopbit_engine {
  std::unique_ptr<Open> open;
  stopbit_record record;
  stopbit_record_callback callback = nullptr;
  void* user = nullptr;
  bool busy = false;
  bool stopped = false;
  bool freed = false;  ///< By a callback.
  Outcome failure;     ///< Of the last datagram, until the caller requests the words.
  feed::Excerpt failure_bytes;
  capi::ErrorText error;
};

namespace {

void ToCallback::operator()(std::span<const record::Slot> slots) const noexcept {
  if (engine->stopped) return;
  engine->record.attach(engine->open->shared, slots);
  if (engine->callback(engine->user, &engine->record) != 0) engine->stopped = true;
  engine->record.detach();
}

}  // namespace

stopbit_engine* stopbit_engine_new() {
  return new (std::nothrow) stopbit_engine;
}

void stopbit_engine_free(stopbit_engine* engine) {
  if (engine != nullptr && engine->busy) {
    engine->freed = engine->stopped = true;
    return;
  }
  delete engine;
}

const char* stopbit_engine_error(stopbit_engine* engine) {
  if (engine == nullptr) return "the engine is NULL";
  if (engine->failure.error != ErrorCode::None) {
    const Outcome failure = std::exchange(engine->failure, {});
    (void)capi::guarded(engine->error, [&] {
      return engine->error.set_copy(
          STOPBIT_OK, feed::error_text(engine->open->shared->firmware->program(), failure, engine->failure_bytes));
    });
  }
  return engine->error.c_str();
}

stopbit_status stopbit_engine_open(stopbit_engine* engine, const stopbit_program* program,
                                   const stopbit_options* options) {
  if (engine == nullptr) return STOPBIT_ERROR_ARGUMENT;
  if (engine->busy) return STOPBIT_ERROR_ARGUMENT;
  engine->failure = {};
  return capi::guarded(engine->error, [&] {
    if (program == nullptr || program->shared == nullptr) {
      return engine->error.set(STOPBIT_ERROR_ARGUMENT, "the program is NULL or not loaded");
    }
    const auto whole = capi::complete(options);
    if (!whole) return engine->error.set(STOPBIT_ERROR_ARGUMENT, "options.size is not that of stopbit_options");
    engine->open = std::make_unique<Open>(engine, program->shared, *whole);
    return STOPBIT_OK;
  });
}

const char* stopbit_engine_kind(const stopbit_engine* engine) {
  if (engine == nullptr || engine->open == nullptr) return nullptr;
  return engine_name(engine->open->made.kind).data();
}

stopbit_status stopbit_engine_decode(stopbit_engine* engine, const void* datagram, size_t size,
                                     const stopbit_packet* packet, stopbit_record_callback callback, void* user) {
  if (engine == nullptr || engine->busy) return STOPBIT_ERROR_ARGUMENT;
  engine->error.clear();
  engine->failure = {};
  if (engine->open == nullptr) return engine->error.set(STOPBIT_ERROR_ARGUMENT, kNotOpen);
  if (callback == nullptr) return engine->error.set(STOPBIT_ERROR_ARGUMENT, "callback is NULL");
  if (datagram == nullptr && size > 0) return engine->error.set(STOPBIT_ERROR_ARGUMENT, "datagram is NULL");
  Open& open = *engine->open;
  PacketInfo info;
  if (packet != nullptr) {
    if (packet->size < sizeof(*packet)) {
      return engine->error.set(STOPBIT_ERROR_ARGUMENT, "packet.size is not that of stopbit_packet");
    }
    if (packet->channel >= open.engine_options.channels) {
      return engine->error.set(STOPBIT_ERROR_ARGUMENT, "packet.channel is not below the engine's number of channels");
    }
    info.arrival_ns = packet->arrival_ns;
    info.number = packet->number;
    info.channel = packet->channel;
    info.source = static_cast<record::SourceLine>(packet->source);
    info.time_quality = static_cast<record::TimeQuality>(packet->time_quality);
  }
  // One byte too many says as well as all of them that it is too long (X1).
  const std::span bytes(static_cast<const std::byte*>(datagram), std::min(size, limits::kMaxDatagramBytes + 1));
  const net::Preamble preamble = net::read_preamble(open.framing, bytes);
  std::span<const std::byte> data = bytes;
  if (preamble.error == ErrorCode::None) {
    info.sequence = static_cast<std::uint32_t>(preamble.sequence);
    info.data_offset = preamble.data_begin;
    data = bytes.first(preamble.data_end);
  } else {
    // The engine reports a datagram that ends before its data begins like every other error.
    data = bytes.first(std::min(bytes.size(), limits::kMaxDatagramBytes));
    info.data_offset = static_cast<std::uint32_t>(data.size()) + 1;
  }

  engine->callback = callback;
  engine->user = user;
  engine->stopped = false;
  Outcome outcome;
  {
    const capi::Busy busy(engine->busy);
    outcome = open.made.engine->decode(data, info, open.sink);
  }
  if (engine->freed) {
    delete engine;
    return STOPBIT_STOPPED;
  }
  if (outcome.error != ErrorCode::None) {
    engine->failure = outcome;
    engine->failure_bytes = feed::excerpt(data, outcome.offset_bytes);
  }
  if (engine->stopped) return STOPBIT_STOPPED;
  if (outcome.error != ErrorCode::None) return STOPBIT_ERROR_INPUT;
  if (outcome.dropped) {
    return engine->error.set(STOPBIT_ERROR_INPUT, "not decoded: after an error the channel waits for a reset");
  }
  return STOPBIT_OK;
}

stopbit_status stopbit_engine_reset(stopbit_engine* engine, uint16_t channel) {
  if (engine == nullptr || engine->busy) return STOPBIT_ERROR_ARGUMENT;
  engine->error.clear();
  engine->failure = {};
  if (engine->open == nullptr) return engine->error.set(STOPBIT_ERROR_ARGUMENT, kNotOpen);
  if (channel >= engine->open->engine_options.channels) {
    return engine->error.set(STOPBIT_ERROR_ARGUMENT, "channel is not below the engine's number of channels");
  }
  engine->open->made.engine->reset(channel);
  return STOPBIT_OK;
}
