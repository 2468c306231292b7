#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "host/nic/channel/endpoints.hpp"
#include "tests/lib/model_check/random_runs.hpp"
#include "tests/lib/model_check/search.hpp"
#include "tests/lib/model_check/state_bytes.hpp"

/// The two ends of a channel as they run (channel/ends.hpp), between them the nodes: commands wait in queues that may
/// be full, the node reads what is to be sent late, data may arrive before their turn, events and credits in theirs.
namespace stopbit::nic {

template <class End>
struct ChannelInside {
  End& end;
  template <class Bytes>
  void visit(Bytes& bytes) const requires requires(End& of) {
    of.credits_;
  }
  {
    bytes(end.credits_);
    bytes(end.sent_);
  }
  template <class Bytes>
  void visit(Bytes& bytes) const requires requires(End& of) {
    of.freed_;
  }
  {
    bytes(end.has_slot_);
    bytes(end.freed_);
    bytes(end.received_);
  }
  [[nodiscard]] std::uint32_t credits() const { return end.credits_; }
  [[nodiscard]] std::uint32_t held() const { return end.freed_ + (end.has_slot_ ? 1 : 0); }
};

namespace channel_model {

using model_check::Draw;
using model_check::Findings;

/// What must not go unnoticed.
enum class Fault : std::uint8_t {
  None,
  LosesCredit,      ///< A command that gives credits back is accepted and forgotten, once.
  DoublesCredit,    ///< Its event comes twice.
  EventBeforeData,  ///< The event of a message comes before its bytes.
  LosesCommand,     ///< A put is accepted and forgotten.
};

struct Scenario {
  std::uint32_t slots = 0;
  std::uint32_t messages = 0;
  std::size_t commands = 2;  ///< That wait in a port's queue at most.
};

template <std::uint32_t kReplenish>
class Model {
 public:
  Model(const Scenario& scenario, Fault fault) : scenario_(scenario), fault_(fault) {}

  [[nodiscard]] const std::string& failure() const { return failure_; }

  void save(std::vector<std::byte>& into) {
    into.clear();
    model_check::StateWriter writer{into};
    visit(writer);
  }
  void load(std::span<const std::byte> from) {
    model_check::StateReader reader{from};
    visit(reader);
  }

  // Actions: the sender sends; its node reads the next put; it arrives in its turn; the receiver calls; its node takes
  // its command; the event of that comes; then the data of each packet come early.
  enum Action : std::size_t { kSend, kRead, kArrive, kReceive, kCredit, kEarly };
  [[nodiscard]] std::size_t actions() const { return kEarly + packets_.size(); }
  /// False: it cannot happen now.
  bool apply(std::size_t action) {
    switch (action) {
      case kSend: return send();
      case kRead: return read();
      case kArrive: return arrive();
      case kReceive: receive(); break;
      case kCredit:
        if (credits_under_way_ == 0) return false;
        --credits_under_way_;
        pending_credits_ += fault_ == Fault::DoublesCredit ? 2 : 1;
        break;
      default:
        if (packets_[action - kEarly].is_written != 0) return false;
        write(packets_[action - kEarly]);
    }
    check();
    return true;
  }
  /// From here on all actors do their work.
  void close() {
    for (std::uint32_t round = 0; round < 8 * scenario_.messages + 8 && failure_.empty(); ++round) {
      while (send()) {
      }
      while (read()) {
      }
      while (arrive()) {
      }
      (void)apply(kReceive);
      while (credits_under_way_ != 0) (void)apply(kCredit);
      if (sent_ == scenario_.messages && received_ == sent_ && held_ == 0) return;
    }
    fail("somebody waits for ever");
  }
  /// Messages that arrived.
  [[nodiscard]] std::uint64_t work() const { return received_; }

 private:
  static constexpr std::uint32_t kBytes = 8;
  static constexpr std::uint32_t kSlotBytes = ChannelLayout::kHeaderBytes + kBytes;
  static constexpr std::uint8_t kMessageEvent = 1;
  static constexpr std::uint8_t kCreditEvent = 2;
  static constexpr Nla kStaging = 1 << 20U;

