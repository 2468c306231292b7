#include "host/nic/provider/endpoint.hpp"

#include <rdma/fi_cm.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "host/nic/provider/address_vector.hpp"
#include "host/nic/provider/domain.hpp"
#include "host/nic/provider/endpoint_calls.hpp"
#include "host/nic/provider/queues.hpp"
#include "microcode/base/round_up.hpp"

namespace stopbit::nic::provider {
namespace {

constexpr TagOptions kTags{.unit = {.receives = 1024, .unexpected = 1024},
                           .software_receives = EndpointLimits::kReceives,
                           .software_unexpected = EndpointLimits::kUnexpected};

TagHeader header_of(const PeerName& from, bool is_tagged, std::uint64_t tag) noexcept {
  return {std::uint32_t{from.node} << 16U | from.endpoint, from.birth << 1U | (is_tagged ? 1U : 0U),
          is_tagged ? tag : 0};
}
std::uint64_t kind_of(bool is_tagged) noexcept {
  return is_tagged ? FI_TAGGED : FI_MSG;
}
void free_blocks_of(std::byte* memory) {
  std::free(memory);
}

}  // namespace

Endpoint::Endpoint(Domain& owner, const fi_info& info, void* user)
    : fid_ep(endpoint_fid(user)),
      domain(owner),
      directs_receives((info.caps & FI_DIRECTED_RECV) != 0),
      send_options(info.tx_attr != nullptr ? info.tx_attr->op_flags : 0),
      receive_options(info.rx_attr != nullptr ? info.rx_attr->op_flags : 0),
      tags(kTags, *this),
      sends(EndpointLimits::kSends),
      receives(EndpointLimits::kReceives),
      unexpected(EndpointLimits::kUnexpected),
      blocks(static_cast<std::byte*>(std::calloc(EndpointLimits::kBlocks, owner.packet_bytes())), free_blocks_of),
      remote(*this) {
  if (!blocks) throw std::bad_alloc();
  for (std::size_t i = EndpointLimits::kBlocks; i-- > 0;) free_blocks.push_back(static_cast<std::uint32_t>(i));
}

Endpoint::~Endpoint() {
  const auto leave = [](auto* bound) {
    if (bound != nullptr) --bound->users;
  };
  // Slots that operations still hold go back: the queue may serve other endpoints.
  if (send_queue != nullptr) send_queue->held -= sends.used();
  if (receive_queue != nullptr) receive_queue->held -= receives.used();
  sends.for_each([&](std::uint32_t, const Sending& sending) { domain.expect_less(sending.out.to.node); });
  // Senders that wait for their message to be taken hear that it never will be.
  receives.for_each([&](std::uint32_t, const Receiving& receiving) {
    if (!receiving.is_arriving) return;
    domain.expect_less(receiving.from.node);
    tell_done(receiving.from, receiving.request, FI_ECONNREFUSED);
  });
  unexpected.for_each([&](std::uint32_t, const Unexpected& message) {
    if ((message.head.flags & kWantsDone) != 0) tell_done(message.from, message.head.request, FI_ECONNREFUSED);
  });
  leave(send_queue);
  leave(receive_queue);
  for (Counter* const counter :
       {send_counter, receive_counter, read_counter, write_counter, remote_read_counter, remote_write_counter})
    leave(counter);
  leave(peers);
}

int Endpoint::bind(struct fid* to, std::uint64_t flags) {
  if (is_enabled) return -FI_EOPBADSTATE;
  const auto use = [](auto*& place, auto* bound) {
    if (place == bound) return;
    if (place != nullptr) --place->users;
    place = bound;
    ++bound->users;
  };
  switch (to->fclass) {
    case FI_CLASS_AV: use(peers, static_cast<AddressVector*>(reinterpret_cast<fid_av*>(to))); return 0;
    case FI_CLASS_CQ: {
      auto* const queue = static_cast<CompletionQueue*>(reinterpret_cast<fid_cq*>(to));
      if ((flags & (FI_TRANSMIT | FI_RECV)) == 0) return -FI_EBADFLAGS;
      const bool selects = (flags & FI_SELECTIVE_COMPLETION) != 0;
      if ((flags & FI_TRANSMIT) != 0) {
        use(send_queue, queue);
        selects_sends = selects;
      }
      if ((flags & FI_RECV) != 0) {
        use(receive_queue, queue);
        selects_receives = selects;
      }
      return 0;
    }
    case FI_CLASS_CNTR: {
      auto* const counter = static_cast<Counter*>(reinterpret_cast<fid_cntr*>(to));
      const std::pair<std::uint64_t, Counter*&> places[] = {{FI_SEND, send_counter},
                                                            {FI_RECV, receive_counter},
                                                            {FI_READ, read_counter},
                                                            {FI_WRITE, write_counter},
                                                            {FI_REMOTE_READ, remote_read_counter},
                                                            {FI_REMOTE_WRITE, remote_write_counter}};
      bool is_used = false;
      for (const auto& [flag, place] : places) {
        if ((flags & flag) == 0) continue;
        use(place, counter);
        is_used = true;
      }
      return is_used ? 0 : -FI_EBADFLAGS;
    }
    case FI_CLASS_EQ: return 0;  // an endpoint without connections has no events
    default: return -FI_EINVAL;
  }
}

int Endpoint::enable() {
  if (peers == nullptr) return -FI_ENOAV;
  const bool has_counter = send_counter != nullptr || receive_counter != nullptr || read_counter != nullptr ||
                           write_counter != nullptr || remote_read_counter != nullptr ||
                           remote_write_counter != nullptr;
  if (send_queue == nullptr && receive_queue == nullptr && !has_counter) return -FI_ENOCQ;
  is_enabled = true;
  return 0;
}

ssize_t Endpoint::send(const SendCall& call) {
  if (!is_enabled) return -FI_EOPBADSTATE;
  const PeerName* const to = peers->find(call.to);
  if (to == nullptr) return -FI_EINVAL;
  if (domain.is_dead(*to)) return -FI_EHOSTUNREACH;
  const std::size_t length = call.from.bytes();
  if (length > EndpointLimits::kMaxMessage) return -FI_EMSGSIZE;
  if ((call.is_inject || (call.options & FI_INJECT) != 0) && length > kInject) return -FI_EMSGSIZE;
  const bool is_long = length > domain.eager_bytes();
  const bool waits = is_long || (!call.is_inject && (call.options & FI_DELIVERY_COMPLETE) != 0);
  if (waits && sends.is_full()) {
    domain.progress();
    if (sends.is_full()) return -FI_EAGAIN;
  }
  // Progress may find that the peer has died.
  const std::span<std::byte> at = domain.place(to->node);
  if (domain.is_dead(*to)) return -FI_EHOSTUNREACH;
  if (at.empty()) return -FI_EAGAIN;
  const bool has_slot = send_queue != nullptr && !call.is_inject;
  if (has_slot && !send_queue->reserve()) return -FI_EAGAIN;

  const bool completes = !call.is_inject && (!selects_sends || (call.options & FI_COMPLETION) != 0);
  const std::uint64_t report = FI_SEND | kind_of((call.flags & kTagged) != 0);
  Head head;
  head.kind = is_long ? Kind::Offer : Kind::Eager;
  head.flags = static_cast<std::uint8_t>(call.flags | (waits ? kWantsDone : 0));
  head.source = number;
  head.target = to->endpoint;
  head.source_birth = domain.own_name(number).birth;
  head.target_birth = to->birth;
  head.tag = call.tag;
  head.data = call.data;
  if (waits) {
    Sending sending;
    // What goes with the packet no peer may ask for: the buffer of an inject is the program's again.
    if (is_long) sending.out.from = call.from;
    sending.out.to = *to;
    sending.context = call.context;
    sending.report = report;
    sending.completes = completes;
    sending.tag = call.tag;
    sending.data = call.data;
    head.request = sends.take(sending);
  }
  std::memcpy(at.data(), &head, sizeof(head));
  std::size_t packet = sizeof(head);
  if (is_long) {
    OfferBody offer;
    offer.length = length;
    domain.locate(call.from, offer);
    std::memcpy(at.data() + packet, &offer, sizeof(offer));
    packet += sizeof(offer);
  } else {
    call.from.read(0, at.subspan(packet, length));
    packet += length;
  }
  if (!domain.send_placed(*to, at.first(packet))) {
    if (waits) sends.give_back(head.request);
    if (has_slot) send_queue->release();
    return -FI_EHOSTUNREACH;
  }
  Counters& counters = domain.counters();
  ++counters.messages_sent;
  counters.bytes_sent += length;
  ++(is_long ? counters.offers_sent : counters.eager_sent);
  if (waits) {
    domain.expect(to->node);
  } else if (!call.is_inject) {
    report_sent(send_counter, {call.context, report, call.tag}, completes, 0);
  } else if (send_counter != nullptr) {
    ++send_counter->value;
  }
  return 0;
}

void Endpoint::report_sent(Counter* counter, const Report& report, bool completes, int error) {
  if (counter != nullptr) ++(error == 0 ? counter->value : counter->errors);
  if (send_queue == nullptr) return;
  if (!completes && error == 0) return send_queue->release();
  Completion completion;
  completion.entry.op_context = report.context;
  completion.entry.flags = report.flags;
  completion.entry.err = error;
  completion.entry.tag = report.tag;
  send_queue->push(completion);
}

void Endpoint::end_send(std::uint32_t id, int error) {
  const Sending sending = *sends.find(id);
  domain.expect_less(sending.out.to.node);
  sends.give_back(id);
  report_sent(send_counter, {sending.context, sending.report, sending.tag}, sending.completes, error);
}

TagReceive Endpoint::wanted(const ReceiveCall& call, std::uint32_t id, bool& is_valid) const {
  const bool is_directed = directs_receives && call.from != FI_ADDR_UNSPEC;
  const PeerName* const from = is_directed ? peers->find(call.from) : nullptr;
  is_valid = !is_directed || from != nullptr;
  TagReceive receive;
  receive.id = id;
  receive.wanted = header_of(from != nullptr ? *from : PeerName(), call.is_tagged, call.tag);
  receive.mask.channel = is_directed ? ~std::uint32_t{0} : 0;
  receive.mask.template_id = is_directed ? ~std::uint32_t{0} : 1;
  receive.mask.value = call.is_tagged ? ~call.ignore : 0;
  return receive;
}

ssize_t Endpoint::receive(const ReceiveCall& call) {
  if (!is_enabled) return -FI_EOPBADSTATE;
  if ((call.options & (FI_PEEK | FI_CLAIM)) != 0) return look(call);
  bool is_valid = false;
  TagReceive receive = wanted(call, 0, is_valid);
  if (!is_valid) return -FI_EINVAL;
  if ((call.options & FI_MULTI_RECV) != 0) return receive_many(call, receive);
  if (receives.is_full() || (receive_queue != nullptr && !receive_queue->reserve())) return -FI_EAGAIN;
  Receiving receiving;
  receiving.into = call.into;
  receiving.context = call.context;
  receiving.is_tagged = call.is_tagged;
  receiving.completes = !selects_receives || (call.options & FI_COMPLETION) != 0;
  receive.id = receives.take(receiving);
  if (tags.post(receive) != PostResult::Full) return 0;
  receives.give_back(static_cast<std::uint32_t>(receive.id));
  if (receive_queue != nullptr) receive_queue->release();
  return -FI_EAGAIN;
}

ssize_t Endpoint::receive_many(const ReceiveCall& call, TagReceive receive) {
  // Each message has a receive of its own, and a completion: also all that may be stored already.
  const std::size_t most = tags.unexpected() + 1;
  if (receives.size() - receives.used() < most) return -FI_EAGAIN;
  if (receive_queue != nullptr && receive_queue->entries.size() - receive_queue->held < most) return -FI_EAGAIN;
  if (receive_queue != nullptr && !receive_queue->reserve()) return -FI_EAGAIN;
  Receiving whole;
  whole.into = call.into;
  whole.context = call.context;
  whole.completes = !selects_receives || (call.options & FI_COMPLETION) != 0;
  whole.is_multi = true;
  const std::uint32_t id = receives.take(whole);
  receive.id = id;
  receive.is_persistent = true;
  for (;;) {
    const Receiving* const left = receives.find(id);
    if (left == nullptr || left->is_exhausted) return 0;
    const std::optional<TagRecord> record = tags.peek(receive);
    if (!record) break;
    const auto stored = static_cast<std::uint32_t>(record->id);
    const std::optional<std::uint32_t> part = take_part(id, unexpected.find(stored)->offer.length);
    if (!part || !tags.claim(receive)) break;  // never: there was room for all, and it was there
    take_stored(*part, stored);
  }
  // There is room: each posted receive is one of `receives`, of which there are no more.
  if (tags.post(receive) == PostResult::Full) end_receive(id, FI_ENOSPC);
  return 0;
}

std::optional<std::uint32_t> Endpoint::take_part(std::uint32_t id, std::uint64_t length) {
  if (receives.is_full() || (receive_queue != nullptr && !receive_queue->reserve())) return std::nullopt;
  constexpr std::size_t kAlignment = 8;
  Receiving& whole = *receives.find(id);
  const std::size_t room = whole.into.bytes() - whole.used;
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(room, length));
  const iovec piece{static_cast<std::byte*>(whole.into.first()) + whole.used, taken};
  Receiving part;
  part.into = Pieces(std::span(&piece, 1));
  part.context = whole.context;
  part.completes = whole.completes;
  part.shared = id;
  whole.used += std::min(room, round_up(taken, kAlignment));
  ++whole.under_way;
  if (const std::size_t left = whole.into.bytes() - whole.used; left == 0 || left < min_multi_receive) {
    whole.is_exhausted = true;
    (void)tags.cancel(id);  // while the stored messages are taken it is not posted yet
  }
  return receives.take(part);
}

