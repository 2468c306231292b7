#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/nic/netvm/paged_memory.hpp"
#include "host/nic/node/broker_message.hpp"
#include "host/nic/node/node.hpp"
#include "host/nic/node/shared_memory.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic {

/// Rights of a user. The first matching entitlement applies.
struct Entitlement {
  std::optional<uid_t> user;   ///< Nothing: every user.
  std::optional<gid_t> group;  ///< A group of the process; nothing: any.
  Pdid domain = 0;             ///< Domain of its ports; they exchange messages within this domain only.
  std::vector<std::string> feeds;
  std::size_t ports = 8;                  ///< Of one user, at once.
  std::size_t memory_bytes = 64U << 20U;  ///< Memory each port may share, in at most 256 regions.
  std::size_t windows = 32;               ///< Of each port, attachments to feeds included.
  std::uint32_t hold_us = 0;              ///< How long a mailbox of segments may delay messages and those after them.
  std::uint64_t unpinned_bytes = 0;       ///< Of files that each port may share as unpinned memory.
  std::size_t resident_bytes = 0;         ///< Resident part of these files, at most.
};

/// Makes copies of feeds for clients. Used by the node's thread.
class FeedPublisher {
 public:
  FeedPublisher() = default;
  FeedPublisher(const FeedPublisher&) = delete;
  FeedPublisher& operator=(const FeedPublisher&) = delete;
  virtual ~FeedPublisher() = default;
  /// Admits a port of the node, of that domain, to the feed. Returns the port to which it sends its request; nothing if
  /// that is not possible.
  [[nodiscard]] virtual std::optional<Vpid> admit(Vpid client, Pdid domain, const std::string& feed) = 0;
  /// Revokes the admission, for all feeds if the name is empty. Ends its copies.
  virtual void dismiss(Vpid client, const std::string& feed) = 0;
};

struct BrokerOptions {
  std::string socket;  ///< Path of the Unix socket. Every process that can write to it may connect.
  std::vector<Entitlement> entitlements;
  std::size_t clients = 64;
  FeedPublisher* publisher = nullptr;        ///< Must outlive the broker. Null: feeds can only be attached.
  std::size_t resident_bytes = 256U << 20U;  ///< Limit of resident unpinned memory of all clients.
  /// Receives one line for each port opened or closed, and each feed attached or released.
  std::function<void(const std::string&)> log;
  /// Receives one line for each rejected client and each refused request, for each client the first 32. Unknown
  /// processes can cause any number of lines.
  std::function<void(const std::string&)> log_refusal;
};

struct BrokerCounters {
  std::uint64_t opened = 0;                      ///< Ports.
  std::uint64_t gone = 0;                        ///< Ports whose client closed its socket or died.
  std::uint64_t turned_away = 0;                 ///< Clients rejected: without entitlement, or beyond a limit.
  std::uint64_t malformed = 0;                   ///< Malformed requests; the client is disconnected.
  std::array<std::uint64_t, kErrors> refused{};  ///< Requests, by code.
  std::uint64_t shared_bytes = 0;                ///< Of clients, mapped here now.
};

/// Unpinned memory: files of clients used as memory of the node.
struct PagingUse {
  std::size_t memories = 0;          ///< At present, including those still writing back changes.
  std::uint64_t file_bytes = 0;      ///< Of their files,
  std::uint64_t resident_bytes = 0;  ///< and their resident limit.
  // Totals since the start.
  std::uint64_t fetched = 0;  ///< Pages.
  std::uint64_t evicted = 0;
  std::uint64_t written = 0;
  std::uint64_t failures = 0;  ///< Pages that could not be read or written.
};

/// Requests and use of a feed, by user.
struct FeedUse {
  std::uint64_t attached = 0;
  std::uint64_t subscribed = 0;  ///< Requests for a copy (BrokerCall::Subscribe).
  std::uint64_t refused = 0;     ///< Of both.
  std::uint64_t now = 0;         ///< Attachments that have not ended.
  std::uint64_t gets = 0;        ///< Through the windows of all attachments; mapped reads are not counted.
  std::uint64_t bytes = 0;
};

/// Opens the ports of a node for the processes of its host.
///
/// A client connects, and the kernel identifies it (SO_PEERCRED). It receives the descriptor of pages made for it,
/// sealed anonymous memory: commands in these pages come from this client. Its entitlement limits all resources. A feed
/// is memory of the node; each client that attaches one gets its own window with its own capability, which ends with
/// the client.
///
/// When the client's socket closes, however the client ended, the port is closed, its windows are removed, and its
/// memory is unmapped as soon as no unit holds a translation of it. Other clients are not affected.
///
/// `step` makes system calls. Call it on the node's thread between its steps, as often as the latency for clients
/// requires.
class Broker {
 public:
  /// `node` must outlive it. Replaces a socket at which no process listens.
  [[nodiscard]] static Result<std::unique_ptr<Broker>> open(Node& node, const BrokerOptions& options);
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  /// Offers a file, mapped read-only: a ring's segment. Returns an empty string, or the reason of the failure. Refuses
  /// files owned by another user or writable by others, because truncating one would end the node.
  [[nodiscard]] Status add_feed(const std::string& name, const std::string& path);
  /// Replaces the file of a feed. Existing attachments keep the previous file until they end.
  [[nodiscard]] Status replace_feed(const std::string& name, const std::string& path);
  /// No client may have the feed any more. Existing attachments keep their file until they end.
  void remove_feed(const std::string& name);
  /// Replaces the entitlements. Disconnects clients whose user has no entitlement or one of another domain; ends
  /// attachments to feeds that are no longer allowed. Other resources remain.
  void entitle(std::vector<Entitlement> entitlements);

