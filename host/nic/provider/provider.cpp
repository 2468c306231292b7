#include "host/nic/provider/provider.hpp"

#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

#include <cstring>
#include <memory>
#include <string>

#include "host/nic/provider/carrier.hpp"
#include "host/nic/provider/endpoint.hpp"
#include "host/nic/provider/limits.hpp"
#include "host/nic/provider/not_offered.hpp"
#include "host/nic/provider/queues.hpp"

namespace stopbit::nic::provider {
namespace {

constexpr const char* kFabric = "stopbit";
constexpr const char* kMemoryDomain = "stopbit-shm";
constexpr const char* kNetworkDomain = "stopbit-udp";
constexpr std::uint32_t kAddressFormat = FI_PROV_SPECIFIC | 0x5342U;
constexpr std::uint32_t kProtocol = FI_PROV_SPECIFIC | 0x5342U;

constexpr std::uint64_t kBothCaps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
constexpr std::uint64_t kSendCaps = kBothCaps | FI_SEND | FI_READ | FI_WRITE;
constexpr std::uint64_t kReceiveCaps = kBothCaps | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_SOURCE |
                                       FI_DIRECTED_RECV | FI_RMA_EVENT | FI_MULTI_RECV;
constexpr std::uint64_t kCaps = kSendCaps | kReceiveCaps | FI_LOCAL_COMM | FI_REMOTE_CQ_DATA;
constexpr std::uint64_t kSendFlags =
    FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE;
constexpr std::uint64_t kReceiveFlags = FI_COMPLETION | FI_MULTI_RECV;
/// Among messages; and among remote access of up to eager_bytes().
constexpr std::uint64_t kOrder = FI_ORDER_SAS | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_RMA_RAW |
                                 FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW |
                                 FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW;
constexpr std::size_t kRemotePieces = 1;  ///< Of remote memory, in one operation.

/// What depends on the carrier that the user has chosen.
struct Offer {
  explicit Offer(const Parameters& parameters)
      : domain(parameters.is_remote() ? kNetworkDomain : kMemoryDomain),
        domain_caps(FI_LOCAL_COMM | (parameters.is_remote() ? FI_REMOTE_COMM : 0)),
        eager(eager_bytes(packet_bytes(parameters))) {}
  const char* domain;
  std::uint64_t domain_caps;
  std::size_t eager;
};

bool is_within(std::uint64_t wanted, std::uint64_t offered) {
  return (wanted & ~offered) == 0;
}

bool suits(const fi_tx_attr& wanted) {
  return is_within(wanted.caps, kCaps) && is_within(wanted.op_flags, kSendFlags) &&
         is_within(wanted.msg_order, kOrder) && wanted.comp_order == FI_ORDER_NONE && wanted.inject_size <= kInject &&
         wanted.size <= EndpointLimits::kSends && wanted.iov_limit <= Pieces::kMax &&
         wanted.rma_iov_limit <= kRemotePieces;
}
bool suits(const fi_rx_attr& wanted) {
  return is_within(wanted.caps, kCaps) && is_within(wanted.op_flags, kReceiveFlags) &&
         is_within(wanted.msg_order, kOrder) && wanted.comp_order == FI_ORDER_NONE &&
         wanted.size <= EndpointLimits::kReceives && wanted.iov_limit <= Pieces::kMax;
}
bool suits(const fi_ep_attr& wanted, const Offer& offer) {
  const auto has_one = [](std::size_t contexts) { return contexts <= 1; };
  return (wanted.type == FI_EP_UNSPEC || wanted.type == FI_EP_RDM) &&
         (wanted.protocol == FI_PROTO_UNSPEC || wanted.protocol == kProtocol) &&
         wanted.max_msg_size <= EndpointLimits::kMaxMessage && wanted.max_order_raw_size <= offer.eager &&
         wanted.max_order_war_size <= offer.eager && wanted.max_order_waw_size <= offer.eager &&
         has_one(wanted.tx_ctx_cnt) && has_one(wanted.rx_ctx_cnt) && wanted.auth_key_size == 0;
}
bool suits(const fi_domain_attr& wanted, const Offer& offer) {
  return (wanted.name == nullptr || std::strcmp(wanted.name, offer.domain) == 0) &&
         wanted.cq_data_size <= sizeof(std::uint64_t) && is_within(wanted.caps, FI_LOCAL_COMM | FI_REMOTE_COMM) &&
         wanted.auth_key_size == 0;
}
/// What part of the hints asks for more than the provider has; null: none does.
const char* unsuitable(const fi_info& wanted, const Offer& offer) {
  if (!is_within(wanted.caps, kCaps | FI_REMOTE_COMM)) return "caps";
  if (wanted.addr_format != FI_FORMAT_UNSPEC && wanted.addr_format != kAddressFormat) return "addr_format";
  if (wanted.tx_attr != nullptr && !suits(*wanted.tx_attr)) return "tx_attr";
  if (wanted.rx_attr != nullptr && !suits(*wanted.rx_attr)) return "rx_attr";
  if (wanted.ep_attr != nullptr && !suits(*wanted.ep_attr, offer)) return "ep_attr";
  if (wanted.domain_attr != nullptr && !suits(*wanted.domain_attr, offer)) return "domain_attr";
  const char* const fabric = wanted.fabric_attr != nullptr ? wanted.fabric_attr->name : nullptr;
  return fabric != nullptr && std::strcmp(fabric, kFabric) != 0 ? "fabric_attr" : nullptr;
}

/// How the program registers memory: no mode bits are needed, so keys and offsets are the program's. Programs that say
/// it in one word, as all did before libfabric 1.5, get that.
int registration_mode(std::uint32_t version, const fi_info* hints) {
  const int wanted = hints != nullptr && hints->domain_attr != nullptr ? hints->domain_attr->mr_mode : FI_MR_UNSPEC;
  if (wanted == FI_MR_BASIC) return FI_MR_BASIC;
  return wanted == FI_MR_SCALABLE || FI_VERSION_LT(version, FI_VERSION(1, 5)) ? FI_MR_SCALABLE : FI_MR_UNSPEC;
}

void fill(fi_info& info, std::uint32_t version, const fi_info* hints, const Offer& offer) {
  info.caps = kCaps | offer.domain_caps;
  info.mode = 0;
  info.addr_format = kAddressFormat;
  fi_tx_attr& tx = *info.tx_attr;
  tx.caps = kSendCaps;
  tx.op_flags = hints != nullptr && hints->tx_attr != nullptr ? hints->tx_attr->op_flags : 0;
  tx.msg_order = kOrder;
  tx.comp_order = FI_ORDER_NONE;
  tx.inject_size = kInject;
  tx.size = EndpointLimits::kSends;
  tx.iov_limit = Pieces::kMax;
  tx.rma_iov_limit = kRemotePieces;
  fi_rx_attr& rx = *info.rx_attr;
  rx.caps = kReceiveCaps;
  rx.op_flags = hints != nullptr && hints->rx_attr != nullptr ? hints->rx_attr->op_flags : 0;
  rx.msg_order = kOrder;
  rx.comp_order = FI_ORDER_NONE;
  rx.size = EndpointLimits::kReceives;
  rx.iov_limit = Pieces::kMax;
  fi_ep_attr& ep = *info.ep_attr;
  ep.type = FI_EP_RDM;
  ep.protocol = kProtocol;
  ep.protocol_version = Name::kVersion;
  ep.max_msg_size = EndpointLimits::kMaxMessage;
  ep.max_order_raw_size = offer.eager;
  ep.max_order_war_size = offer.eager;
  ep.max_order_waw_size = offer.eager;
  ep.mem_tag_format = ~std::uint64_t{0};
  ep.tx_ctx_cnt = 1;
  ep.rx_ctx_cnt = 1;
  fi_domain_attr& domain = *info.domain_attr;
  domain.name = ::strdup(offer.domain);
  const fi_threading wanted =
      hints != nullptr && hints->domain_attr != nullptr ? hints->domain_attr->threading : FI_THREAD_UNSPEC;
  domain.threading = wanted == FI_THREAD_UNSPEC ? FI_THREAD_SAFE : wanted;
  // Addresses and regions are made in the calls, so only data needs a thread for it.
  const bool is_auto = hints != nullptr && hints->domain_attr != nullptr &&
                       (hints->domain_attr->data_progress == FI_PROGRESS_AUTO ||
                        hints->domain_attr->control_progress == FI_PROGRESS_AUTO);
  domain.control_progress = is_auto ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
  domain.data_progress = domain.control_progress;
  domain.resource_mgmt = FI_RM_ENABLED;
  domain.av_type = hints != nullptr && hints->domain_attr != nullptr && hints->domain_attr->av_type != FI_AV_UNSPEC
                       ? hints->domain_attr->av_type
                       : FI_AV_TABLE;
  domain.cq_data_size = sizeof(std::uint64_t);
  domain.cq_cnt = 64;
  domain.ep_cnt = Domain::kEndpoints;
  domain.tx_ctx_cnt = Domain::kEndpoints;
  domain.rx_ctx_cnt = Domain::kEndpoints;
  domain.max_ep_tx_ctx = 1;
  domain.max_ep_rx_ctx = 1;
  domain.cntr_cnt = 64;
  domain.caps = offer.domain_caps;
  domain.mr_mode = registration_mode(version, hints);
  domain.mr_key_size = sizeof(std::uint64_t);
  domain.mr_iov_limit = 1;
  // The provider's name is libfabric's to set.
  info.fabric_attr->name = ::strdup(kFabric);
  info.fabric_attr->prov_version = FI_VERSION(1, 0);
}

int close_fabric(fid* fid) {
  delete reinterpret_cast<fid_fabric*>(fid);
  return 0;
}
/// The only descriptors are those of the program: nothing can be waited for in the kernel.
int trywait(fid_fabric* /*fabric*/, fid** /*fids*/, int /*count*/) {
  return -FI_ENOSYS;
}

fi_ops fabric_fid_ops{.size = sizeof(fi_ops),
                      .close = close_fabric,
                      .bind = not_offered,
                      .control = not_offered,
                      .ops_open = not_offered,
                      .tostr = not_offered,
                      .ops_set = not_offered};
fi_ops_fabric fabric_ops{.size = sizeof(fi_ops_fabric),
                         .domain = open_domain,
                         .passive_ep = not_offered,
                         .eq_open = open_event_queue,
                         .wait_open = not_offered,
                         .trywait = trywait,
                         .domain2 = not_offered};

int getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t /*flags*/, const fi_info* hints,
            fi_info** info) {
  // Endpoints have names that programs exchange; no name of a host leads to one.
  if (node != nullptr || service != nullptr) return -FI_ENODATA;
  const Offer offer(read_parameters());
  if (const char* const part = hints != nullptr ? unsuitable(*hints, offer) : nullptr; part != nullptr) {
    FI_INFO(&provider(), FI_LOG_CORE, "the hints ask for more than the provider offers, in %s\n", part);
    return -FI_ENODATA;
  }
  fi_info* const made = fi_allocinfo();
  if (made == nullptr) return -FI_ENOMEM;
  fill(*made, version, hints, offer);
  if (hints != nullptr) {
    made->handle = hints->handle;
    // Open MPI refuses providers without FI_REMOTE_COMM. It gets the flag back also for shared memory; a name from
    // another host is refused when it is inserted.
    if (hints->caps != 0) made->caps = hints->caps | offer.domain_caps;
    made->domain_attr->caps |= hints->caps & FI_REMOTE_COMM;
    if (hints->dest_addr != nullptr && hints->dest_addrlen == sizeof(Name)) {
      made->dest_addr = std::malloc(sizeof(Name));
      if (made->dest_addr != nullptr) std::memcpy(made->dest_addr, hints->dest_addr, sizeof(Name));
      made->dest_addrlen = made->dest_addr != nullptr ? sizeof(Name) : 0;
    }
  }
  *info = made;
  return 0;
}

int open_fabric(fi_fabric_attr* attr, fid_fabric** fabric, void* context) {
  if (attr != nullptr && attr->name != nullptr && std::strcmp(attr->name, kFabric) != 0) return -FI_ENODATA;
  auto made = std::make_unique<fid_fabric>();
  made->fid = {FI_CLASS_FABRIC, context, &fabric_fid_ops};
  made->ops = &fabric_ops;
  made->api_version = attr != nullptr ? attr->api_version : 0;
  *fabric = made.release();
  return 0;
}

void cleanup() {}

}  // namespace