bool Endpoint::end_part(std::uint32_t id) {
  Receiving& whole = *receives.find(id);
  if (--whole.under_way != 0 || !whole.is_exhausted) return false;
  if (whole.is_cancelled) return false;  // its own completion says so
  receives.give_back(id);
  if (receive_queue != nullptr) receive_queue->release();
  return true;
}

/// A stored message has met a receive that is being posted.
void Endpoint::matched(const TagReceive& receive, const TagRecord& record) {
  take_stored(static_cast<std::uint32_t>(receive.id), static_cast<std::uint32_t>(record.id));
}

void Endpoint::take_stored(std::uint32_t receive, std::uint32_t stored) {
  const Unexpected& message = *unexpected.find(stored);
  if (message.is_offer) {
    fetch(receive, message.head, message.from, message.offer);
  } else {
    fill(receive, message.head, message.from, bytes_of(message));
  }
  forget(stored);
}

ssize_t Endpoint::look(const ReceiveCall& call) {
  const bool is_peek = (call.options & FI_PEEK) != 0;
  const bool is_claim = (call.options & FI_CLAIM) != 0;
  const bool is_discard = (call.options & FI_DISCARD) != 0;
  bool is_valid = false;
  const TagReceive receive = wanted(call, 0, is_valid);
  if (!is_valid) return -FI_EINVAL;
  if (is_peek) domain.progress();
  if (receive_queue == nullptr) return -FI_ENOCQ;
  const auto found_claim = claimed.find(call.context);
  if (!is_peek && found_claim == claimed.end()) return -FI_EINVAL;
  if (is_peek && is_claim && found_claim != claimed.end()) return -FI_EBUSY;
  if (!is_peek && !is_discard && receives.is_full()) return -FI_EAGAIN;
  if (!receive_queue->reserve()) return -FI_EAGAIN;

  Completion completion;
  completion.entry.op_context = call.context;
  completion.entry.flags = FI_RECV | kind_of(call.is_tagged);
  if (is_peek) {
    const std::optional<TagRecord> record = is_claim || is_discard ? tags.claim(receive) : tags.peek(receive);
    if (!record) {
      completion.entry.err = FI_ENOMSG;
      completion.entry.tag = call.tag;
      receive_queue->push(completion);
      return 0;
    }
    const auto stored = static_cast<std::uint32_t>(record->id);
    const Unexpected& message = *unexpected.find(stored);
    completion.entry.len = message.offer.length;
    completion.entry.tag = message.head.tag;
    completion.entry.data = message.head.data;
    if ((message.head.flags & kHasData) != 0) completion.entry.flags |= FI_REMOTE_CQ_DATA;
    completion.source = peers->address_of(message.from);
    if (is_discard) {
      discard(stored);
    } else if (is_claim) {
      claimed.emplace(call.context, stored);
    }
    receive_queue->push(completion);
    return 0;
  }
  const std::uint32_t stored = found_claim->second;
  claimed.erase(found_claim);
  if (is_discard) {
    completion.entry.tag = unexpected.find(stored)->head.tag;
    discard(stored);
    receive_queue->push(completion);
    return 0;
  }
  Receiving receiving;
  receiving.into = call.into;
  receiving.context = call.context;
  receiving.is_tagged = call.is_tagged;
  receiving.completes = !selects_receives || (call.options & FI_COMPLETION) != 0;
  take_stored(receives.take(receiving), stored);
  return 0;
}

