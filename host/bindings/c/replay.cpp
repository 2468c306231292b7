#include "host/replay/replay.hpp"

#include <algorithm>
#include <atomic>

#include "decoder/record/buffer_sink.hpp"
#include "host/bindings/c/handles.hpp"
#include "host/bindings/common/capture_replay.hpp"

using namespace stopbit;  // NOLINT(google-build-using-namespace): the functions themselves are global

namespace {

/// Called by BufferSink.
struct ToCallback {
  stopbit_replay* replay;
  void operator()(std::span<const record::Slot> slots) const noexcept;
};

/// Everything that an open replay has.
struct Open {
  Open(stopbit_replay* replay, capi::SharedPtr of, const std::vector<std::string>& paths,
       const consumer::ReplayWish& wish)
      : shared(std::move(of)),
        sink(shared->firmware->program().max_record_slots, ToCallback{replay}),
        captures(shared->firmware, paths, wish, sink, StopIfAsked{replay, this}) {}

  /// Called now and then during a run.
  struct StopIfAsked {
    stopbit_replay* replay;
    Open* open;
    void operator()(const replay::Progress&) const noexcept;
  };

  capi::SharedPtr shared;
  record::BufferSink<ToCallback> sink;
  consumer::CaptureReplay captures;
};

std::vector<std::string> texts_of(const char* const* texts, size_t count, const char* what) {
  std::vector<std::string> result;
  for (size_t i = 0; i < count; ++i) {
    if (texts == nullptr || texts[i] == nullptr) {
      throw consumer::Failed(consumer::Fault::Usage, std::string(what) + " is NULL");
    }
    result.emplace_back(texts[i]);
  }
  return result;
}

consumer::ReplayWish wish_of(const stopbit_options& options) {
  const auto text = [](const char* given) { return std::string(given != nullptr ? given : ""); };
  consumer::ReplayWish wish;
  wish.decode.framing = text(options.framing);
  wish.decode.reset = text(options.reset);
  wish.decode.engine = text(options.engine);
  wish.decode.strict = options.strict != 0;
  wish.pace = text(options.pace);
  wish.groups = texts_of(options.groups, options.group_count, "a group");
  wish.limit = options.limit;
  return wish;
}

}  // namespace

struct stopbit_replay {
  std::unique_ptr<Open> open;
  stopbit_record record;
  stopbit_record_callback callback = nullptr;
  void* user = nullptr;
  bool busy = false;
  bool is_run = false;
  /// By the callback, or from any thread: Open may be replaced meanwhile, the handle not.
  std::atomic<bool> stopped = false;
  bool freed = false;  ///< By the callback.
  stopbit_summary summary{};
  std::vector<std::string> problems;
  capi::ErrorText error;
};

namespace {

void ToCallback::operator()(std::span<const record::Slot> slots) const noexcept {
  if (replay->stopped.load(std::memory_order_relaxed)) return replay->open->captures.request_stop();
  replay->record.attach(replay->open->shared, slots);
  if (replay->callback(replay->user, &replay->record) != 0) replay->stopped.store(true, std::memory_order_relaxed);
  replay->record.detach();
  if (replay->stopped.load(std::memory_order_relaxed)) replay->open->captures.request_stop();
}

void Open::StopIfAsked::operator()(const replay::Progress&) const noexcept {
  if (replay->stopped.load(std::memory_order_relaxed)) open->captures.request_stop();
}

}  // namespace

stopbit_replay* stopbit_replay_new() {
  return new (std::nothrow) stopbit_replay;
}

void stopbit_replay_free(stopbit_replay* replay) {
  if (replay != nullptr && replay->busy) {
    replay->freed = true;
    replay->stopped.store(true, std::memory_order_relaxed);
    return;
  }
  delete replay;
}

const char* stopbit_replay_error(const stopbit_replay* replay) {
  return replay != nullptr ? replay->error.c_str() : "the replay is NULL";
}

