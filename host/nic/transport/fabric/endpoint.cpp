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
constexpr std::size_t kRefusals = 8;  // addresses that are known besides those of members

std::string said(const char* what, int error) {
  return std::string(what) + ": " + fabric_library().strerror(error);
}

/// HOST:PORT, [HOST]:PORT; or a name, which has no port.
struct Name {
  std::string host;
  std::string port;
};
Name parse(const FabricOptions& options, const std::string& text) {
  if (options.provider.starts_with("shm")) return {text, ""};
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

FabricEndpoint::Info FabricEndpoint::find(const FabricOptions& options, const std::string& name, bool is_own,
                                          std::string& problem) const {
  const FabricLibrary& library = fabric_library();
  const Info hints(library.dupinfo(nullptr));
  if (!hints) {
    problem = "no memory";
    return nullptr;
  }
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
    problem = said(("provider '" + options.provider + "' has no endpoint for '" + name + "'").c_str(), -error);
    return nullptr;
  }
  return Info(found);
}

std::string FabricEndpoint::open(const FabricOptions& options, const std::string& peer, FabricCounters& counters) {
  options_ = options;
  counters_ = &counters;
  std::string problem;
  info_ = options.listen.empty() ? find(options, peer, false, problem) : find(options, options.listen, true, problem);
  if (!info_) return problem;
  knows_sources_ = !options.provider.starts_with("shm");

  fid_fabric* fabric = nullptr;
  if (const int error = fabric_library().fabric(info_->fabric_attr, &fabric, nullptr); error != 0) {
    return said("cannot open the fabric", -error);
  }
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int error = fi_domain(fabric, info_.get(), &domain, nullptr); error != 0) {
    return said("cannot open the domain", -error);
  }
  domain_.reset(domain);
  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  table.count = options.nodes + kRefusals;
  fid_av* addresses = nullptr;
  if (const int error = fi_av_open(domain, &table, &addresses, nullptr); error != 0) {
    return said("cannot make a table of addresses", -error);
  }
  addresses_.reset(addresses);

  const std::size_t shares = options.nodes + 1;
  const std::size_t slots = options.rx_slots + shares * options.tx_slots;
  fi_cq_attr queue{};
  queue.size = slots;
  queue.format = FI_CQ_FORMAT_MSG;
  queue.wait_obj = FI_WAIT_NONE;
  fid_cq* completions = nullptr;
  if (const int error = fi_cq_open(domain, &queue, &completions, nullptr); error != 0) {
    return said("cannot make a completion queue", -error);
  }
  completions_.reset(completions);

  // Pages that are never used cost nothing.
  slot_bytes_ = (sizeof(FabricHead) + options.frame_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  const std::size_t bytes = (slots * slot_bytes_ + kPageBytes - 1) / kPageBytes * kPageBytes;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes)));
  if (!memory_) return "no memory for " + std::to_string(slots) + " frames";
  slots_.resize(slots);
  for (std::size_t i = 0; i < slots; ++i) slots_[i].number = i;
  shares_.resize(shares);
  for (std::size_t share = 0; share < shares; ++share) {
    for (std::size_t i = 0; i < options.tx_slots; ++i) {
      shares_[share].free.push_back(static_cast<std::uint32_t>(options.rx_slots + share * options.tx_slots + i));
    }
  }
  unposted_.reserve(options.rx_slots);
  known_.resize(options.nodes + kRefusals);
  if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0) {
    fid_mr* registered = nullptr;
    if (const int error = fi_mr_reg(domain, memory_.get(), bytes, FI_SEND | FI_RECV, 0, 0, 0, &registered, nullptr);
        error != 0) {
      return said("cannot register memory", -error);
    }
    registered_.reset(registered);
  }

  fid_ep* endpoint = nullptr;
  if (const int error = fi_endpoint(domain, info_.get(), &endpoint, nullptr); error != 0) {
    const std::string what =
        "cannot " + (options.listen.empty() ? "make an endpoint" : "listen at '" + options.listen + "'");
    return said(what.c_str(), -error);
  }
  endpoint_.reset(endpoint);
  if (const int error = fi_ep_bind(endpoint, &addresses->fid, 0); error != 0) {
    return said("cannot bind addresses to the endpoint", -error);
  }
  if (const int error = fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV); error != 0) {
    return said("cannot bind completions to the endpoint", -error);
  }
  if (const int error = fi_enable(endpoint); error != 0) {
    return said(("cannot listen at '" + options.listen + "'").c_str(), -error);
  }
  address_.resize(kFabricAddressBytes);
  std::size_t length = address_.size();
  if (const int error = fi_getname(&endpoint->fid, address_.data(), &length); error != 0) {
    return said("cannot learn the address of the endpoint", -error);
  }
  address_.resize(length);
  return post_receives();
}

std::string FabricEndpoint::post_receives() {
  for (std::size_t slot = 0; slot < options_.rx_slots; ++slot) post(slot);
  // One that does not take them all at once takes the others as they come back.
  return unposted_.size() == options_.rx_slots ? "the endpoint takes no receives" : "";
}

void FabricEndpoint::post(std::size_t slot) {
  void* const descriptor = registered_ ? fi_mr_desc(registered_.get()) : nullptr;
  const ssize_t error = fi_recv(endpoint_.get(), memory_of(slot), sizeof(FabricHead) + options_.frame_bytes, descriptor,
                                FI_ADDR_UNSPEC, &slots_[slot].context);
  if (error != 0) unposted_.push_back(static_cast<std::uint32_t>(slot));
}