void Endpoint::discard(std::uint32_t stored) {
  const Unexpected& message = *unexpected.find(stored);
  if ((message.head.flags & kWantsDone) != 0) tell_done(message.from, message.head.request, 0);
  forget(stored);
}

void Endpoint::forget(std::uint32_t stored) {
  if (const std::uint32_t block = unexpected.find(stored)->block; block != Unexpected::kNoBlock)
    free_blocks.push_back(block);
  unexpected.give_back(stored);
}

std::span<const std::byte> Endpoint::bytes_of(const Unexpected& message) const noexcept {
  const std::byte* const at = message.block == Unexpected::kNoBlock
                                  ? message.bytes.data()
                                  : blocks.get() + message.block * domain.packet_bytes();
  return {at, static_cast<std::size_t>(message.offer.length)};
}

ssize_t Endpoint::cancel(void* context) {
  std::optional<std::uint32_t> found;
  receives.for_each([&](std::uint32_t id, const Receiving& receiving) {
    if (!found && receiving.context == context && !receiving.is_arriving) found = id;
  });
  if (!found || !tags.cancel(*found)) return -FI_ENOENT;
  if (Receiving& receiving = *receives.find(*found); receiving.under_way != 0) {
    receiving.is_exhausted = receiving.is_cancelled = true;  // messages still come into its buffer
    return 0;
  }
  end_receive(*found, FI_ECANCELED);
  return 0;
}

