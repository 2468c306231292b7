#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decoder/record/sink.hpp"
#include "host/relay/backoff.hpp"
#include "host/relay/stream.hpp"
#include "host/relay/unpacker.hpp"

namespace stopbit::relay {

/// Takes the records of a stream, of one ring after another.
class StreamSink {
 public:
  StreamSink() = default;
  StreamSink(const StreamSink&) = delete;
  StreamSink& operator=(const StreamSink&) = delete;
  virtual ~StreamSink() = default;

  struct Place {
    record::RecordSink* sink = nullptr;
    std::uint32_t max_record_slots = 0;
  };
  /// A ring's first message has come. Nothing in the image is checked yet. A failure ends the reading.
  [[nodiscard]] virtual Result<Place> begin_ring(const Head& head, std::span<const std::byte> image) = 0;
  /// The ring has no more.
  virtual void end_ring(Ending ending) = 0;
};

struct FollowerOptions {
  Stream::Start start = {};
  bool is_patient = false;  ///< Waits for server and stream at the beginning, too.
  bool follows = false;     ///< Waits for the next ring when the stream's last one has ended.
};

struct FollowerCounts {
  std::uint64_t records = 0;
  std::uint64_t lost = 0;
  std::uint64_t unknown_losses = 0;  ///< Places at which records are lost and it is not known how many.
  std::uint64_t repeated = 0;        ///< Messages.
  std::uint64_t damaged = 0;         ///< Messages with slots that are no records, or that no relay wrote.
  std::uint64_t sessions = 0;

  [[nodiscard]] bool is_complete() const noexcept {
    return lost == 0 && unknown_losses == 0 && repeated == 0 && damaged == 0;
  }
};

/// Reads a stream that a relay wrote, across failures of its server. One thread.
class Follower {
 public:
  /// `tell` receives a line for each change that people should know. The references must outlive it.
  Follower(Stream& stream, StreamSink& sink, FollowerOptions options, std::function<void(const std::string&)> tell);

  enum class State : std::uint8_t { Busy, Idle, Done, Failed };
  /// Takes a message, if one arrives within `wait_ms`.
  [[nodiscard]] State step(std::uint64_t now_ns, std::uint64_t wait_ms);
  [[nodiscard]] const StoreFailure& problem() const noexcept { return problem_; }
  [[nodiscard]] const FollowerCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] bool has_session() const noexcept { return has_session_; }

 private:
  [[nodiscard]] State begin(std::uint64_t now_ns);
  [[nodiscard]] bool is_done() const noexcept { return has_ended_ && !options_.follows && stream_.is_at_end(); }
  [[nodiscard]] State take(const Stream::Message& message, std::uint64_t now_ns);
  [[nodiscard]] Result<Done, StoreFailure> begin_ring(const Head& head);
  void count(const Head& head, const Taken& taken);
  [[nodiscard]] State lose_session(const StoreFailure& why, std::uint64_t now_ns);
  [[nodiscard]] State fail(StoreFailure why);

  Stream& stream_;
  StreamSink& sink_;
  FollowerOptions options_;
  std::function<void(const std::string&)> tell_;
  Unpacker unpacker_;
  FollowerCounts counts_;
  StoreFailure problem_;
  struct Kept {
    std::vector<std::byte> slots;
    Stream::Message message;
  };
  std::optional<Kept> kept_;  ///< A message whose ring could not begin, because the server went away.
  bool has_failed_ = false;
  bool has_ended_ = false;  ///< The last message was a ring's End.
  bool has_session_ = false;
  Backoff backoff_;
  std::string told_;
};

}  // namespace stopbit::relay