  /// Accepts clients, answers requests, and cleans up after clients that have ended. Returns the amount of work done.
  std::size_t step();

  [[nodiscard]] std::size_t clients() const noexcept { return clients_.size(); }
  /// Memory of ended clients of which a unit may still hold a translation.
  [[nodiscard]] std::size_t unflushed() const noexcept { return flushing_.size(); }
  /// Replaced files that still have attachments.
  [[nodiscard]] std::size_t kept_segments() const noexcept { return replaced_.size(); }
  [[nodiscard]] const BrokerCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] PagingUse paging() const;
  using Uses = std::map<std::pair<std::string, uid_t>, FeedUse>;
  /// By feed and user. Allocates.
  [[nodiscard]] Uses uses() const;

 private:
  /// Registered memory; of a feed, or of a client.
  struct Region {
    SharedMemory memory;
    std::unique_ptr<PagedMemory> paged;  ///< A file instead of `memory`.
    Nla address = 0;
    std::size_t pages = 0;
    std::uint64_t file_bytes = 0;      ///< Of `paged`: in its client's sum,
    std::uint64_t resident_bytes = 0;  ///< and in all.
  };
  /// The file of a feed, and where the ports have it.
  struct FeedFile {
    os::Descriptor file;
    os::Mapping mapping;
    std::map<Vpid, Nla> addresses;
    bool is_revoked = false;
    [[nodiscard]] std::size_t pages() const noexcept { return (mapping.bytes() + kPageBytes - 1) / kPageBytes; }
  };
  /// A window to a feed.
  struct Attachment {
    std::string feed;
    std::shared_ptr<FeedFile> segment;
    Vpid owner = 0;
    std::uint16_t window = 0;
  };
  struct Client {
    os::Descriptor socket;
    pid_t pid = 0;
    uid_t user = 0;
    std::vector<gid_t> groups;
    const Entitlement* may = nullptr;
    std::optional<Vpid> vpid;
    SharedMemory pages;
    std::vector<std::unique_ptr<Region>> regions;
    std::size_t shared_bytes = 0;
    std::size_t unpinned = 0;  ///< Memories.
    std::uint64_t unpinned_bytes = 0;
    std::size_t resident_bytes = 0;
    std::vector<Attachment> attached;
    std::set<std::string> subscribed;  ///< Feeds that it may have copied.
    std::uint64_t refusals = 0;
    bool is_gone = false;
  };
  /// The port that owns the windows to feeds in a domain.
  struct FeedPort {
    SharedMemory pages;
    Vpid vpid = 0;
  };

  Broker(Node& node, const BrokerOptions& options);
  [[nodiscard]] Status listen();
  bool accept();
  std::size_t hear(Client& client);
  void answer(Client& client, const BrokerRequest& request, os::Descriptor passed);
  void leave(const Client& client, const Attachment& attached);
  void bury(Client& client);
  /// No port has it any more.
  void revoke(FeedFile& segment);
  /// Gives back the memory of segments that no window is left to.
  std::size_t forget_segments();
  [[nodiscard]] const Entitlement* entitlement_of(const Client& client) const;
  [[nodiscard]] Result<std::shared_ptr<FeedFile>> open_segment(const std::string& path) const;
  void log(const std::string& line) const;
  void log_refusal(const std::string& line) const;

  [[nodiscard]] BrokerReply open_port(Client& client, const BrokerRequest& request, os::Descriptor& to_pass);
  [[nodiscard]] BrokerReply share(Client& client, const BrokerRequest& request, os::Descriptor passed);
  [[nodiscard]] BrokerReply share_file(Client& client, const BrokerRequest& request, os::Descriptor passed);
  [[nodiscard]] bool is_over(Region& region);
  void count(const PagedMemory& memory, PagingUse& use) const;
  [[nodiscard]] BrokerReply unshare(Client& client, const BrokerRequest& request);
  [[nodiscard]] BrokerReply open_window(Client& client, const BrokerRequest& request);
  [[nodiscard]] BrokerReply close_window(Client& client, const BrokerRequest& request);
  [[nodiscard]] BrokerReply attach(Client& client, const BrokerRequest& request, os::Descriptor& to_pass);
  [[nodiscard]] BrokerReply subscribe(Client& client, const BrokerRequest& request);
  [[nodiscard]] bool may_have(const Client& client, const std::string& feed);
  [[nodiscard]] BrokerReply detach(Client& client, const BrokerRequest& request);
  [[nodiscard]] BrokerReply use_segments(Client& client, const BrokerRequest& request);
  [[nodiscard]] bool has_all_windows(const Client& client) const;
  [[nodiscard]] const FeedPort* feed_port(Pdid domain);
  [[nodiscard]] std::optional<Nla> register_memory(Vpid owner, const std::byte* data, std::size_t bytes, Access access);

  Node& node_;
  BrokerOptions options_;
  os::Descriptor socket_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::map<std::string, std::shared_ptr<FeedFile>> feeds_;
  std::vector<std::shared_ptr<FeedFile>> replaced_;  ///< Segments that are no feed any more.
  std::map<Pdid, FeedPort> feed_ports_;
  std::vector<std::unique_ptr<Region>> flushing_;
  std::size_t to_bring_in_ = 0;  ///< Bytes of shared memory in this turn.
  BrokerCounters counters_;
  PagingUse paging_;  ///< Current state, and pages of closed memories.
  Uses uses_;         ///< Gets and bytes of attachments that have ended.
};

}  // namespace stopbit::nic
