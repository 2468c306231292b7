#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/cli/common/command.hpp"
#include "host/cli/common/pipeline.hpp"

/// `stopbit replay --to udp`: the datagrams of captures out to the network again, undecoded.
namespace stopbit::tools {

struct ResendArguments {
  std::string to;
  std::string interface;
  std::vector<std::string> renames;  ///< "OLD=NEW", groups.
  std::optional<std::uint64_t> ttl;

  [[nodiscard]] bool is_wanted() const noexcept { return !to.empty(); }
  /// Throws a usage error if an option of --to udp is given without it.
  void check_absent() const;
};

[[nodiscard]] std::vector<Option> resend_options(ResendArguments& target);

struct ResendJob {
  std::vector<net::Endpoint> groups;  ///< Only datagrams to these; empty: to any multicast group.
  double speed = 1;                   ///< 0: as fast as possible.
  bool merge = false;
  std::uint64_t limit = 0;  ///< Datagrams; 0: all.
  bool quiet = false;
};
/// Sends every multicast datagram of the captures. Returns the exit status.
[[nodiscard]] int resend(const ResendArguments& arguments, const ResendJob& job, const Sources& sources);

/// "224.0.31.1:10001=239.1.1.1:30001".
struct GroupRename {
  net::Endpoint from;
  net::Endpoint to;
};
[[nodiscard]] Result<GroupRename> parse_group_rename(std::string_view text);

}  // namespace stopbit::tools