bool Endpoint::take(const Head& head, const PeerName& from, std::span<const std::byte> bytes) {
  if ((head.flags & kRemote) != 0) return remote.take(head, from, bytes);
  switch (head.kind) {
    case Kind::Eager:
    case Kind::Offer: return take_message(head, from, bytes);
    case Kind::Ask: take_ask(head, from); return true;
    case Kind::Piece: take_piece(head, from, bytes); return true;
    case Kind::Done: take_done(head, from); return true;
    default: break;
  }
  ++domain.counters().malformed;
  return true;
}

bool Endpoint::take_message(const Head& head, const PeerName& from, std::span<const std::byte> bytes) {
  OfferBody offer;
  offer.length = bytes.size();
  if (head.kind == Kind::Offer) {
    if (bytes.size() != sizeof(offer)) {
      ++domain.counters().malformed;
      return true;
    }
    std::memcpy(&offer, bytes.data(), sizeof(offer));
    if (offer.length > EndpointLimits::kMaxMessage || (head.flags & kWantsDone) == 0) {
      ++domain.counters().malformed;
      return true;
    }
  }
  const TagHeader header = header_of(from, (head.flags & kTagged) != 0, head.tag);
  if (const std::optional<TagReceive> receive = tags.serve(header)) {
    auto id = static_cast<std::uint32_t>(receive->id);
    if (receives.find(id)->is_multi) {
      const std::optional<std::uint32_t> part = take_part(id, offer.length);
      if (!part) {
        ++domain.counters().held_up;
        return false;
      }
      id = *part;
    }
    head.kind == Kind::Offer ? fetch(id, head, from, offer) : fill(id, head, from, bytes);
    return true;
  }
  if (store(head, from, bytes, offer)) return true;
  ++domain.counters().held_up;
  return false;
}