  struct Queue {
    Model* model;
    bool is_sender;
    Issue insert(std::span<const Command> commands) const { return model->insert(is_sender, commands.front()); }
  };
  struct Events {
    Model& model;
    bool poll(std::size_t event) {
      std::uint32_t& pending = event == kMessageEvent ? model.pending_messages_ : model.pending_credits_;
      if (pending == 0) return false;
      --pending;
      return true;
    }
  };
  struct Put {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t length = 0;
  };
  struct Packet {
    std::uint32_t to = 0;
    std::uint32_t length = 0;
    std::uint8_t is_written = 0;
    std::array<std::byte, kSlotBytes> bytes{};
  };
  using Sender = BasicChannelSender<kReplenish, Queue, Events>;
  using Receiver = BasicChannelReceiver<kReplenish, Queue, Events>;

  template <class Bytes>
  void visit(Bytes& bytes) {
    ChannelInside<Sender>{sender_}.visit(bytes);
    ChannelInside<Receiver>{receiver_}.visit(bytes);
    bytes.list(puts_);
    for (Put& put : puts_) {
      bytes(put.from);
      bytes(put.to);
      bytes(put.length);
    }
    bytes.list(packets_);
    for (Packet& packet : packets_) {
      bytes(packet.to);
      bytes(packet.length);
      bytes(packet.is_written);
      for (std::byte& byte : packet.bytes) bytes(byte);
    }
    bytes(credits_under_way_);
    bytes(pending_messages_);
    bytes(pending_credits_);
    bytes(sent_);
    bytes(received_);
    bytes(held_);
    bytes(has_faulted_);
    for (std::byte& byte : staging_) bytes(byte);
    for (std::byte& byte : ring_) bytes(byte);
  }