stopbit_status stopbit_replay_open(stopbit_replay* replay, const stopbit_program* program, const char* const* captures,
                                   size_t count, const stopbit_options* options) {
  if (replay == nullptr || replay->busy) return STOPBIT_ERROR_ARGUMENT;
  return capi::guarded(replay->error, [&] {
    if (program == nullptr || program->shared == nullptr) {
      return replay->error.set(STOPBIT_ERROR_ARGUMENT, "the program is NULL or not loaded");
    }
    const auto whole = capi::complete(options);
    if (!whole) return replay->error.set(STOPBIT_ERROR_ARGUMENT, "options.size is not that of stopbit_options");
    replay->open =
        std::make_unique<Open>(replay, program->shared, texts_of(captures, count, "a capture"), wish_of(*whole));
    replay->is_run = false;
    replay->stopped = false;
    return STOPBIT_OK;
  });
}

stopbit_status stopbit_replay_open_feed(stopbit_replay* replay, stopbit_program* program, const char* feed,
                                        const char* image, const char* const* captures, size_t count,
                                        const stopbit_options* options) {
  if (replay == nullptr || replay->busy) return STOPBIT_ERROR_ARGUMENT;
  return capi::guarded(replay->error, [&] {
    if (program == nullptr) return replay->error.set(STOPBIT_ERROR_ARGUMENT, "the program is NULL");
    if (feed == nullptr) return replay->error.set(STOPBIT_ERROR_ARGUMENT, "the feed is NULL");
    const auto whole = capi::complete(options);
    if (!whole) return replay->error.set(STOPBIT_ERROR_ARGUMENT, "options.size is not that of stopbit_options");
    consumer::ReplayWish wish = wish_of(*whole);
    if (!wish.decode.framing.empty() || !wish.decode.reset.empty() || !wish.groups.empty()) {
      return replay->error.set(STOPBIT_ERROR_ARGUMENT, "framing, reset and groups are the feed's; leave them out");
    }
    wish.feed = consumer::open_feed(feed, image != nullptr ? image : "");
    auto shared = std::make_shared<const capi::Shared>(wish.feed->firmware());
    replay->open = std::make_unique<Open>(replay, shared, texts_of(captures, count, "a capture"), wish);
    program->shared = std::move(shared);
    replay->is_run = false;
    replay->stopped = false;
    return STOPBIT_OK;
  });
}

stopbit_status stopbit_replay_run(stopbit_replay* replay, stopbit_record_callback callback, void* user) {
  if (replay == nullptr || replay->busy) return STOPBIT_ERROR_ARGUMENT;
  const stopbit_status status = capi::guarded(replay->error, [&] {
    if (replay->open == nullptr) return replay->error.set(STOPBIT_ERROR_ARGUMENT, "the replay is not open");
    if (replay->is_run) return replay->error.set(STOPBIT_ERROR_ARGUMENT, "the replay has already run; open it again");
    if (callback == nullptr) return replay->error.set(STOPBIT_ERROR_ARGUMENT, "callback is NULL");
    replay->callback = callback;
    replay->user = user;
    const capi::Busy busy(replay->busy);
    if (replay->stopped.load(std::memory_order_relaxed)) replay->open->captures.request_stop();
    replay::Summary summary = replay->open->captures.run();
    replay->is_run = true;
    replay->problems = std::move(summary.problems);
    replay->summary = {.packets = summary.packets,
                       .datagrams = summary.datagrams,
                       .messages = summary.messages,
                       .fields = summary.fields,
                       .errors = summary.error_count(),
                       .problems = replay->problems.size()};
    return summary.stopped ? STOPBIT_STOPPED : STOPBIT_OK;
  });
  if (replay->freed) delete replay;
  return status;
}

void stopbit_replay_stop(stopbit_replay* replay) {
  if (replay != nullptr) replay->stopped.store(true, std::memory_order_relaxed);
}

const stopbit_summary* stopbit_replay_summary(const stopbit_replay* replay) {
  return replay != nullptr && replay->is_run ? &replay->summary : nullptr;
}

const char* stopbit_replay_problem(const stopbit_replay* replay, size_t index) {
  if (stopbit_replay_summary(replay) == nullptr || index >= replay->problems.size()) return nullptr;
  return replay->problems[index].c_str();
}