bool Endpoint::store(const Head& head, const PeerName& from, std::span<const std::byte> bytes, const OfferBody& offer) {
  const bool needs_block = head.kind == Kind::Eager && bytes.size() > EndpointLimits::kShort;
  if (unexpected.is_full() || !tags.has_room_for_record() || (needs_block && free_blocks.empty())) return false;
  const std::uint32_t id = unexpected.take({});
  Unexpected& message = *unexpected.find(id);
  message.head = head;
  message.from = from;
  message.is_offer = head.kind == Kind::Offer;
  message.offer = offer;
  if (!message.is_offer) {
    std::byte* at = message.bytes.data();
    if (needs_block) {
      message.block = free_blocks.back();
      free_blocks.pop_back();
      at = blocks.get() + message.block * domain.packet_bytes();
    }
    std::copy(bytes.begin(), bytes.end(), at);
  }
  ++domain.counters().unexpected;
  tags.arrive({header_of(from, (head.flags & kTagged) != 0, head.tag), id});
  return true;
}

void Endpoint::begin(Receiving& receiving, const Head& head, const PeerName& from, std::uint64_t length) {
  receiving.from = from;
  receiving.flags = head.flags;
  receiving.tag = head.tag;
  receiving.data = head.data;
  receiving.request = head.request;
  receiving.length = length;
}

