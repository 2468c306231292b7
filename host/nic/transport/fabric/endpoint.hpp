#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/nic/transport/fabric/device.hpp"
#include "host/nic/transport/fabric/library.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic {

/// An endpoint of libfabric, in this process. libfabric trusts its peers: a connected peer can end the process.
class FabricEndpoint final : public FabricDevice {
 public:
  /// Opens it at `options.listen`; if that is empty, where `host`, the name of node 0, can be reached from. `memory` is
  /// that of the slots, and must outlive it.
  [[nodiscard]] Status open(const FabricOptions& options, const std::string& host, std::span<std::byte> memory);
  FabricEndpoint() = default;
  ~FabricEndpoint() override;

  [[nodiscard]] const FabricNames& names() const noexcept override { return names_; }
  [[nodiscard]] std::byte* memory(std::uint32_t slot) noexcept override { return memory_ + slot * slot_bytes_; }
  [[nodiscard]] FabricHandle add(std::span<const std::byte> address) override;
  void remove(FabricHandle handle) override;
  [[nodiscard]] bool post(std::uint32_t slot) override;
  [[nodiscard]] bool submit(std::uint32_t slot, FabricHandle to, std::size_t length) override;
  [[nodiscard]] bool poll(Event& event) override;
  [[nodiscard]] const FabricDeaths& deaths() const noexcept override { return deaths_; }

 private:
  /// What the provider calls a frame by; some providers keep things of their own in it.
  struct Slot {
    fi_context2 context{};
    std::uint32_t number = 0;
  };
  template <class Object>
  struct Close {
    void operator()(Object* object) const noexcept;
  };
  template <class Object>
  using Owned = std::unique_ptr<Object, Close<Object>>;
  struct FreeInfo {
    void operator()(fi_info* info) const noexcept { fabric_library().freeinfo(info); }
  };
  using Info = std::unique_ptr<fi_info, FreeInfo>;

  [[nodiscard]] static Result<Info> find(const FabricOptions& options, const std::string& name, bool is_own);
  [[nodiscard]] Status make_domain(const FabricOptions& options, std::span<std::byte> memory);
  [[nodiscard]] Status enable(const FabricOptions& options);
  [[nodiscard]] Status learn_names(const FabricOptions& options, const std::string& host);
  [[nodiscard]] bool take_error(Event& event);
  [[nodiscard]] void* descriptor() const noexcept;

  std::size_t receive_slots_ = 0;
  std::size_t longest_ = 0;
  Info info_;
  // Closed in the reverse order.
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  Owned<fid_av> addresses_;
  Owned<fid_cq> completions_;
  std::size_t slot_bytes_ = 0;
  std::byte* memory_ = nullptr;
  Owned<fid_mr> registered_;  ///< If the provider wants it.
  Owned<fid_ep> endpoint_;
  std::vector<Slot> slots_;
  FabricNames names_;
  FabricDeaths deaths_;  ///< None: it is in this process.
};

}  // namespace stopbit::nic
