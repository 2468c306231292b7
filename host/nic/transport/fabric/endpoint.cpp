#include "host/nic/transport/fabric/endpoint.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace stopbit::nic {
namespace {

constexpr std::uint32_t kApi = FI_VERSION(1, 17);
constexpr int kEventsPerPoll = 16;

Failure failed(const std::string& what, int error) {
  return Failure{what + ": " + fabric_library().strerror(error)};
}

/// HOST:PORT, [HOST]:PORT; or a name, which has no port.
struct Name {
  std::string host;
  std::string port;
};
Name parse(const FabricOptions& options, const std::string& text) {
  if (!leaves_host(options.provider)) return {text, ""};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {text, ""};
  Name name{text.substr(0, colon), text.substr(colon + 1)};
  if (name.host.size() > 1 && name.host.front() == '[' && name.host.back() == ']') {
    name.host = name.host.substr(1, name.host.size() - 2);
  }
  return name;
}

}  // namespace

template <class Object>
void FabricEndpoint::Close<Object>::operator()(Object* object) const noexcept {
  (void)fi_close(&object->fid);
}

FabricEndpoint::~FabricEndpoint() = default;

Result<FabricEndpoint::Info> FabricEndpoint::find(const FabricOptions& options, const std::string& name, bool is_own) {
  const FabricLibrary& library = fabric_library();
  const Info hints(library.dupinfo(nullptr));
  if (!hints) return Failure{"not enough memory"};
  hints->caps = FI_MSG | FI_SOURCE;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->av_type = FI_AV_TABLE;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
  hints->fabric_attr->prov_name = ::strdup(options.provider.c_str());  // freed with the hints
  const Name parsed = parse(options, name);
  fi_info* found = nullptr;
  const int error =
      library.getinfo(kApi, parsed.host.empty() ? nullptr : parsed.host.c_str(),
                      parsed.port.empty() ? nullptr : parsed.port.c_str(), is_own ? FI_SOURCE : 0, hints.get(), &found);
  if (error != 0) {
    return failed("provider '" + options.provider + "' has no endpoint for '" + name + "'", -error);
  }
  return Info(found);
}

Status FabricEndpoint::open(const FabricOptions& options, const std::string& host, std::span<std::byte> memory) {
  const bool listens = !options.listen.empty();
  Result<Info> info = find(options, listens ? options.listen : host, listens);
  if (!info) return info.failure();
  info_ = std::move(info).value();
  Status opened = make_domain(options, memory);
  if (opened) opened = enable(options);
  return opened ? learn_names(options, host) : opened;
}

Status FabricEndpoint::make_domain(const FabricOptions& options, std::span<std::byte> memory) {
  fid_fabric* fabric = nullptr;
  if (const int error = fabric_library().fabric(info_->fabric_attr, &fabric, nullptr); error != 0) {
    return failed("cannot open the fabric", -error);
  }
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int error = fi_domain(fabric, info_.get(), &domain, nullptr); error != 0) {
    return failed("cannot open the domain", -error);
  }
  domain_.reset(domain);
  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  table.count = fabric_addresses(options);
  fid_av* addresses = nullptr;
  if (const int error = fi_av_open(domain, &table, &addresses, nullptr); error != 0) {
    return failed("cannot create a table of addresses", -error);
  }
  addresses_.reset(addresses);
  const FabricSlots slots(options);
  fi_cq_attr queue{};
  queue.size = slots.total;
  queue.format = FI_CQ_FORMAT_MSG;
  queue.wait_obj = FI_WAIT_NONE;
  fid_cq* completions = nullptr;
  if (const int error = fi_cq_open(domain, &queue, &completions, nullptr); error != 0) {
    return failed("cannot create a completion queue", -error);
  }
  completions_.reset(completions);
  memory_ = memory.data();
  slot_bytes_ = slots.bytes;
  receive_slots_ = slots.receive;
  longest_ = sizeof(FabricHead) + options.frame_bytes;
  slots_.resize(slots.total);
  for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].number = static_cast<std::uint32_t>(i);
  if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0) {
    fid_mr* registered = nullptr;
    if (const int error = fi_mr_reg(domain, memory_, memory.size(), FI_SEND | FI_RECV, 0, 0, 0, &registered, nullptr);
        error != 0) {
      return failed("cannot register memory", -error);
    }
    registered_.reset(registered);
  }
  return Done{};
}

