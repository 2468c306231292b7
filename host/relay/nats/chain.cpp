#include "host/relay/nats/chain.hpp"

#include <fmt/format.h>

#include <utility>

#include "host/relay/nats/answer.hpp"

namespace stopbit::relay {

Result<Done, StoreFailure> NatsChain::begin(const NatsConnection& connection, std::string server, std::uint64_t last) {
  connection_ = connection.connection();
  server_ = std::move(server);
  begun_ = last;
  sent_ = stored_ = 0;
  natsInbox* inbox = nullptr;
  natsStatus status = natsInbox_Create(&inbox);
  if (status == NATS_OK) inbox_ = inbox;
  natsInbox_Destroy(inbox);
  natsSubscription* made = nullptr;
  if (status == NATS_OK) status = natsConnection_SubscribeSync(&made, connection_, inbox_.c_str());
  answers_ = NatsSubscription(made, EndSubscription{connection_});
  if (status != NATS_OK) return nats_failure("cannot wait for answers", status);
  return Done{};
}

Result<Done, StoreFailure> NatsChain::send(const std::string& subject, std::span<const std::byte> bytes, bool asks,
                                           const std::string& id) {
  natsMsg* made = nullptr;
  natsStatus status = natsMsg_Create(&made, subject.c_str(), asks ? inbox_.c_str() : nullptr,
                                     reinterpret_cast<const char*>(bytes.data()), static_cast<int>(bytes.size()));
  const NatsMessage owned(made);
  if (status == NATS_OK && !id.empty()) status = natsMsgHeader_Set(made, "Nats-Msg-Id", id.c_str());
  // The first message of a session names the stream's last by its sequence: a server that was started again may not
  // remember that message's id.
  const bool names_sequence = id.empty() || sent_ == 0;
  if (status == NATS_OK) {
    status = names_sequence
                 ? natsMsgHeader_Set(made, "Nats-Expected-Last-Sequence", std::to_string(begun_ + sent_).c_str())
                 : natsMsgHeader_Set(made, "Nats-Expected-Last-Msg-Id", last_id_.c_str());
  }
  if (status == NATS_OK) status = natsConnection_PublishMsg(connection_, made);
  if (status != NATS_OK) return nats_failure("cannot send to " + server_, status);
  last_id_ = id;
  ++sent_;
  return Done{};
}

Result<std::uint64_t, StoreFailure> NatsChain::stored(std::uint64_t wait_ms) {
  for (auto wait = static_cast<std::int64_t>(wait_ms);; wait = 0) {
    natsMsg* found = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&found, answers_.get(), wait);
    const NatsMessage message(found);
    if (status == NATS_TIMEOUT) return stored_;
    if (status == NATS_NO_RESPONDERS) {
      return StoreFailure{StoreFailure::Kind::Away, "no stream takes the messages: is JetStream on its way up?"};
    }
    if (status != NATS_OK) return nats_failure("no answer from " + server_, status);
    const std::span<const std::byte> text = bytes_of(found);
    const auto sequence = parse_answer({reinterpret_cast<const char*>(text.data()), text.size()});
    if (!sequence) return sequence.failure();
    if (sequence.value() <= begun_ + stored_ || sequence.value() > begun_ + sent_) {
      return StoreFailure{StoreFailure::Kind::Away,
                          fmt::format("the server stored a message as number {}, not as one "
                                      "of {} to {}: another process writes the stream",
                                      sequence.value(), begun_ + stored_ + 1, begun_ + sent_)};
    }
    stored_ = sequence.value() - begun_;
  }
}

}  // namespace stopbit::relay
