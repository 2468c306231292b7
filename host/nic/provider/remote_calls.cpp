#include "host/nic/provider/remote_calls.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "host/nic/provider/endpoint.hpp"

namespace stopbit::nic::provider {
namespace {

constexpr std::uint64_t kReadOptions = FI_COMPLETION | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MORE;
constexpr std::uint64_t kAtomicOptions = kReadOptions | FI_INJECT | FI_INJECT_COMPLETE;
constexpr std::uint64_t kWriteOptions = kAtomicOptions | FI_REMOTE_CQ_DATA;

std::uint64_t usual(fid_ep* ep, std::uint64_t options) {
  return Endpoint::of(ep).send_options & options;
}

ssize_t start(fid_ep* fid, const RemoteCall& call, std::uint64_t allowed) {
  if ((call.options & ~allowed) != 0) return -FI_EINVAL;
  Endpoint& endpoint = Endpoint::of(fid);
  const Domain::Guard guard(endpoint.domain);
  return endpoint.remote.start(call);
}

/// Where an operation goes, and what the program knows it by.
struct Target {
  fi_addr_t to = FI_ADDR_UNSPEC;
  std::uint64_t address = 0;
  std::uint64_t key = 0;
  void* context = nullptr;
};
RemoteCall call_of(Kind kind, const Target& target) {
  RemoteCall call;
  call.kind = kind;
  call.to = target.to;
  call.address = target.address;
  call.key = target.key;
  call.context = target.context;
  return call;
}

// FI_RMA.

ssize_t readv_with(fid_ep* ep, const iovec* pieces, std::size_t count, const Target& target, std::uint64_t options) {
  if (count > Pieces::kMax) return -FI_EINVAL;
  RemoteCall call = call_of(Kind::Read, target);
  call.into = Pieces(std::span(pieces, count));
  call.options = options;
  return start(ep, call, kReadOptions);
}

/// What a write has besides bytes and target.
struct WriteWay {
  bool has_data = false;
  std::uint64_t data = 0;
  bool is_inject = false;
};
ssize_t writev_with(fid_ep* ep, const iovec* pieces, std::size_t count, const Target& target, std::uint64_t options,
                    const WriteWay& way) {
  if (count > Pieces::kMax) return -FI_EINVAL;
  RemoteCall call = call_of(Kind::Write, target);
  call.from = Pieces(std::span(pieces, count));
  call.options = options;
  call.has_data = way.has_data;
  call.data = way.data;
  call.is_inject = way.is_inject;
  return start(ep, call, kWriteOptions);
}
ssize_t write_with(fid_ep* ep, const void* buffer, std::size_t length, const Target& target, const WriteWay& way) {
  const iovec piece{const_cast<void*>(buffer), length};
  return writev_with(ep, &piece, 1, target, usual(ep, kWriteOptions), way);
}

/// One piece of remote memory, as long as the local ones; nothing: the program says something else.
std::optional<Target> target_of(const fi_msg_rma& msg) {
  const Target none{.to = msg.addr, .context = msg.context};
  if (msg.rma_iov_count == 0 && Pieces(std::span(msg.msg_iov, std::min(msg.iov_count, Pieces::kMax))).bytes() == 0)
    return none;
  if (msg.rma_iov_count != 1 || msg.iov_count > Pieces::kMax) return std::nullopt;
  if (Pieces(std::span(msg.msg_iov, msg.iov_count)).bytes() != msg.rma_iov->len) return std::nullopt;
  return Target{.to = msg.addr, .address = msg.rma_iov->addr, .key = msg.rma_iov->key, .context = msg.context};
}

ssize_t rma_readv(fid_ep* ep, const iovec* pieces, void** /*desc*/, std::size_t count, fi_addr_t from,
                  std::uint64_t address, std::uint64_t key, void* context) {
  return readv_with(ep, pieces, count, {from, address, key, context}, usual(ep, kReadOptions));
}
ssize_t rma_read(fid_ep* ep, void* buffer, std::size_t length, void* /*desc*/, fi_addr_t from, std::uint64_t address,
                 std::uint64_t key, void* context) {
  const iovec piece{buffer, length};
  return rma_readv(ep, &piece, nullptr, 1, from, address, key, context);
}
ssize_t rma_readmsg(fid_ep* ep, const fi_msg_rma* msg, std::uint64_t options) {
  const std::optional<Target> target = target_of(*msg);
  return target ? readv_with(ep, msg->msg_iov, msg->iov_count, *target, options) : -FI_EINVAL;
}
ssize_t rma_write(fid_ep* ep, const void* buffer, std::size_t length, void* /*desc*/, fi_addr_t to,
                  std::uint64_t address, std::uint64_t key, void* context) {
  return write_with(ep, buffer, length, {to, address, key, context}, {});
}
ssize_t rma_writev(fid_ep* ep, const iovec* pieces, void** /*desc*/, std::size_t count, fi_addr_t to,
                   std::uint64_t address, std::uint64_t key, void* context) {
  return writev_with(ep, pieces, count, {to, address, key, context}, usual(ep, kWriteOptions), {});
}
ssize_t rma_writemsg(fid_ep* ep, const fi_msg_rma* msg, std::uint64_t options) {
  const std::optional<Target> target = target_of(*msg);
  if (!target) return -FI_EINVAL;
  return writev_with(ep, msg->msg_iov, msg->iov_count, *target, options,
                     {.has_data = (options & FI_REMOTE_CQ_DATA) != 0, .data = msg->data});
}
ssize_t rma_inject(fid_ep* ep, const void* buffer, std::size_t length, fi_addr_t to, std::uint64_t address,
                   std::uint64_t key) {
  return write_with(ep, buffer, length, {to, address, key}, {.is_inject = true});
}
ssize_t rma_writedata(fid_ep* ep, const void* buffer, std::size_t length, void* /*desc*/, std::uint64_t data,
                      fi_addr_t to, std::uint64_t address, std::uint64_t key, void* context) {
  return write_with(ep, buffer, length, {to, address, key, context}, {.has_data = true, .data = data});
}
ssize_t rma_injectdata(fid_ep* ep, const void* buffer, std::size_t length, std::uint64_t data, fi_addr_t to,
                       std::uint64_t address, std::uint64_t key) {
  return write_with(ep, buffer, length, {to, address, key}, {.has_data = true, .data = data, .is_inject = true});
}

// FI_ATOMIC.

using Values = std::span<const fi_ioc>;

/// How many values there are; nothing: in too many pieces.
std::optional<std::size_t> number_of(Values values) {
  if (values.size() > Pieces::kMax) return std::nullopt;
  std::size_t count = 0;
  for (const fi_ioc& piece : values) count += piece.count;
  return count;
}
Pieces pieces_of(Values values, std::size_t size) {
  std::array<iovec, Pieces::kMax> pieces{};
  for (std::size_t i = 0; i < values.size(); ++i) pieces[i] = {values[i].addr, values[i].count * size};
  return Pieces(std::span(pieces).first(values.size()));
}

struct AtomicWay {
  AtomicForm form = {};
  fi_datatype type = {};
  fi_op op = {};
  Values operands = {};
  Values compares = {};
  Values results = {};
  std::uint64_t options = 0;
  bool is_inject = false;
};

ssize_t start_atomic(fid_ep* ep, const Target& target, const AtomicWay& way) {
  if (!is_atomic(way.form, way.type, way.op)) return -FI_EOPNOTSUPP;
  const std::size_t size = atomic_size(way.type);
  const bool has_operands = way.op != FI_ATOMIC_READ;
  // A read has no operands, though programs may name some.
  const Values operands = has_operands ? way.operands : Values();
  const Values counted = has_operands ? operands : way.results;
  const std::optional<std::size_t> count = number_of(counted);
  if (!count || *count == 0 || *count > Endpoint::of(ep).domain.atomic_bytes() / size) return -FI_EINVAL;
  if (way.form != AtomicForm::Write && number_of(way.results) != count) return -FI_EINVAL;
  if (way.form == AtomicForm::Compare && number_of(way.compares) != count) return -FI_EINVAL;
  RemoteCall call = call_of(Kind::Atomic, target);
  call.atomic = {way.form, way.type, way.op, static_cast<std::uint32_t>(*count)};
  call.from = pieces_of(operands, size);
  if (way.form != AtomicForm::Write) call.into = pieces_of(way.results, size);
  if (way.form == AtomicForm::Compare) call.compare = pieces_of(way.compares, size);
  call.options = way.options;
  call.is_inject = way.is_inject;
  return start(ep, call, kAtomicOptions);
}

std::optional<Target> target_of(const fi_msg_atomic& msg) {
  if (msg.rma_iov_count != 1) return std::nullopt;
  // The read of FI_ATOMIC_READ is counted by its results.
  if (msg.op != FI_ATOMIC_READ && number_of(Values(msg.msg_iov, msg.iov_count)) != msg.rma_iov->count)
    return std::nullopt;
  return Target{.to = msg.addr, .address = msg.rma_iov->addr, .key = msg.rma_iov->key, .context = msg.context};
}
fi_ioc values_at(const void* buffer, std::size_t count) {
  return {const_cast<void*>(buffer), count};
}

ssize_t atomic_writev(fid_ep* ep, const fi_ioc* pieces, void** /*desc*/, std::size_t count, fi_addr_t to,
                      std::uint64_t address, std::uint64_t key, fi_datatype type, fi_op op, void* context) {
  return start_atomic(ep, {to, address, key, context},
                      {.form = AtomicForm::Write,
                       .type = type,
                       .op = op,
                       .operands = {pieces, count},
                       .options = usual(ep, kAtomicOptions)});
}
ssize_t atomic_write(fid_ep* ep, const void* buffer, std::size_t count, void* /*desc*/, fi_addr_t to,
                     std::uint64_t address, std::uint64_t key, fi_datatype type, fi_op op, void* context) {
  const fi_ioc operands = values_at(buffer, count);
  return atomic_writev(ep, &operands, nullptr, 1, to, address, key, type, op, context);
}
ssize_t atomic_writemsg(fid_ep* ep, const fi_msg_atomic* msg, std::uint64_t options) {
  const std::optional<Target> target = target_of(*msg);
  if (!target) return -FI_EINVAL;
  return start_atomic(ep, *target,
                      {.form = AtomicForm::Write,
                       .type = msg->datatype,
                       .op = msg->op,
                       .operands = {msg->msg_iov, msg->iov_count},
                       .options = options});
}
ssize_t atomic_inject(fid_ep* ep, const void* buffer, std::size_t count, fi_addr_t to, std::uint64_t address,
                      std::uint64_t key, fi_datatype type, fi_op op) {
  const fi_ioc operands = values_at(buffer, count);
  return start_atomic(
      ep, {to, address, key},
      {.form = AtomicForm::Write, .type = type, .op = op, .operands = {&operands, 1}, .is_inject = true});
}

ssize_t atomic_readwritev(fid_ep* ep, const fi_ioc* pieces, void** /*desc*/, std::size_t count, fi_ioc* results,
                          void** /*result_desc*/, std::size_t result_count, fi_addr_t to, std::uint64_t address,
                          std::uint64_t key, fi_datatype type, fi_op op, void* context) {
  return start_atomic(ep, {to, address, key, context},
                      {.form = AtomicForm::Fetch,
                       .type = type,
                       .op = op,
                       .operands = {pieces, count},
                       .results = {results, result_count},
                       .options = usual(ep, kAtomicOptions)});
}
ssize_t atomic_readwrite(fid_ep* ep, const void* buffer, std::size_t count, void* /*desc*/, void* result,
                         void* /*result_desc*/, fi_addr_t to, std::uint64_t address, std::uint64_t key,
                         fi_datatype type, fi_op op, void* context) {
  const fi_ioc operands = values_at(buffer, count);
  fi_ioc results = values_at(result, count);
  return atomic_readwritev(ep, &operands, nullptr, 1, &results, nullptr, 1, to, address, key, type, op, context);
}
ssize_t atomic_readwritemsg(fid_ep* ep, const fi_msg_atomic* msg, fi_ioc* results, void** /*result_desc*/,
                            std::size_t result_count, std::uint64_t options) {
  const std::optional<Target> target = target_of(*msg);
  if (!target) return -FI_EINVAL;
  return start_atomic(ep, *target,
                      {.form = AtomicForm::Fetch,
                       .type = msg->datatype,
                       .op = msg->op,
                       .operands = {msg->msg_iov, msg->iov_count},
                       .results = {results, result_count},
                       .options = options});
}

ssize_t atomic_compwritev(fid_ep* ep, const fi_ioc* pieces, void** /*desc*/, std::size_t count, const fi_ioc* compares,
                          void** /*compare_desc*/, std::size_t compare_count, fi_ioc* results, void** /*result_desc*/,
                          std::size_t result_count, fi_addr_t to, std::uint64_t address, std::uint64_t key,
                          fi_datatype type, fi_op op, void* context) {
  return start_atomic(ep, {to, address, key, context},
                      {.form = AtomicForm::Compare,
                       .type = type,
                       .op = op,
                       .operands = {pieces, count},
                       .compares = {compares, compare_count},
                       .results = {results, result_count},
                       .options = usual(ep, kAtomicOptions)});
}
ssize_t atomic_compwrite(fid_ep* ep, const void* buffer, std::size_t count, void* /*desc*/, const void* compare,
                         void* /*compare_desc*/, void* result, void* /*result_desc*/, fi_addr_t to,
                         std::uint64_t address, std::uint64_t key, fi_datatype type, fi_op op, void* context) {
  const fi_ioc operands = values_at(buffer, count);
  const fi_ioc compares = values_at(compare, count);
  fi_ioc results = values_at(result, count);
  return atomic_compwritev(ep, &operands, nullptr, 1, &compares, nullptr, 1, &results, nullptr, 1, to, address, key,
                           type, op, context);
}
ssize_t atomic_compwritemsg(fid_ep* ep, const fi_msg_atomic* msg, const fi_ioc* compares, void** /*compare_desc*/,
                            std::size_t compare_count, fi_ioc* results, void** /*result_desc*/,
                            std::size_t result_count, std::uint64_t options) {
  const std::optional<Target> target = target_of(*msg);
  if (!target) return -FI_EINVAL;
  return start_atomic(ep, *target,
                      {.form = AtomicForm::Compare,
                       .type = msg->datatype,
                       .op = msg->op,
                       .operands = {msg->msg_iov, msg->iov_count},
                       .compares = {compares, compare_count},
                       .results = {results, result_count},
                       .options = options});
}

int most_values(const Domain& domain, AtomicForm form, fi_datatype type, fi_op op, std::size_t* count) {
  if (!is_atomic(form, type, op)) return -FI_EOPNOTSUPP;
  if (count != nullptr) *count = domain.atomic_bytes() / atomic_size(type);
  return 0;
}
int write_valid(fid_ep* ep, fi_datatype type, fi_op op, std::size_t* count) {
  return most_values(Endpoint::of(ep).domain, AtomicForm::Write, type, op, count);
}
int readwrite_valid(fid_ep* ep, fi_datatype type, fi_op op, std::size_t* count) {
  return most_values(Endpoint::of(ep).domain, AtomicForm::Fetch, type, op, count);
}
int compwrite_valid(fid_ep* ep, fi_datatype type, fi_op op, std::size_t* count) {
  return most_values(Endpoint::of(ep).domain, AtomicForm::Compare, type, op, count);
}

}  // namespace

fi_ops_rma& rma_calls() noexcept {
  static fi_ops_rma calls{.size = sizeof(fi_ops_rma),
                          .read = rma_read,
                          .readv = rma_readv,
                          .readmsg = rma_readmsg,
                          .write = rma_write,
                          .writev = rma_writev,
                          .writemsg = rma_writemsg,
                          .inject = rma_inject,
                          .writedata = rma_writedata,
                          .injectdata = rma_injectdata};
  return calls;
}

fi_ops_atomic& atomic_calls() noexcept {
  static fi_ops_atomic calls{.size = sizeof(fi_ops_atomic),
                             .write = atomic_write,
                             .writev = atomic_writev,
                             .writemsg = atomic_writemsg,
                             .inject = atomic_inject,
                             .readwrite = atomic_readwrite,
                             .readwritev = atomic_readwritev,
                             .readwritemsg = atomic_readwritemsg,
                             .compwrite = atomic_compwrite,
                             .compwritev = atomic_compwritev,
                             .compwritemsg = atomic_compwritemsg,
                             .writevalid = write_valid,
                             .readwritevalid = readwrite_valid,
                             .compwritevalid = compwrite_valid};
  return calls;
}

int query_atomic(fid_domain* domain, fi_datatype type, fi_op op, fi_atomic_attr* attr, std::uint64_t flags) {
  if ((flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC)) != 0 || flags == (FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC))
    return -FI_EINVAL;
  const AtomicForm form = flags == 0                 ? AtomicForm::Write
                          : flags == FI_FETCH_ATOMIC ? AtomicForm::Fetch
                                                     : AtomicForm::Compare;
  std::size_t count = 0;
  const int result = most_values(Domain::of(domain), form, type, op, &count);
  if (result == 0 && attr != nullptr) *attr = {count, atomic_size(type)};
  return result;
}

}  // namespace stopbit::nic::provider
