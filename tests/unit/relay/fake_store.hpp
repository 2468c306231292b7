#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "host/relay/store.hpp"

namespace stopbit::relay::test {

/// A server with one stream, which outlives its relays. Messages of a session that has ended may still be on their way,
/// and arrive when a later one has begun.
struct Server {
  struct Sent {
    std::optional<std::uint64_t> after_sequence;  ///< The stream's last message has this number, or
    std::string after_id;                         ///< this id.
    std::string id;
    std::vector<std::byte> bytes;
    std::uint64_t session = 0;
  };
  std::vector<std::vector<std::byte>> messages;
  std::string last_id;
  std::map<std::uint64_t, std::vector<std::byte>> layouts;
  std::deque<Sent> on_their_way;
  std::uint64_t sessions = 0;
  bool is_full = false;

  /// False: it does not follow the stream's last message.
  bool take(const Sent& sent) {
    if (is_full) return false;
    if (sent.after_sequence ? *sent.after_sequence != messages.size() : sent.after_id != last_id) return false;
    messages.push_back(sent.bytes);
    last_id = sent.id;
    return true;
  }
};

/// A relay's way to it. With `random`, everything that can fail does.
class FakeStore final : public Store {
 public:
  explicit FakeStore(Server& server, std::mt19937_64* random = nullptr) : server_(server), random_(random) {}

  Result<std::optional<Head>, StoreFailure> begin() override {
    if (is_away || happens(4)) return away("no server");
    session_ = ++server_.sessions;
    begun_ = server_.messages.size();
    sent_ = stored_ = 0;
    if (server_.messages.empty()) return std::optional<Head>();
    const Result<Head> last = decode_message(server_.messages.back());
    if (!last) return StoreFailure{StoreFailure::Kind::Refused, last.message()};
    arrive(2);  // what an earlier session sent
    return std::optional<Head>(last.value());
  }
  Result<Done, StoreFailure> show_layout(std::uint64_t name, std::span<const std::byte> image) override {
    if (happens(16)) return away("gone");
    server_.layouts[name].assign(image.begin(), image.end());
    return Done{};
  }
  Result<Done, StoreFailure> send(const Outgoing& message, bool asks) override {
    if (is_away || happens(64)) return away("cannot send");
    Server::Sent sent;
    if (sent_ == 0) sent.after_sequence = begun_;
    sent.after_id = last_id_;
    sent.id = last_id_ = id_of(message.head);
    sent.bytes.assign(message.message().begin(), message.message().end());
    sent.session = session_;
    server_.on_their_way.push_back(std::move(sent));
    ++sent_;
    asked_ = asks;
    return Done{};
  }
  Result<std::uint64_t, StoreFailure> stored(std::uint64_t /*wait_ms*/) override {
    if (is_away || happens(64)) return away("no answer");
    if (is_silent) return stored_;
    arrive(8);
    if (is_refused_) {
      is_refused_ = false;
      return away("another message came between");
    }
    return stored_;
  }

  bool is_away = false;
  bool is_silent = false;
  [[nodiscard]] bool asked_for_last() const noexcept { return asked_; }

 private:
  static StoreFailure away(const char* why) { return {StoreFailure::Kind::Away, why}; }
  bool happens(std::uint64_t one_in) { return random_ != nullptr && (*random_)() % one_in == 0; }

  /// Some of what is on its way arrives; without `random_` all of it.
  void arrive(std::size_t most) {
    std::size_t count = random_ == nullptr ? server_.on_their_way.size() : (*random_)() % (most + 1);
    for (; count > 0 && !server_.on_their_way.empty(); --count) {
      const Server::Sent sent = std::move(server_.on_their_way.front());
      server_.on_their_way.pop_front();
      const bool is_taken = server_.take(sent);
      if (sent.session != session_) continue;
      if (is_taken) {
        ++stored_;
      } else {
        is_refused_ = true;
      }
    }
  }

  Server& server_;
  std::mt19937_64* random_;
  std::uint64_t session_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t stored_ = 0;
  std::string last_id_;
  bool is_refused_ = false;
  bool asked_ = false;
};

}  // namespace stopbit::relay::test
