#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/nic/transport/fabric/library.hpp"
#include "host/nic/transport/fabric/membership.hpp"

namespace stopbit::nic {

/// An endpoint of libfabric with fixed pools: frames are copied in and out, and no call waits. One thread.
class FabricEndpoint final : public FabricWires {
 public:
  /// Opens it at `options.listen`; if that is empty, where `peer` can be reached from. "" or what is wrong.
  [[nodiscard]] std::string open(const FabricOptions& options, const std::string& peer, FabricCounters& counters);
  FabricEndpoint() = default;
  ~FabricEndpoint() override;

  /// The address of a name as `options.listen` is one; empty if there is none, and `problem` says why.
  [[nodiscard]] std::vector<std::byte> resolve(const std::string& name, std::string& problem) const;
  [[nodiscard]] const std::vector<std::byte>& address() const noexcept { return address_; }
  [[nodiscard]] std::string address_text() const;
  /// Whether it says whom a frame is from.
  [[nodiscard]] bool knows_sources() const noexcept { return knows_sources_; }

  [[nodiscard]] FabricHandle add(std::span<const std::byte> address) override;
  void remove(FabricHandle handle) override;
  [[nodiscard]] bool send(std::size_t share, FabricHandle to, std::span<const std::byte> frame) override {
    return send(share, to, frame, {}, 0);
  }
  /// `head` and `body`, if after that `spare` places are left in the share.
  [[nodiscard]] bool send(std::size_t share, FabricHandle to, std::span<const std::byte> head,
                          std::span<const std::byte> body, std::size_t spare);

  struct Arrived {
    FabricHandle source = kNoHandle;
    std::span<const std::byte> frame;  ///< Stays until it is given back.
    std::size_t slot = 0;
  };
  /// The next frame that has come, if there is one. Looks at no more than a few of the provider's events.
  [[nodiscard]] bool poll(Arrived& arrived);
  /// The frame has been read.
  void give_back(std::size_t slot);

 private:
  /// What the provider calls a frame by; some providers keep things of their own in it.
  struct Slot {
    fi_context2 context{};
    std::size_t number = 0;
  };
  struct Share {
    std::vector<std::uint32_t> free;
  };
  struct Known {
    std::size_t uses = 0;
    FabricHandle handle = kNoHandle;
    std::vector<std::byte> address;
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

  [[nodiscard]] Info find(const FabricOptions& options, const std::string& name, bool is_own,
                          std::string& problem) const;
  [[nodiscard]] std::string post_receives();
  void post(std::size_t slot);
  void take_error();
  [[nodiscard]] std::byte* memory_of(std::size_t slot) noexcept { return memory_.get() + slot * slot_bytes_; }

  FabricOptions options_;
  FabricCounters* counters_ = nullptr;
  Info info_;
  // Closed in the reverse order.
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  Owned<fid_av> addresses_;
  Owned<fid_cq> completions_;
  struct Free {
    void operator()(std::byte* memory) const noexcept { ::free(memory); }
  };
  std::size_t slot_bytes_ = 0;
  std::unique_ptr<std::byte, Free> memory_;  ///< Of the receive slots, then of each share's.
  Owned<fid_mr> registered_;                 ///< If the provider wants it.
  Owned<fid_ep> endpoint_;
  std::vector<Slot> slots_;
  std::vector<Share> shares_;
  std::vector<std::uint32_t> unposted_;
  std::vector<Known> known_;
  std::vector<std::byte> address_;
  bool knows_sources_ = false;
};

}  // namespace stopbit::nic