fi_provider& provider() {
  static fi_provider instance{FI_VERSION(1, 0), FI_VERSION(1, 17), {}, "stopbit", getinfo, open_fabric, cleanup};
  return instance;
}

Parameters read_parameters() {
  Parameters parameters;
  const auto text = [](const char* name, std::string& into) {
    char* value = nullptr;
    if (fi_param_get_str(&provider(), name, &value) == 0 && value != nullptr) into = value;
  };
  const auto flag = [](const char* name, bool& into) {
    int value = 0;
    if (fi_param_get_bool(&provider(), name, &value) == 0) into = value != 0;
  };
  const auto size = [](const char* name, std::size_t& into) {
    std::size_t value = 0;
    if (fi_param_get_size_t(&provider(), name, &value) == 0) into = value;
  };
  text("network", parameters.network);
  flag("single_copy", parameters.copies_once);
  flag("progress_thread", parameters.has_thread);
  text("counters", parameters.counters);
  text("rendezvous", parameters.rendezvous);
  text("listen", parameters.listen);
  text("token_file", parameters.token_file);
  flag("encryption", parameters.is_encrypted);
  size("frame_bytes", parameters.frame_bytes);
  size("silence", parameters.silence_s);
  size("patience", parameters.patience_s);
  return parameters;
}

}  // namespace stopbit::nic::provider