void Endpoint::fill(std::uint32_t id, const Head& head, const PeerName& from, std::span<const std::byte> bytes) {
  Receiving& receiving = *receives.find(id);
  begin(receiving, head, from, bytes.size());
  receiving.into.write(0, bytes);
  if ((head.flags & kWantsDone) != 0) tell_done(from, head.request, 0);
  end_receive(id, 0);
}

void Endpoint::fetch(std::uint32_t id, const Head& head, const PeerName& from, const OfferBody& offer) {
  Receiving& receiving = *receives.find(id);
  begin(receiving, head, from, offer.length);
  if (domain.is_dead(from)) return end_receive(id, FI_ECONNRESET);
  const std::uint64_t bytes = std::min<std::uint64_t>(offer.length, receiving.into.bytes());
  if (bytes == 0 || domain.copy(receiving.into, from, offer, bytes)) {
    // A process that is alive now was alive during the copy, so its number was not another's.
    if (!domain.is_alive(from.node)) return end_receive(id, FI_ECONNRESET);
    tell_done(from, head.request, 0);
    return end_receive(id, 0);
  }
  receiving.is_arriving = true;
  domain.expect(from.node);
  Head ask;
  ask.kind = Kind::Ask;
  ask.source = number;
  ask.request = head.request;
  ask.tag = bytes;
  ask.data = id;
  domain.answer(from, ask);
}

void Endpoint::tell_done(const PeerName& to, std::uint32_t request, int error) {
  Head done;
  done.kind = Kind::Done;
  done.source = number;
  done.request = request;
  done.error = static_cast<std::uint16_t>(error);
  domain.answer(to, done);
}

void Endpoint::take_ask(const Head& head, const PeerName& from) {
  Sending* const sending = sends.find(head.request);
  if (sending == nullptr || sending->out.to != from || sending->out.is_asked || head.tag == 0 ||
      head.tag > sending->out.from.bytes() || head.data > ~std::uint32_t{0}) {
    ++domain.counters().malformed;
    return;
  }
  sending->out.is_asked = true;
  sending->out.asked_by = static_cast<std::uint32_t>(head.data);
  sending->out.asked_bytes = head.tag;
  domain.stream(*this, Kind::Piece, head.request);
}

Outgoing* Endpoint::outgoing(Kind kind, std::uint32_t request) noexcept {
  if (kind != Kind::Piece) return remote.outgoing(kind, request);
  Sending* const sending = sends.find(request);
  return sending != nullptr ? &sending->out : nullptr;
}

std::size_t Endpoint::write_piece(Outgoing& outgoing, std::span<std::byte> into) {
  const std::size_t length = std::min<std::size_t>(outgoing.asked_bytes - outgoing.sent, into.size() - sizeof(Head));
  Head head;
  head.kind = outgoing.kind;
  head.flags = outgoing.kind == Kind::Piece ? std::uint8_t{0} : kRemote;
  head.source = number;
  head.target = outgoing.to.endpoint;
  head.source_birth = domain.own_name(number).birth;
  head.target_birth = outgoing.to.birth;
  head.tag = outgoing.sent;
  head.request = outgoing.asked_by;
  std::memcpy(into.data(), &head, sizeof(head));
  outgoing.from.read(outgoing.sent, into.subspan(sizeof(head), length));
  outgoing.sent += length;
  return sizeof(head) + length;
}

