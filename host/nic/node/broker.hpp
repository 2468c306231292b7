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

/// What a user may do. The first one that fits counts.
struct Entitlement {
  std::optional<uid_t> user;   ///< Nothing: every user.
  std::optional<gid_t> group;  ///< One that the process is in; nothing: any.
  Pdid domain = 0;             ///< Of its ports: they exchange messages with this domain alone.
  std::vector<std::string> feeds;
  std::size_t ports = 8;                  ///< Of one user, at once.
  std::size_t memory_bytes = 64U << 20U;  ///< That each port may share, in up to 256 pieces.
  std::size_t windows = 32;               ///< Of each port, attachments to feeds included.
  std::uint32_t hold_us = 0;         ///< How long a mailbox of segments may hold messages up, and those behind them.
  std::uint64_t unpinned_bytes = 0;  ///< Of files that each port may share as unpinned memory.
  std::size_t resident_bytes = 0;    ///< Of these, as much as may be here at once.
};

/// Who makes copies of feeds for clients. Of the node's thread.
class FeedPublisher {
 public:
  FeedPublisher() = default;
  FeedPublisher(const FeedPublisher&) = delete;
  FeedPublisher& operator=(const FeedPublisher&) = delete;
  virtual ~FeedPublisher() = default;
  /// From now on this port of the node, of that domain, may have the feed. Returns the port to ask; nothing: it cannot.
  [[nodiscard]] virtual std::optional<Vpid> admit(Vpid client, Pdid domain, const std::string& feed) = 0;
  /// No more; of all feeds if the name is empty. What was copied for it ends.
  virtual void dismiss(Vpid client, const std::string& feed) = 0;
};

struct BrokerOptions {
  std::string socket;  ///< Path of the Unix socket. Whoever may write there may try.
  std::vector<Entitlement> entitlements;
  std::size_t clients = 64;
  FeedPublisher* publisher = nullptr;        ///< Outlives the broker. Null: feeds are attached alone.
  std::size_t resident_bytes = 256U << 20U;  ///< Of the unpinned memories of all clients, here at once.
  /// One line for each port that is opened or gone, and each feed that is attached or left.
  std::function<void(const std::string&)> log;
  /// One for each client that is turned away and each request that is refused, of each client the first 32. Strangers
  /// can make as many as they like.
  std::function<void(const std::string&)> log_refusal;
};

struct BrokerCounters {
  std::uint64_t opened = 0;       ///< Ports.
  std::uint64_t gone = 0;         ///< Ports whose client has closed its socket, or died.
  std::uint64_t turned_away = 0;  ///< Clients without entitlement, or one too many.
  std::uint64_t malformed = 0;    ///< Requests that no client of this version sends; its client is closed.
  std::array<std::uint64_t, kErrors> refused{};  ///< Requests, by code.
  std::uint64_t shared_bytes = 0;                ///< Of clients, mapped here now.
};

/// Files of clients that are memory of the node: unpinned memory.
struct PagingUse {
  std::size_t memories = 0;          ///< Now, with those whose changes are still written back.
  std::uint64_t file_bytes = 0;      ///< Of their files,
  std::uint64_t resident_bytes = 0;  ///< and how much of them may be here.
  // Of all that there ever were.
  std::uint64_t fetched = 0;  ///< Pages.
  std::uint64_t evicted = 0;
  std::uint64_t written = 0;
  std::uint64_t failures = 0;  ///< Pages that the file did not give, or did not take.
};

/// How a feed was asked for and used, by user.
struct FeedUse {
  std::uint64_t attached = 0;
  std::uint64_t subscribed = 0;  ///< Times that a copy was asked for (BrokerCall::Subscribe).
  std::uint64_t refused = 0;     ///< Of both.
  std::uint64_t now = 0;         ///< Attachments that have not ended.
  std::uint64_t gets = 0;        ///< Through the windows of all attachments. Who maps the file does not count here.
  std::uint64_t bytes = 0;
};

/// Opens the ports of a node for the processes of its host.
///
/// A client connects; the kernel says who it is (SO_PEERCRED). It gets the descriptor of pages made for it alone,
/// sealed anonymous memory: who has them mapped is who commands in them are from. Everything that costs something is
/// limited by its entitlement. A feed is memory of the node; each client that attaches one gets a window of its own,
/// with a capability of its own, that ends with the client.
///
/// The socket is the client's life: when it is closed, by whatever death, the port is closed, its windows vanish, and
/// its memory is unmapped as soon as no unit holds a translation of it. Other clients do not notice.
///
/// `step` makes system calls; it belongs to the node's thread, between its steps, as often as a client may wait.
class Broker {
 public:
  /// `node` must outlive it. A socket that nobody listens at is replaced.
  [[nodiscard]] static Result<std::unique_ptr<Broker>> open(Node& node, const BrokerOptions& options);
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  /// Offers a file, mapped whole to read: a ring's segment. Empty on success, else why not. Files that another user
  /// owns, or that everybody may write to, are refused: who makes one shorter would end the node.
  [[nodiscard]] std::string add_feed(const std::string& name, const std::string& path);
  /// The feed has another file from now on: attachments that there are keep the one before until they end.
  [[nodiscard]] std::string replace_feed(const std::string& name, const std::string& path);
  /// Other entitlements from now on. Clients whose user has none any more, or one of another domain, are closed;
  /// attachments to feeds that they may not have any more end. What they have otherwise they keep.
  void entitle(std::vector<Entitlement> entitlements);

  /// Accepts, answers, buries. Returns how much it did.
  std::size_t step();

  [[nodiscard]] std::size_t clients() const noexcept { return clients_.size(); }
  /// Memory of clients that are gone, which a unit may still hold a translation of.
  [[nodiscard]] std::size_t unflushed() const noexcept { return flushing_.size(); }
  /// Files that were replaced, and to which there are attachments.
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
  struct Segment {
    os::Descriptor file;
    os::Mapping mapping;
    std::map<Vpid, Nla> addresses;
    bool is_revoked = false;
    [[nodiscard]] std::size_t pages() const noexcept { return (mapping.bytes() + kPageBytes - 1) / kPageBytes; }
  };
  /// A window to a feed.
  struct Attachment {
    std::string feed;
    std::shared_ptr<Segment> segment;
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
  [[nodiscard]] std::string listen();
  bool accept();
  std::size_t hear(Client& client);
  void answer(Client& client, const BrokerRequest& request, os::Descriptor passed);
  void leave(const Client& client, const Attachment& attached);
  void bury(Client& client);
  /// No port has it any more.
  void revoke(Segment& segment);
  /// Gives back the memory of segments that no window is left to.
  std::size_t forget_segments();
  [[nodiscard]] const Entitlement* entitlement_of(const Client& client) const;
  [[nodiscard]] Result<std::shared_ptr<Segment>> open_segment(const std::string& path) const;
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
  std::map<std::string, std::shared_ptr<Segment>> feeds_;
  std::vector<std::shared_ptr<Segment>> replaced_;  ///< Segments that are no feed any more.
  std::map<Pdid, FeedPort> feed_ports_;
  std::vector<std::unique_ptr<Region>> flushing_;
  std::size_t to_bring_in_ = 0;  ///< Bytes of shared memory in this turn.
  BrokerCounters counters_;
  PagingUse paging_;  ///< What there is now; pages of memories that are gone.
  Uses uses_;         ///< Gets and bytes of attachments that have ended.
};

}  // namespace stopbit::nic