void FabricEndpoint::give_back(std::size_t slot) {
  post(slot);
}

std::vector<std::byte> FabricEndpoint::resolve(const std::string& name, std::string& problem) const {
  const Info info = find(options_, name, false, problem);
  if (!info) return {};
  if (info->dest_addr == nullptr || info->dest_addrlen == 0 || info->dest_addrlen > kFabricAddressBytes) {
    problem = "'" + name + "' has no address";
    return {};
  }
  const auto* const bytes = static_cast<const std::byte*>(info->dest_addr);
  return {bytes, bytes + info->dest_addrlen};
}

std::string FabricEndpoint::address_text() const {
  std::string text(kFabricAddressBytes + 64, '\0');
  std::size_t length = text.size();
  (void)fi_av_straddr(addresses_.get(), address_.data(), text.data(), &length);
  text.resize(std::min(::strnlen(text.data(), text.size()), text.size()));
  const std::size_t scheme = text.find("://");
  return scheme == std::string::npos ? text : text.substr(scheme + 3);
}

FabricHandle FabricEndpoint::add(std::span<const std::byte> address) {
  const auto same = std::find_if(known_.begin(), known_.end(),
                                 [&](const Known& k) { return k.uses != 0 && std::ranges::equal(k.address, address); });
  if (same != known_.end()) {
    ++same->uses;
    return same->handle;
  }
  const auto free = std::find_if(known_.begin(), known_.end(), [](const Known& k) { return k.uses == 0; });
  // All addresses of a provider have one length, or are text with its end; it looks no further than that.
  const bool is_text = info_->addr_format == FI_ADDR_STR;
  const bool fits = is_text ? !address.empty() && address.back() == std::byte{0} : address.size() == address_.size();
  if (free == known_.end() || !fits) return kNoHandle;
  fi_addr_t handle = FI_ADDR_NOTAVAIL;
  if (fi_av_insert(addresses_.get(), address.data(), 1, &handle, 0, nullptr) != 1) return kNoHandle;
  free->uses = 1;
  free->handle = handle;
  free->address.assign(address.begin(), address.end());
  return handle;
}

void FabricEndpoint::remove(FabricHandle handle) {
  const auto known =
      std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.uses != 0 && k.handle == handle; });
  if (known == known_.end() || --known->uses != 0) return;
  fi_addr_t address = handle;
  (void)fi_av_remove(addresses_.get(), &address, 1, 0);
}

bool FabricEndpoint::send(std::size_t share, FabricHandle to, std::span<const std::byte> head,
                          std::span<const std::byte> body, std::size_t spare) {
  std::vector<std::uint32_t>& free = shares_[share].free;
  if (free.size() <= spare || to == kNoHandle) return false;
  const std::size_t slot = free.back();
  std::byte* const memory = memory_of(slot);
  std::memcpy(memory, head.data(), head.size());
  if (!body.empty()) std::memcpy(memory + head.size(), body.data(), body.size());
  void* const descriptor = registered_ ? fi_mr_desc(registered_.get()) : nullptr;
  // Anything but 0: no room, or the connection is being made, or cannot be made.
  if (fi_send(endpoint_.get(), memory, head.size() + body.size(), descriptor, to, &slots_[slot].context) != 0) {
    return false;
  }
  free.pop_back();
  return true;
}

bool FabricEndpoint::poll(Arrived& arrived) {
  while (!unposted_.empty()) {
    const std::uint32_t slot = unposted_.back();
    unposted_.pop_back();
    post(slot);
    if (!unposted_.empty() && unposted_.back() == slot) break;
  }
  for (int i = 0; i < kEventsPerPoll; ++i) {
    fi_cq_msg_entry entry{};
    fi_addr_t source = FI_ADDR_NOTAVAIL;
    const ssize_t count = fi_cq_readfrom(completions_.get(), &entry, 1, &source);
    if (count == -FI_EAGAIN || count == 0) return false;
    if (count < 0) {
      take_error();
      continue;
    }
    const std::size_t slot = static_cast<Slot*>(entry.op_context)->number;
    if (slot >= options_.rx_slots) {
      shares_[(slot - options_.rx_slots) / options_.tx_slots].free.push_back(static_cast<std::uint32_t>(slot));
      continue;
    }
    arrived.source = source == FI_ADDR_NOTAVAIL ? kNoHandle : source;
    arrived.slot = slot;
    arrived.frame = {memory_of(slot), std::min(entry.len, sizeof(FabricHead) + options_.frame_bytes)};
    return true;
  }
  return false;
}

void FabricEndpoint::take_error() {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(completions_.get(), &entry, 0) != 1 || entry.op_context == nullptr) return;
  const std::size_t slot = static_cast<Slot*>(entry.op_context)->number;
  if (slot >= options_.rx_slots) {
    ++counters_->broken;
    shares_[(slot - options_.rx_slots) / options_.tx_slots].free.push_back(static_cast<std::uint32_t>(slot));
    return;
  }
  ++(entry.err == FI_ETRUNC ? counters_->oversized : counters_->broken);
  post(slot);
}

}  // namespace stopbit::nic