  void fail(const char* what) {
    if (failure_.empty()) failure_ = what;
  }
  static std::uint64_t word_of(std::uint64_t number) { return number * 0x9E37'79B9'7F4A'7C15U + 1; }

  Issue insert(bool is_sender, const Command& command) {
    const bool is_lost = has_faulted_ == 0 && fault_ == (is_sender ? Fault::LosesCommand : Fault::LosesCredit);
    if ((is_sender ? puts_.size() : credits_under_way_) >= scenario_.commands) return {Reply::Full, 0};
    has_faulted_ |= static_cast<std::uint8_t>(is_lost);
    if (is_lost) return {Reply::NoError, 1};
    if (!is_sender) {
      if (command.operation != Operation::Signal || command.more != kCreditEvent) fail("another command");
      ++credits_under_way_;
      return {Reply::NoError, 1};
    }
    const bool is_right = command.operation == Operation::Put && command.more == kMessageEvent &&
                          command.address >= kStaging && command.length <= kSlotBytes &&
                          command.address - kStaging + command.length <= staging_.size() &&
                          command.offset + command.length <= ring_.size();
    if (!is_right) fail("another command");
    if (!failure_.empty()) return {Reply::Invalid, 0};
    puts_.push_back({static_cast<std::uint32_t>(command.address - kStaging), static_cast<std::uint32_t>(command.offset),
                     command.length});
    return {Reply::NoError, 1};
  }
  bool send() {
    if (sent_ == scenario_.messages) return false;
    std::array<std::byte, kBytes> message;
    const std::uint64_t word = word_of(sent_);
    std::memcpy(message.data(), &word, sizeof(word));
    const ChannelResult result = sender_.send(message);
    if (result == ChannelResult::Done) ++sent_;
    if (result == ChannelResult::TooLong) fail("too long");
    check();
    return result == ChannelResult::Done;
  }
  bool read() {
    if (puts_.empty()) return false;
    const Put put = puts_.front();
    puts_.erase(puts_.begin());
    Packet& packet = packets_.emplace_back();
    packet.to = put.to;
    packet.length = put.length;
    std::copy_n(staging_.begin() + put.from, put.length, packet.bytes.begin());
    return true;
  }
  bool arrive() {
    if (packets_.empty()) return false;
    if (fault_ != Fault::EventBeforeData && packets_.front().is_written == 0) write(packets_.front());
    packets_.erase(packets_.begin());
    ++pending_messages_;
    check();
    return true;
  }
  void write(Packet& packet) {
    packet.is_written = 1;
    std::copy_n(packet.bytes.begin(), packet.length, ring_.begin() + packet.to);
  }
  void receive() {
    const std::span<const std::byte> message = receiver_.receive();
    held_ = 0;
    if (receiver_.damaged() != 0) return fail("a slot has no message");
    if (message.empty()) return;
    ++received_;
    held_ = static_cast<std::uint32_t>(message.data() - ring_.data());
  }

  /// What must hold at any moment.
  void check() {
    if (held_ != 0) {
      std::uint64_t word = 0;
      std::memcpy(&word, ring_.data() + held_, sizeof(word));
      if (word != word_of(received_ - 1)) fail("another message, or one that is written over while it is read");
    }
    const std::uint64_t credits = ChannelInside<Sender>{sender_}.credits() + puts_.size() + packets_.size() +
                                  pending_messages_ + ChannelInside<Receiver>{receiver_}.held() +
                                  std::uint64_t{kReplenish} * (credits_under_way_ + pending_credits_);
    if (credits > scenario_.slots - 1) fail("credits are doubled");
    if (credits < scenario_.slots - 1) fail("credits are lost");
    if (sent_ - received_ + (held_ != 0 ? 1 : 0) > scenario_.slots - 1) fail("more under way than there are slots");
  }

  Scenario scenario_;
  Fault fault_;
  std::string failure_;
  std::vector<std::byte> staging_ = std::vector<std::byte>(std::size_t{scenario_.slots} * kSlotBytes);
  std::vector<std::byte> ring_ = std::vector<std::byte>(std::size_t{scenario_.slots} * kSlotBytes);
  std::vector<Put> puts_;
  std::vector<Packet> packets_;
  std::uint32_t credits_under_way_ = 0;
  std::uint32_t pending_messages_ = 0;
  std::uint32_t pending_credits_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint32_t held_ = 0;  ///< Where the message lies that the receiver reads; never at 0.
  std::uint8_t has_faulted_ = 0;
  Events events_{*this};
  ChannelLayout layout_{scenario_.slots, kSlotBytes};
  Sender sender_{Queue{this, true}, events_, kCreditEvent, staging_, kStaging, layout_, {0, 0, kMessageEvent, {}}};
  Receiver receiver_{Queue{this, false}, events_, kMessageEvent, ring_, layout_, {0, 0, kCreditEvent, {}}};
};

/// Visits every state that can be reached, and checks from each that all messages arrive.
template <std::uint32_t kReplenish>
Findings explore(const Scenario& scenario, Fault fault = Fault::None) {
  Model<kReplenish> model(scenario, fault);
  return model_check::explore_states(model);
}

/// A random run with the credits that channels have. Each action has a pace of its own, so that now one, now the other
/// is behind.
struct RandomRun : Model<ChannelLayout::kReplenish> {
  RandomRun(const Scenario& scenario, Fault fault, Draw& draw) : Model(scenario, fault) {
    for (std::uint64_t& one : pace) one = 1 + draw(16);
  }
  [[nodiscard]] bool turn(Draw& draw) {
    std::size_t action = draw(6);
    if (draw(16) >= pace[action]) return false;
    if (action == kEarly) action += draw(8);
    return action < actions() && apply(action);
  }
  std::array<std::uint64_t, 6> pace;
};

/// Takes random steps, `steps` of them, in runs that each come to an end.
inline Findings wander(std::uint64_t seed, std::uint64_t steps, Fault fault = Fault::None) {
  return model_check::wander(seed, steps, 8'000, [&](Draw& draw) {
    const std::uint32_t more = draw(2);
    const std::uint32_t slots = ChannelLayout::kMinSlots + more * draw(100);
    const std::uint32_t messages = 1 + draw(2000);
    return RandomRun({slots, messages, 1 + draw(64)}, fault, draw);
  });
}

}  // namespace channel_model
}  // namespace stopbit::nic