void Endpoint::streamed(Kind kind, std::uint32_t request) {
  // A message's sender waits for Done.
  if (kind != Kind::Piece) remote.streamed(kind, request);
}

void Endpoint::take_piece(const Head& head, const PeerName& from, std::span<const std::byte> bytes) {
  Receiving* const receiving = receives.find(head.request);
  if (receiving == nullptr || !receiving->is_arriving || receiving->from != from || bytes.empty()) {
    ++domain.counters().malformed;
    return;
  }
  const std::uint64_t whole = std::min<std::uint64_t>(receiving->length, receiving->into.bytes());
  // In order: the channel is. So a sender can neither leave bytes out nor count some twice.
  if (head.tag != receiving->got || bytes.size() > whole - receiving->got) {
    ++domain.counters().malformed;
    return;
  }
  receiving->into.write(receiving->got, bytes);
  receiving->got += bytes.size();
  if (receiving->got < whole) return;
  domain.expect_less(from.node);
  tell_done(from, receiving->request, 0);
  end_receive(head.request, 0);
}

void Endpoint::take_done(const Head& head, const PeerName& from) {
  const Sending* const sending = sends.find(head.request);
  if (sending == nullptr || sending->out.to != from) {
    ++domain.counters().malformed;
    return;
  }
  end_send(head.request, head.error);
}

void Endpoint::end_receive(std::uint32_t id, int error) {
  const Receiving receiving = *receives.find(id);
  receives.give_back(id);
  const std::uint64_t room = receiving.into.bytes();
  const std::uint64_t excess = receiving.length > room ? receiving.length - room : 0;
  if (error == 0 && excess != 0) error = FI_ETRUNC;
  if (error == 0 || error == FI_ETRUNC) {
    ++domain.counters().messages_received;
    domain.counters().bytes_received += receiving.length - excess;
  }
  if (receive_counter != nullptr) ++(error == 0 ? receive_counter->value : receive_counter->errors);
  const bool is_last = receiving.is_multi || (receiving.shared && end_part(*receiving.shared));
  // Its completion comes after those of the messages.
  const bool cancels = receiving.shared && !is_last && receives.find(*receiving.shared)->is_cancelled &&
                       receives.find(*receiving.shared)->under_way == 0;
  report_received(receiving, excess, error, is_last);
  if (cancels) end_receive(*receiving.shared, FI_ECANCELED);
}

void Endpoint::report_received(const Receiving& receiving, std::uint64_t excess, int error, bool is_last) {
  if (receive_queue == nullptr) return;
  if (error == 0 && !receiving.completes && !is_last) return receive_queue->release();
  Completion completion;
  completion.entry.op_context = receiving.context;
  completion.entry.flags = FI_RECV | kind_of(receiving.is_tagged);
  completion.entry.len = receiving.length - excess;
  completion.entry.buf = receiving.into.first();
  completion.entry.data = receiving.data;
  completion.entry.tag = receiving.tag;
  completion.entry.olen = excess;
  completion.entry.err = error;
  if ((receiving.flags & kHasData) != 0) completion.entry.flags |= FI_REMOTE_CQ_DATA;
  if (is_last) completion.entry.flags |= FI_MULTI_RECV;
  completion.source = peers->address_of(receiving.from);
  receive_queue->push(completion);
}

void Endpoint::lost(NodeId node) {
  sends.for_each([&](std::uint32_t id, const Sending& sending) {
    if (sending.out.to.node == node) end_send(id, FI_ECONNRESET);
  });
  receives.for_each([&](std::uint32_t id, const Receiving& receiving) {
    if (!receiving.is_arriving || receiving.from.node != node) return;
    domain.expect_less(node);
    end_receive(id, FI_ECONNRESET);
  });
  remote.lost(node);
}

}  // namespace stopbit::nic::provider