Status FabricEndpoint::enable(const FabricOptions& options) {
  fid_ep* endpoint = nullptr;
  if (const int error = fi_endpoint(domain_.get(), info_.get(), &endpoint, nullptr); error != 0) {
    const std::string what =
        "cannot " + (options.listen.empty() ? "create an endpoint" : "listen at '" + options.listen + "'");
    return failed(what, -error);
  }
  endpoint_.reset(endpoint);
  if (const int error = fi_ep_bind(endpoint, &addresses_->fid, 0); error != 0) {
    return failed("cannot bind addresses to the endpoint", -error);
  }
  if (const int error = fi_ep_bind(endpoint, &completions_->fid, FI_TRANSMIT | FI_RECV); error != 0) {
    return failed("cannot bind completions to the endpoint", -error);
  }
  if (const int error = fi_enable(endpoint); error != 0) {
    return failed("cannot listen at '" + options.listen + "'", -error);
  }
  return Done{};
}

Status FabricEndpoint::learn_names(const FabricOptions& options, const std::string& host) {
  names_.knows_sources = leaves_host(options.provider);
  // All addresses of a provider have one length, or are text with its end.
  names_.has_text_addresses = info_->addr_format == FI_ADDR_STR;
  names_.own.resize(kFabricAddressBytes);
  std::size_t length = names_.own.size();
  if (const int error = fi_getname(&endpoint_->fid, names_.own.data(), &length); error != 0) {
    return failed("cannot get the address of the endpoint", -error);
  }
  names_.own.resize(length);
  std::string text(kFabricAddressBytes + 64, '\0');
  length = text.size();
  (void)fi_av_straddr(addresses_.get(), names_.own.data(), text.data(), &length);
  text.resize(std::min(::strnlen(text.data(), text.size()), text.size()));
  const std::size_t scheme = text.find("://");
  names_.text = scheme == std::string::npos ? text : text.substr(scheme + 3);
  if (host.empty()) return Done{};
  const Result<Info> found = find(options, host, false);
  if (!found) return found.failure();
  const Info& info = found.value();
  if (info->dest_addr == nullptr || info->dest_addrlen == 0 || info->dest_addrlen > kFabricAddressBytes) {
    return Failure{"'" + host + "' has no address"};
  }
  const auto* const bytes = static_cast<const std::byte*>(info->dest_addr);
  names_.host = {bytes, bytes + info->dest_addrlen};
  return Done{};
}

FabricHandle FabricEndpoint::add(std::span<const std::byte> address) {
  fi_addr_t handle = FI_ADDR_NOTAVAIL;
  return fi_av_insert(addresses_.get(), address.data(), 1, &handle, 0, nullptr) == 1 ? handle : kNoHandle;
}

void FabricEndpoint::remove(FabricHandle handle) {
  fi_addr_t address = handle;
  (void)fi_av_remove(addresses_.get(), &address, 1, 0);
}

void* FabricEndpoint::descriptor() const noexcept {
  return registered_ ? fi_mr_desc(registered_.get()) : nullptr;
}

bool FabricEndpoint::post(std::uint32_t slot) {
  return fi_recv(endpoint_.get(), memory(slot), longest_, descriptor(), FI_ADDR_UNSPEC, &slots_[slot].context) == 0;
}

bool FabricEndpoint::submit(std::uint32_t slot, FabricHandle to, std::size_t length) {
  // Anything but 0: no room, or the connection is being made, or cannot be made.
  return fi_send(endpoint_.get(), memory(slot), length, descriptor(), to, &slots_[slot].context) == 0;
}

bool FabricEndpoint::poll(Event& event) {
  for (int i = 0; i < kEventsPerPoll; ++i) {
    fi_cq_msg_entry entry{};
    fi_addr_t source = FI_ADDR_NOTAVAIL;
    const ssize_t count = fi_cq_readfrom(completions_.get(), &entry, 1, &source);
    if (count == -FI_EAGAIN || count == 0) return false;
    if (count < 0) {
      if (take_error(event)) return true;
      continue;
    }
    event.slot = static_cast<Slot*>(entry.op_context)->number;
    event.kind = event.slot < receive_slots_ ? Event::Kind::Arrived : Event::Kind::Sent;
    event.source = source == FI_ADDR_NOTAVAIL ? kNoHandle : source;
    event.frame = {memory(event.slot), event.kind == Event::Kind::Arrived ? std::min(entry.len, longest_) : 0};
    return true;
  }
  return false;
}

/// False: of no slot.
bool FabricEndpoint::take_error(Event& event) {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(completions_.get(), &entry, 0) != 1 || entry.op_context == nullptr) return false;
  event.slot = static_cast<Slot*>(entry.op_context)->number;
  const bool is_too_long = event.slot < receive_slots_ && entry.err == FI_ETRUNC;
  event.kind = is_too_long ? Event::Kind::Oversized : Event::Kind::Broken;
  return true;
}

}  // namespace stopbit::nic
