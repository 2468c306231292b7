#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/appliance/opener/request.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/ports/socket/socket_port.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::opener {

struct SocketGrant {
  ingest::SocketPortOptions options;
  ingest::Membership membership;
};

/// Files FOLDER/PREFIX000012SUFFIX, by number.
struct FileSet {
  std::string folder = {};
  std::string prefix = {};
  std::string suffix = {};
  unsigned digits = 6;    ///< At least; leading zeros.
  unsigned mode = 0640;   ///< Of a new file.
  std::string kept = {};  ///< Prefix that Keep puts before the name.
  /// Operations allowed on this set.
  bool can_append = false;
  bool can_create = false;
  bool can_keep = false;
  bool can_remove = false;

  [[nodiscard]] std::string name(std::uint64_t number) const;
  /// The number of a file's name; nothing if the name is not exactly the one of a number.
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const;
};

/// Everything that an opener opens: made from settings that were checked, before it starts.
struct Grants {
  std::vector<SocketGrant> sockets = {};
  std::vector<std::string> files = {};  ///< To read.
  std::vector<FileSet> sets = {};
  std::vector<net::Endpoint> connections = {};
};

/// Sockets, files and sets that there may be at most, so that settings which change again and again cannot fill the
/// memory.
inline constexpr std::size_t kMostGrants = 16'384;
/// Adds the sockets, files and sets of other grants; those that are there keep their indices. Nothing is taken away, as
/// what runs may go on to need it. A set in a folder of no other set is left out: the process has no right to it. Fails
/// if there are too many.
[[nodiscard]] Status add_new(Grants& grants, const Grants& more);

/// A socket in words, a line each: interface, group, source. And back.
[[nodiscard]] std::string to_text(const SocketGrant& socket);
[[nodiscard]] std::optional<SocketGrant> parse_socket(std::string_view text);
/// A set in words: its folder as the index of the first of `sets` there, so that no set can be in another one. And
/// back.
[[nodiscard]] std::string to_text(const FileSet& set, const std::vector<FileSet>& sets);
[[nodiscard]] std::optional<FileSet> parse_set(std::string_view text, const std::vector<FileSet>& sets);

/// Whether the grants cover the request.
[[nodiscard]] Status check(const Request& request, const Grants& grants);

}  // namespace stopbit::opener
