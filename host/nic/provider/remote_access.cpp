#include "host/nic/provider/remote_access.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>

#include "host/nic/provider/address_vector.hpp"
#include "host/nic/provider/endpoint.hpp"
#include "host/nic/provider/queues.hpp"
#include "host/nic/provider/regions.hpp"

namespace stopbit::nic::provider {
namespace {

std::uint64_t report_of(const RemoteCall& call) noexcept {
  if (call.kind == Kind::Write) return FI_RMA | FI_WRITE;
  if (call.kind == Kind::Read) return FI_RMA | FI_READ;
  return FI_ATOMIC | (call.atomic.form == AtomicForm::Write ? FI_WRITE : FI_READ);
}

template <class Body>
bool split(std::span<const std::byte>& bytes, Body& body) noexcept {
  if (bytes.size() < sizeof(body)) return false;
  std::memcpy(&body, bytes.data(), sizeof(body));
  bytes = bytes.subspan(sizeof(body));
  return true;
}
/// After the last body there is nothing.
template <class Body>
bool is_only(std::span<const std::byte> bytes, Body& body) noexcept {
  return split(bytes, body) && bytes.empty();
}
template <class Body>
std::size_t put(std::span<std::byte> at, std::size_t offset, const Body& body) noexcept {
  std::memcpy(at.data() + offset, &body, sizeof(body));
  return offset + sizeof(body);
}
std::size_t put(std::span<std::byte> at, std::size_t offset, const Pieces& pieces) noexcept {
  pieces.read(0, at.subspan(offset, pieces.bytes()));
  return offset + pieces.bytes();
}

Pieces piece_of(std::byte* at, std::size_t length) noexcept {
  const iovec piece{at, length};
  return Pieces(std::span(&piece, 1));
}

}  // namespace

RemoteAccess::RemoteAccess(Endpoint& endpoint)
    : endpoint_(endpoint),
      domain_(endpoint.domain),
      operations_(EndpointLimits::kSends),
      arrivals_(domain_.nodes() * kPerNode),
      servings_(domain_.nodes() * kPerNode),
      arriving_(domain_.nodes()),
      serving_(domain_.nodes()) {}

RemoteAccess::~RemoteAccess() {
  operations_.for_each([&](std::uint32_t, const Operation& operation) {
    domain_.expect_less(operation.out.to.node);
    if (endpoint_.send_queue != nullptr) endpoint_.send_queue->release();
  });
  arrivals_.for_each([&](std::uint32_t id, const Arrival& arrival) {
    tell_done(arrival.from, arrival.head.request, FI_ECONNREFUSED);
    release_data(arrival.head);
    end_arrival(id);
  });
  servings_.for_each([&](std::uint32_t id, const Serving& serving) {
    tell_done(serving.out.to, serving.request, FI_ECONNREFUSED);
    end_serving(id);
  });
}

// Operations of this endpoint.

ssize_t RemoteAccess::start(const RemoteCall& call) {
  if (!endpoint_.is_enabled) return -FI_EOPBADSTATE;
  const PeerName* const to = endpoint_.peers->find(call.to);
  if (to == nullptr) return -FI_EINVAL;
  if (domain_.is_dead(*to)) return -FI_EHOSTUNREACH;
  const bool reads = call.kind == Kind::Read || call.atomic.form != AtomicForm::Write;
  const std::size_t length = call.kind == Kind::Read ? call.into.bytes() : call.from.bytes();
  if (length > EndpointLimits::kMaxMessage) return -FI_EMSGSIZE;
  if ((call.is_inject || (call.options & FI_INJECT) != 0) && length > kInject) return -FI_EMSGSIZE;
  if (operations_.is_full()) {
    domain_.progress();
    if (operations_.is_full()) return -FI_EAGAIN;
  }
  // Progress may find that the peer has died.
  const std::span<std::byte> at = domain_.place(to->node);
  if (domain_.is_dead(*to)) return -FI_EHOSTUNREACH;
  if (at.empty()) return -FI_EAGAIN;
  // Also for inject: a key that the target does not know is reported.
  CompletionQueue* const queue = endpoint_.send_queue;
  if (queue != nullptr && !queue->reserve()) return -FI_EAGAIN;

  Operation operation;
  operation.out.to = *to;
  operation.out.kind = Kind::WritePiece;
  operation.into = call.into;
  operation.context = call.context;
  operation.report = report_of(call);
  operation.completes = !call.is_inject && (!endpoint_.selects_sends || (call.options & FI_COMPLETION) != 0);
  operation.reads = reads;

  const bool is_long = length > domain_.eager_bytes();
  // What goes with the packet no peer may ask for: the buffer of an inject is the program's again.
  if (is_long) operation.out.from = call.from;
  Head head;
  head.kind = call.kind == Kind::Write && is_long ? Kind::LongWrite : call.kind;
  head.flags = static_cast<std::uint8_t>(kRemote | kWantsDone | (call.has_data ? kHasData : 0));
  head.source = endpoint_.number;
  head.target = to->endpoint;
  head.source_birth = domain_.own_name(endpoint_.number).birth;
  head.target_birth = to->birth;
  head.tag = call.kind == Kind::Atomic ? packed(call.atomic) : 0;
  head.data = call.data;
  head.request = operations_.take(operation);
  std::size_t packet = put(at, put(at, 0, head), RemoteBody{call.key, call.address});
  if (head.kind == Kind::LongWrite || head.kind == Kind::Read) {
    OfferBody offer;
    offer.length = length;
    domain_.locate(head.kind == Kind::Read ? call.into : call.from, offer);
    packet = put(at, packet, offer);
  } else {
    packet = put(at, put(at, packet, call.from), call.compare);
  }
  if (!domain_.send_placed(*to, at.first(packet))) {
    operations_.give_back(head.request);
    if (queue != nullptr) queue->release();
    return -FI_EHOSTUNREACH;
  }
  domain_.expect(to->node);
  ++domain_.counters().remote_operations;
  return 0;
}

void RemoteAccess::end(std::uint32_t id, int error) {
  const Operation operation = *operations_.find(id);
  operations_.give_back(id);
  domain_.expect_less(operation.out.to.node);
  Counter* const counter = (operation.report & FI_READ) != 0 ? endpoint_.read_counter : endpoint_.write_counter;
  endpoint_.report_sent(counter, {.context = operation.context, .flags = operation.report}, operation.completes, error);
}

RemoteAccess::Operation* RemoteAccess::find(const Head& head, const PeerName& from) noexcept {
  Operation* const operation = operations_.find(head.request);
  if (operation != nullptr && operation->out.to == from) return operation;
  malformed();
  return nullptr;
}

void RemoteAccess::take_ask(const Head& head, const PeerName& from) {
  Operation* const operation = find(head, from);
  if (operation == nullptr) return;
  Outgoing& out = operation->out;
  if (operation->reads || out.is_asked || head.tag == 0 || head.tag != out.from.bytes() ||
      head.data > ~std::uint32_t{0})
    return malformed();
  out.is_asked = true;
  out.asked_by = static_cast<std::uint32_t>(head.data);
  out.asked_bytes = head.tag;
  domain_.stream(endpoint_, Kind::WritePiece, head.request);
}

void RemoteAccess::take_grant(const Head& head, const PeerName& from) {
  Operation* const operation = find(head, from);
  if (operation == nullptr) return;
  if ((operation->report & (FI_RMA | FI_READ)) != (FI_RMA | FI_READ) || operation->is_granted || operation->got != 0)
    return malformed();
  operation->is_granted = true;
  const OfferBody region{.length = operation->into.bytes(),
                         .address = head.tag,
                         .process = static_cast<std::uint32_t>(head.data >> 32U),
                         .process_space = domain_.process_space()};
  operation->is_copied = domain_.copy(operation->into, from, region, operation->into.bytes());
  Head copied;
  copied.kind = Kind::Copied;
  copied.flags = kRemote;
  copied.source = endpoint_.number;
  copied.request = static_cast<std::uint32_t>(head.data);
  copied.error = operation->is_copied ? 0 : FI_EPERM;
  domain_.answer(from, copied);
}

void RemoteAccess::take_read_piece(const Head& head, const PeerName& from, std::span<const std::byte> bytes) {
  Operation* const operation = find(head, from);
  if (operation == nullptr) return;
  const std::uint64_t whole = operation->into.bytes();
  if (!operation->reads || operation->is_copied || bytes.empty() || head.tag != operation->got ||
      bytes.size() > whole - operation->got)
    return malformed();
  operation->into.write(operation->got, bytes);
  operation->got += bytes.size();
  if (operation->got == whole) end(head.request, 0);
}

void RemoteAccess::take_result(const Head& head, const PeerName& from, std::span<const std::byte> bytes) {
  Operation* const operation = find(head, from);
  if (operation == nullptr) return;
  if (!operation->reads || operation->is_granted || operation->got != 0 || bytes.size() != operation->into.bytes())
    return malformed();
  operation->into.write(0, bytes);
  end(head.request, 0);
}

void RemoteAccess::take_done(const Head& head, const PeerName& from) {
  const Operation* const operation = find(head, from);
  if (operation == nullptr) return;
  if (head.error == 0 && operation->reads && !operation->is_copied) return malformed();
  end(head.request, head.error);
}

// What peers do here.

bool RemoteAccess::take(const Head& head, const PeerName& from, std::span<const std::byte> bytes) {
  if (is_request(head.kind)) {
    RemoteBody body;
    // Only writes bring data: for others no slot of the queue would be reserved.
    const bool has_wrong_data =
        (head.flags & kHasData) != 0 && head.kind != Kind::Write && head.kind != Kind::LongWrite;
    if ((head.flags & (kRemote | kWantsDone)) != (kRemote | kWantsDone) || has_wrong_data || !split(bytes, body)) {
      malformed();
      return true;
    }
    switch (head.kind) {
      case Kind::Write: return take_write(head, from, body, bytes);
      case Kind::LongWrite: return take_long_write(head, from, body, bytes);
      case Kind::Read: return take_read(head, from, body, bytes);
      case Kind::Atomic: return take_atomic(head, from, body, bytes);
      default: malformed(); return true;
    }
  }
  switch (head.kind) {
    case Kind::Ask: take_ask(head, from); break;
    case Kind::Done: take_done(head, from); break;
    case Kind::Result: take_result(head, from, bytes); break;
    case Kind::Grant: take_grant(head, from); break;
    case Kind::Copied: take_copied(head, from); break;
    case Kind::WritePiece: take_write_piece(head, from, bytes); break;
    case Kind::ReadPiece: take_read_piece(head, from, bytes); break;
    default: malformed();
  }
  return true;
}

bool RemoteAccess::reserve_data(const Head& head) {
  if ((head.flags & kHasData) == 0 || endpoint_.receive_queue == nullptr || endpoint_.receive_queue->reserve())
    return true;
  ++domain_.counters().held_up;
  return false;
}

void RemoteAccess::release_data(const Head& head) {
  if ((head.flags & kHasData) != 0 && endpoint_.receive_queue != nullptr) endpoint_.receive_queue->release();
}

/// All bytes of a write are there. Holds the slot for its data.
void RemoteAccess::wrote(const Head& head, const PeerName& from, Region* region, std::uint64_t length) {
  domain_.counters().bytes_stored += length;
  if (region != nullptr && region->writes != nullptr) ++region->writes->value;
  if (endpoint_.remote_write_counter != nullptr) ++endpoint_.remote_write_counter->value;
  if ((head.flags & kHasData) != 0 && endpoint_.receive_queue != nullptr) {
    Completion completion;
    completion.entry.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
    completion.entry.len = length;
    completion.entry.data = head.data;
    completion.source = endpoint_.peers->address_of(from);
    endpoint_.receive_queue->push(completion);
  }
  tell_done(from, head.request, 0);
}

void RemoteAccess::count_read(Region* region, std::uint64_t bytes) {
  domain_.counters().bytes_served += bytes;
  if (region != nullptr && region->reads != nullptr) ++region->reads->value;
  if (endpoint_.remote_read_counter != nullptr) ++endpoint_.remote_read_counter->value;
}

bool RemoteAccess::take_write(const Head& head, const PeerName& from, const RemoteBody& body,
                              std::span<const std::byte> bytes) {
  const Regions::Found found = domain_.regions().find(body.key, body.address, bytes.size(), FI_REMOTE_WRITE);
  if (found.error != 0) {
    tell_done(from, head.request, found.error);
    return true;
  }
  if (!reserve_data(head)) return false;
  std::copy(bytes.begin(), bytes.end(), found.at);
  wrote(head, from, found.region, bytes.size());
  return true;
}

bool RemoteAccess::take_long_write(const Head& head, const PeerName& from, const RemoteBody& body,
                                   std::span<const std::byte> bytes) {
  OfferBody offer;
  if (!is_only(bytes, offer) || offer.length == 0 || offer.length > EndpointLimits::kMaxMessage) {
    malformed();
    return true;
  }
  const Regions::Found found = domain_.regions().find(body.key, body.address, offer.length, FI_REMOTE_WRITE);
  if (found.error != 0) {
    tell_done(from, head.request, found.error);
    return true;
  }
  if (arriving_[from.node] == kPerNode || !reserve_data(head)) return false;
  if (domain_.copy(piece_of(found.at, offer.length), from, offer, offer.length)) {
    // A process that is alive now was alive during the copy, so its number was not another's.
    if (domain_.is_alive(from.node)) {
      wrote(head, from, found.region, offer.length);
    } else {
      release_data(head);
    }
    return true;
  }
  const Arrival arrival{
      .region = found.region, .head = head, .from = from, .into = found.at, .length = offer.length, .got = 0};
  ++arriving_[from.node];
  domain_.expect(from.node);
  Head ask;
  ask.kind = Kind::Ask;
  ask.flags = kRemote;
  ask.source = endpoint_.number;
  ask.request = head.request;
  ask.tag = offer.length;
  ask.data = arrivals_.take(arrival);
  domain_.answer(from, ask);
  return true;
}

void RemoteAccess::take_write_piece(const Head& head, const PeerName& from, std::span<const std::byte> bytes) {
  Arrival* const arrival = arrivals_.find(head.request);
  if (arrival == nullptr || arrival->from != from || bytes.empty() || head.tag != arrival->got ||
      bytes.size() > arrival->length - arrival->got)
    return malformed();
  if (arrival->region != nullptr) std::copy(bytes.begin(), bytes.end(), arrival->into + arrival->got);
  arrival->got += bytes.size();
  if (arrival->got < arrival->length) return;
  const Arrival whole = *arrival;
  end_arrival(head.request);
  if (whole.region != nullptr) return wrote(whole.head, from, whole.region, whole.length);
  release_data(whole.head);
  tell_done(from, whole.head.request, FI_EKEYREJECTED);
}

std::span<std::byte> RemoteAccess::place_of_result(const Head& head, const PeerName& from) {
  const std::span<std::byte> at = domain_.place_of_answer(from.node);
  if (at.empty()) return at;
  Head result;
  result.kind = Kind::Result;
  result.flags = kRemote;
  result.source = endpoint_.number;
  result.target = from.endpoint;
  result.source_birth = domain_.own_name(endpoint_.number).birth;
  result.target_birth = from.birth;
  result.request = head.request;
  std::memcpy(at.data(), &result, sizeof(result));
  return at;
}

bool RemoteAccess::take_read(const Head& head, const PeerName& from, const RemoteBody& body,
                             std::span<const std::byte> bytes) {
  OfferBody wanted;
  if (!is_only(bytes, wanted) || wanted.length > EndpointLimits::kMaxMessage) {
    malformed();
    return true;
  }
  const Regions::Found found = domain_.regions().find(body.key, body.address, wanted.length, FI_REMOTE_READ);
  if (found.error != 0) {
    tell_done(from, head.request, found.error);
    return true;
  }
  if (wanted.length > domain_.eager_bytes()) return serve(head, from, *found.region, found.at, wanted);
  const std::span<std::byte> at = place_of_result(head, from);
  if (at.empty()) return false;
  std::copy_n(found.at, wanted.length, at.data() + sizeof(Head));
  domain_.send_answer(from.node, at.first(sizeof(Head) + wanted.length));
  count_read(found.region, wanted.length);
  return true;
}

bool RemoteAccess::serve(const Head& head, const PeerName& from, Region& region, std::byte* at,
                         const OfferBody& wanted) {
  if (serving_[from.node] == kPerNode) return false;
  Serving serving;
  serving.region = &region;
  serving.request = head.request;
  serving.is_granted = domain_.copies_from(wanted.process_space);
  serving.out.from = piece_of(at, wanted.length);
  serving.out.to = from;
  serving.out.kind = Kind::ReadPiece;
  serving.out.is_asked = !serving.is_granted;
  serving.out.asked_by = head.request;
  serving.out.asked_bytes = wanted.length;
  ++serving_[from.node];
  domain_.expect(from.node);
  const std::uint32_t id = servings_.take(serving);
  if (!serving.is_granted) {
    domain_.stream(endpoint_, Kind::ReadPiece, id);
    return true;
  }
  Head grant;
  grant.kind = Kind::Grant;
  grant.flags = kRemote;
  grant.source = endpoint_.number;
  grant.request = head.request;
  grant.tag = reinterpret_cast<std::uint64_t>(at);
  grant.data = std::uint64_t{domain_.process()} << 32U | id;
  domain_.answer(from, grant);
  return true;
}

void RemoteAccess::take_copied(const Head& head, const PeerName& from) {
  Serving* const serving = servings_.find(head.request);
  if (serving == nullptr || serving->out.to != from || !serving->is_granted || serving->out.is_asked)
    return malformed();
  if (serving->region != nullptr && head.error != 0) {
    serving->out.is_asked = true;
    return domain_.stream(endpoint_, Kind::ReadPiece, head.request);
  }
  if (serving->region != nullptr) count_read(serving->region, serving->out.asked_bytes);
  tell_done(from, serving->request, serving->region != nullptr ? 0 : FI_EKEYREJECTED);
  end_serving(head.request);
}

bool RemoteAccess::take_atomic(const Head& head, const PeerName& from, const RemoteBody& body,
                               std::span<const std::byte> bytes) {
  const AtomicCode code = unpacked(head.tag);
  const std::size_t length = code.count * atomic_size(code.type);
  const std::size_t operand = has_operand(code) ? length : 0;
  const std::size_t compare = code.form == AtomicForm::Compare ? length : 0;
  if (!is_atomic(code.form, code.type, code.op) || length == 0 || length > domain_.atomic_bytes() ||
      bytes.size() != operand + compare) {
    malformed();
    return true;
  }
  const bool only_reads = code.op == FI_ATOMIC_READ;
  const std::uint64_t reads = code.form == AtomicForm::Write ? 0 : FI_REMOTE_READ;
  const Regions::Found found =
      domain_.regions().find(body.key, body.address, length, reads | (only_reads ? 0 : FI_REMOTE_WRITE));
  const bool is_aligned = reinterpret_cast<std::uint64_t>(found.at) % atomic_size(code.type) == 0;
  if (found.error != 0 || !is_aligned) {
    tell_done(from, head.request, found.error != 0 ? found.error : FI_EINVAL);
    return true;
  }
  std::span<std::byte> at;
  if (reads != 0) {
    at = place_of_result(head, from);
    if (at.empty()) return false;  // it is applied once: when its answer can be sent
  }
  const std::span<std::byte> result = reads != 0 ? at.subspan(sizeof(Head), length) : at;
  apply(code, found.at, bytes.first(operand), bytes.subspan(operand), result);
  ++domain_.counters().atomics_applied;
  if (reads == 0) {
    wrote(head, from, found.region, length);
    return true;
  }
  domain_.send_answer(from.node, at.first(sizeof(Head) + length));
  count_read(found.region, length);
  return true;
}

Outgoing* RemoteAccess::outgoing(Kind kind, std::uint32_t request) noexcept {
  if (kind == Kind::WritePiece) {
    Operation* const operation = operations_.find(request);
    return operation != nullptr ? &operation->out : nullptr;
  }
  Serving* const serving = servings_.find(request);
  return serving != nullptr ? &serving->out : nullptr;
}

void RemoteAccess::streamed(Kind kind, std::uint32_t request) {
  const Serving* const serving = kind == Kind::ReadPiece ? servings_.find(request) : nullptr;
  if (serving == nullptr) return;  // a writer waits for Done
  count_read(serving->region, serving->out.asked_bytes);
  end_serving(request);
}

void RemoteAccess::end_arrival(std::uint32_t id) {
  const NodeId node = arrivals_.find(id)->from.node;
  --arriving_[node];
  domain_.expect_less(node);
  arrivals_.give_back(id);
}

void RemoteAccess::end_serving(std::uint32_t id) {
  const NodeId node = servings_.find(id)->out.to.node;
  --serving_[node];
  domain_.expect_less(node);
  servings_.give_back(id);
}

void RemoteAccess::lost(NodeId node) {
  operations_.for_each([&](std::uint32_t id, const Operation& operation) {
    if (operation.out.to.node == node) end(id, FI_ECONNRESET);
  });
  arrivals_.for_each([&](std::uint32_t id, const Arrival& arrival) {
    if (arrival.from.node != node) return;
    release_data(arrival.head);
    end_arrival(id);
  });
  servings_.for_each([&](std::uint32_t id, const Serving& serving) {
    if (serving.out.to.node == node) end_serving(id);
  });
}

void RemoteAccess::closed(const Region& region) {
  arrivals_.for_each([&](std::uint32_t, Arrival& arrival) {
    if (arrival.region == &region) arrival.region = nullptr;
  });
  servings_.for_each([&](std::uint32_t id, Serving& serving) {
    if (serving.region != &region) return;
    serving.region = nullptr;
    if (!serving.out.is_asked) return;  // the reader says that it has copied, and hears that it was too late
    tell_done(serving.out.to, serving.request, FI_EKEYREJECTED);
    end_serving(id);
  });
}

void RemoteAccess::tell_done(const PeerName& to, std::uint32_t request, int error) {
  Head done;
  done.kind = Kind::Done;
  done.flags = kRemote;
  done.source = endpoint_.number;
  done.request = request;
  done.error = static_cast<std::uint16_t>(error);
  domain_.answer(to, done);
}

void RemoteAccess::malformed() {
  ++domain_.counters().malformed;
}

}  // namespace stopbit::nic::provider
