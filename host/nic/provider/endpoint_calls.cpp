#include "host/nic/provider/endpoint_calls.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "host/nic/provider/domain.hpp"
#include "host/nic/provider/endpoint.hpp"
#include "host/nic/provider/not_offered.hpp"
#include "host/nic/provider/remote_calls.hpp"

namespace stopbit::nic::provider {
namespace {

constexpr std::uint64_t kSendOptions = FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |
                                       FI_DELIVERY_COMPLETE | FI_REMOTE_CQ_DATA | FI_MORE;
constexpr std::uint64_t kReceiveOptions = FI_COMPLETION | FI_MORE;
constexpr std::uint64_t kMessageOptions = kReceiveOptions | FI_MULTI_RECV;  ///< Of receives without tags.
constexpr std::uint64_t kLookOptions = FI_PEEK | FI_CLAIM | FI_DISCARD;

/// How a message is sent, besides its bytes.
struct SendWay {
  fi_addr_t to;
  std::uint8_t flags = 0;
  std::uint64_t tag = 0;
  std::uint64_t data = 0;
  void* context = nullptr;
  bool is_inject = false;
};

ssize_t send(fid_ep* fid, std::span<const iovec> pieces, const SendWay& way, std::uint64_t options) {
  if (pieces.size() > Pieces::kMax || (options & ~kSendOptions) != 0) return -FI_EINVAL;
  Endpoint& endpoint = Endpoint::of(fid);
  const Domain::Guard guard(endpoint.domain);
  SendCall call;
  call.from = Pieces(pieces);
  call.to = way.to;
  call.flags = way.flags;
  call.tag = way.tag;
  call.data = way.data;
  call.context = way.context;
  call.is_inject = way.is_inject;
  call.options = options;
  return endpoint.send(call);
}
ssize_t send(fid_ep* fid, const void* buffer, std::size_t length, const SendWay& way) {
  const iovec piece{const_cast<void*>(buffer), length};
  return send(fid, {&piece, 1}, way, Endpoint::of(fid).send_options & kSendOptions);
}

struct ReceiveWay {
  fi_addr_t from;
  bool is_tagged = false;
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;
  void* context = nullptr;
};

ssize_t receive(fid_ep* fid, std::span<const iovec> pieces, const ReceiveWay& way, std::uint64_t options) {
  if (pieces.size() > Pieces::kMax ||
      (options & ~(way.is_tagged ? kReceiveOptions | kLookOptions : kMessageOptions)) != 0)
    return -FI_EINVAL;
  const bool is_multi = (options & FI_MULTI_RECV) != 0;
  if (is_multi && (pieces.size() != 1 || pieces[0].iov_len == 0)) return -FI_EINVAL;
  if ((options & kLookOptions) == FI_DISCARD) return -FI_EINVAL;
  Endpoint& endpoint = Endpoint::of(fid);
  const Domain::Guard guard(endpoint.domain);
  ReceiveCall call;
  call.into = Pieces(pieces);
  call.from = way.from;
  call.is_tagged = way.is_tagged;
  call.tag = way.tag;
  call.ignore = way.ignore;
  call.context = way.context;
  call.options = options;
  return endpoint.receive(call);
}
ssize_t receive(fid_ep* fid, void* buffer, std::size_t length, const ReceiveWay& way) {
  const iovec piece{buffer, length};
  const std::uint64_t options = Endpoint::of(fid).receive_options & (way.is_tagged ? kReceiveOptions : kMessageOptions);
  return receive(fid, {&piece, 1}, way, options);
}

std::span<const iovec> span_of(const iovec* pieces, std::size_t count) {
  return {pieces, count};
}
std::uint8_t data_flag(std::uint64_t options) {
  return (options & FI_REMOTE_CQ_DATA) != 0 ? kHasData : std::uint8_t{0};
}

// FI_MSG.

ssize_t msg_recv(fid_ep* ep, void* buffer, std::size_t length, void* /*desc*/, fi_addr_t from, void* context) {
  return receive(ep, buffer, length, {.from = from, .context = context});
}
ssize_t msg_recvv(fid_ep* ep, const iovec* pieces, void** /*desc*/, std::size_t count, fi_addr_t from, void* context) {
  return receive(ep, span_of(pieces, count), {.from = from, .context = context},
                 Endpoint::of(ep).receive_options & kMessageOptions);
}
ssize_t msg_recvmsg(fid_ep* ep, const fi_msg* msg, std::uint64_t options) {
  return receive(ep, span_of(msg->msg_iov, msg->iov_count), {.from = msg->addr, .context = msg->context}, options);
}
ssize_t msg_send(fid_ep* ep, const void* buffer, std::size_t length, void* /*desc*/, fi_addr_t to, void* context) {
  return send(ep, buffer, length, {.to = to, .context = context});
}
ssize_t msg_sendv(fid_ep* ep, const iovec* pieces, void** /*desc*/, std::size_t count, fi_addr_t to, void* context) {
  return send(ep, span_of(pieces, count), {.to = to, .context = context}, Endpoint::of(ep).send_options & kSendOptions);
}
ssize_t msg_sendmsg(fid_ep* ep, const fi_msg* msg, std::uint64_t options) {
  return send(ep, span_of(msg->msg_iov, msg->iov_count),
              {.to = msg->addr, .flags = data_flag(options), .data = msg->data, .context = msg->context}, options);
}
ssize_t msg_inject(fid_ep* ep, const void* buffer, std::size_t length, fi_addr_t to) {
  return send(ep, buffer, length, {.to = to, .is_inject = true});
}
ssize_t msg_senddata(fid_ep* ep, const void* buffer, std::size_t length, void* /*desc*/, std::uint64_t data,
                     fi_addr_t to, void* context) {
  return send(ep, buffer, length, {.to = to, .flags = kHasData, .data = data, .context = context});
}
ssize_t msg_injectdata(fid_ep* ep, const void* buffer, std::size_t length, std::uint64_t data, fi_addr_t to) {
  return send(ep, buffer, length, {.to = to, .flags = kHasData, .data = data, .is_inject = true});
}

// FI_TAGGED.

ssize_t tagged_recv(fid_ep* ep, void* buffer, std::size_t length, void* /*desc*/, fi_addr_t from, std::uint64_t tag,
                    std::uint64_t ignore, void* context) {
  return receive(ep, buffer, length,
                 {.from = from, .is_tagged = true, .tag = tag, .ignore = ignore, .context = context});
}
ssize_t tagged_recvv(fid_ep* ep, const iovec* pieces, void** /*desc*/, std::size_t count, fi_addr_t from,
                     std::uint64_t tag, std::uint64_t ignore, void* context) {
  return receive(ep, span_of(pieces, count),
                 {.from = from, .is_tagged = true, .tag = tag, .ignore = ignore, .context = context},
                 Endpoint::of(ep).receive_options & kReceiveOptions);
}
ssize_t tagged_recvmsg(fid_ep* ep, const fi_msg_tagged* msg, std::uint64_t options) {
  return receive(
      ep, span_of(msg->msg_iov, msg->iov_count),
      {.from = msg->addr, .is_tagged = true, .tag = msg->tag, .ignore = msg->ignore, .context = msg->context}, options);
}
ssize_t tagged_send(fid_ep* ep, const void* buffer, std::size_t length, void* /*desc*/, fi_addr_t to, std::uint64_t tag,
                    void* context) {
  return send(ep, buffer, length, {.to = to, .flags = kTagged, .tag = tag, .context = context});
}
ssize_t tagged_sendv(fid_ep* ep, const iovec* pieces, void** /*desc*/, std::size_t count, fi_addr_t to,
                     std::uint64_t tag, void* context) {
  return send(ep, span_of(pieces, count), {.to = to, .flags = kTagged, .tag = tag, .context = context},
              Endpoint::of(ep).send_options & kSendOptions);
}
ssize_t tagged_sendmsg(fid_ep* ep, const fi_msg_tagged* msg, std::uint64_t options) {
  const auto flags = static_cast<std::uint8_t>(kTagged | data_flag(options));
  return send(ep, span_of(msg->msg_iov, msg->iov_count),
              {.to = msg->addr, .flags = flags, .tag = msg->tag, .data = msg->data, .context = msg->context}, options);
}
ssize_t tagged_inject(fid_ep* ep, const void* buffer, std::size_t length, fi_addr_t to, std::uint64_t tag) {
  return send(ep, buffer, length, {.to = to, .flags = kTagged, .tag = tag, .is_inject = true});
}
ssize_t tagged_senddata(fid_ep* ep, const void* buffer, std::size_t length, void* /*desc*/, std::uint64_t data,
                        fi_addr_t to, std::uint64_t tag, void* context) {
  return send(ep, buffer, length,
              {.to = to, .flags = kTagged | kHasData, .tag = tag, .data = data, .context = context});
}
ssize_t tagged_injectdata(fid_ep* ep, const void* buffer, std::size_t length, std::uint64_t data, fi_addr_t to,
                          std::uint64_t tag) {
  return send(ep, buffer, length, {.to = to, .flags = kTagged | kHasData, .tag = tag, .data = data, .is_inject = true});
}

// The endpoint itself.

Endpoint& endpoint_of(fid* fid) {
  return Endpoint::of(reinterpret_cast<fid_ep*>(fid));
}

ssize_t cancel(fid* fid, void* context) {
  Endpoint& endpoint = endpoint_of(fid);
  const Domain::Guard guard(endpoint.domain);
  return endpoint.cancel(context);
}
int getopt(fid* fid, int level, int option, void* value, std::size_t* length) {
  if (level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
  if (*length < sizeof(std::size_t)) return -FI_ETOOSMALL;
  Endpoint& endpoint = endpoint_of(fid);
  const Domain::Guard guard(endpoint.domain);
  std::memcpy(value, &endpoint.min_multi_receive, sizeof(std::size_t));
  *length = sizeof(std::size_t);
  return 0;
}
/// Of buffers that are posted, it holds from the next message on.
int setopt(fid* fid, int level, int option, const void* value, std::size_t length) {
  if (level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
  if (length != sizeof(std::size_t)) return -FI_EINVAL;
  Endpoint& endpoint = endpoint_of(fid);
  const Domain::Guard guard(endpoint.domain);
  std::memcpy(&endpoint.min_multi_receive, value, sizeof(std::size_t));
  return 0;
}

int getname(fid* fid, void* into, std::size_t* length) {
  Endpoint& endpoint = endpoint_of(fid);
  const Name name = endpoint.domain.own_full_name(endpoint.number);
  const bool fits = *length >= sizeof(name);
  if (into != nullptr) std::memcpy(into, &name, std::min(*length, sizeof(name)));
  *length = sizeof(name);
  return fits ? 0 : -FI_ETOOSMALL;
}

int close(fid* fid) {
  Endpoint& endpoint = endpoint_of(fid);
  Domain& domain = endpoint.domain;
  {
    const Domain::Guard guard(domain);
    domain.remove(endpoint);
    domain.release();
    delete &endpoint;
  }
  return 0;
}
int bind(fid* fid, struct fid* to, std::uint64_t flags) {
  Endpoint& endpoint = endpoint_of(fid);
  const Domain::Guard guard(endpoint.domain);
  return endpoint.bind(to, flags);
}
int control(fid* fid, int command, void* /*argument*/) {
  if (command != FI_ENABLE) return -FI_ENOSYS;
  Endpoint& endpoint = endpoint_of(fid);
  const Domain::Guard guard(endpoint.domain);
  return endpoint.enable();
}

fi_ops fid_ops{.size = sizeof(fi_ops),
               .close = close,
               .bind = bind,
               .control = control,
               .ops_open = not_offered,
               .tostr = not_offered,
               .ops_set = not_offered};
fi_ops_ep ep_ops{.size = sizeof(fi_ops_ep),
                 .cancel = cancel,
                 .getopt = getopt,
                 .setopt = setopt,
                 .tx_ctx = not_offered,
                 .rx_ctx = not_offered,
                 .rx_size_left = not_offered,
                 .tx_size_left = not_offered};
fi_ops_cm cm_ops{.size = sizeof(fi_ops_cm),
                 .setname = not_offered,
                 .getname = getname,
                 .getpeer = not_offered,
                 .connect = not_offered,
                 .listen = not_offered,
                 .accept = not_offered,
                 .reject = not_offered,
                 .shutdown = not_offered,
                 .join = not_offered};
fi_ops_msg msg_ops{.size = sizeof(fi_ops_msg),
                   .recv = msg_recv,
                   .recvv = msg_recvv,
                   .recvmsg = msg_recvmsg,
                   .send = msg_send,
                   .sendv = msg_sendv,
                   .sendmsg = msg_sendmsg,
                   .inject = msg_inject,
                   .senddata = msg_senddata,
                   .injectdata = msg_injectdata};
fi_ops_tagged tagged_ops{.size = sizeof(fi_ops_tagged),
                         .recv = tagged_recv,
                         .recvv = tagged_recvv,
                         .recvmsg = tagged_recvmsg,
                         .send = tagged_send,
                         .sendv = tagged_sendv,
                         .sendmsg = tagged_sendmsg,
                         .inject = tagged_inject,
                         .senddata = tagged_senddata,
                         .injectdata = tagged_injectdata};
}  // namespace

fid_ep endpoint_fid(void* context) {
  return {{FI_CLASS_EP, context, &fid_ops},
          &ep_ops,
          &cm_ops,
          &msg_ops,
          &rma_calls(),
          &tagged_ops,
          &atomic_calls(),
          nullptr};
}

int open_endpoint(fid_domain* fid, fi_info* info, fid_ep** ep, void* context) {
  if (info == nullptr) return -FI_EINVAL;
  if (info->ep_attr != nullptr && info->ep_attr->type != FI_EP_RDM && info->ep_attr->type != FI_EP_UNSPEC)
    return -FI_EINVAL;
  Domain& domain = Domain::of(fid);
  const Domain::Guard guard(domain);
  try {
    auto endpoint = std::make_unique<Endpoint>(domain, *info, context);
    if (!domain.add(*endpoint)) return -FI_ENOSPC;
    domain.retain();
    *ep = endpoint.release();
    return 0;
  } catch (const std::bad_alloc&) {
    return -FI_ENOMEM;
  }
}

}  // namespace stopbit::nic::provider
