#include "host/appliance/opener/grants.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace stopbit::opener {

std::string FileSet::name(std::uint64_t number) const {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return prefix + text + suffix;
}

std::optional<std::uint64_t> FileSet::number(std::string_view name) const {
  if (name.size() <= prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix)) {
    return std::nullopt;
  }
  const std::string_view digits_of = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  std::uint64_t number = 0;
  const char* const end = digits_of.data() + digits_of.size();
  const auto [rest, error] = std::from_chars(digits_of.data(), end, number);
  if (error != std::errc() || rest != end || this->name(number) != name) return std::nullopt;
  return number;
}

namespace {

bool is_same(const SocketGrant& left, const SocketGrant& right) {
  return left.options.interface == right.options.interface && left.membership == right.membership;
}

bool is_same(const FileSet& left, const FileSet& right) {
  return left.folder == right.folder && left.prefix == right.prefix && left.suffix == right.suffix;
}

std::vector<FileSet>::const_iterator first_in(const std::string& folder, const std::vector<FileSet>& sets) {
  return std::find_if(sets.begin(), sets.end(), [&](const FileSet& set) { return set.folder == folder; });
}

/// The words of a text, one after the other.
struct Words {
  std::string_view text;
  bool is_good = true;

  std::string_view take(char end) {
    const std::string_view part = text.substr(0, text.find(end));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    return part;
  }
  template <class Number>
  void number(std::string_view part, Number& to) {
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), to);
    is_good = is_good && error == std::errc() && rest == part.data() + part.size();
  }
};

/// Operations allowed on a set, a bit each.
constexpr unsigned kCanAppend = 1, kCanCreate = 2, kCanKeep = 4, kCanRemove = 8;
constexpr unsigned kAllRights = kCanAppend | kCanCreate | kCanKeep | kCanRemove;

}  // namespace

Status add_new(Grants& grants, const Grants& more) {
  Grants all = grants;
  for (const SocketGrant& socket : more.sockets) {
    const auto known = [&](const SocketGrant& other) { return is_same(socket, other); };
    if (std::none_of(all.sockets.begin(), all.sockets.end(), known)) all.sockets.push_back(socket);
  }
  for (const std::string& file : more.files) {
    if (std::find(all.files.begin(), all.files.end(), file) == all.files.end()) all.files.push_back(file);
  }
  for (const FileSet& set : more.sets) {
    const auto known = [&](const FileSet& other) { return is_same(set, other); };
    const bool is_new = std::none_of(all.sets.begin(), all.sets.end(), known);
    if (is_new && first_in(set.folder, grants.sets) != grants.sets.end()) all.sets.push_back(set);
  }
  if (all.sockets.size() + all.files.size() + all.sets.size() > kMostGrants) {
    return Failure{"the settings have named more than " + std::to_string(kMostGrants) +
                   " groups, files and recorded lines since the start"};
  }
  grants = std::move(all);
  return Done{};
}

std::string to_text(const SocketGrant& socket) {
  const ingest::Membership& membership = socket.membership;
  return socket.options.interface + "\n" + std::to_string(membership.group.address) + " " +
         std::to_string(membership.group.port) + "\n" +
         (membership.source ? std::to_string(*membership.source) : std::string());
}

std::optional<SocketGrant> parse_socket(std::string_view text) {
  Words words{text};
  SocketGrant socket;
  socket.options.interface = words.take('\n');
  words.number(words.take(' '), socket.membership.group.address);
  words.number(words.take('\n'), socket.membership.group.port);
  if (!words.text.empty()) words.number(words.text, socket.membership.source.emplace());
  return words.is_good ? std::optional(socket) : std::nullopt;
}

std::string to_text(const FileSet& set, const std::vector<FileSet>& sets) {
  const unsigned rights = (set.can_append ? kCanAppend : 0) | (set.can_create ? kCanCreate : 0) |
                          (set.can_keep ? kCanKeep : 0) | (set.can_remove ? kCanRemove : 0);
  return std::to_string(first_in(set.folder, sets) - sets.begin()) + " " + std::to_string(set.digits) + " " +
         std::to_string(set.mode) + " " + std::to_string(rights) + "\n" + set.prefix + "\n" + set.suffix + "\n" +
         set.kept;
}

std::optional<FileSet> parse_set(std::string_view text, const std::vector<FileSet>& sets) {
  constexpr unsigned kMostDigits = 12;  // of kMaxNumber
  Words words{text};
  FileSet set;
  std::size_t folder = 0;
  unsigned rights = 0;
  words.number(words.take(' '), folder);
  words.number(words.take(' '), set.digits);
  words.number(words.take(' '), set.mode);
  words.number(words.take('\n'), rights);
  set.prefix = words.take('\n');
  set.suffix = words.take('\n');
  set.kept = words.text;
  if (!words.is_good || folder >= sets.size() || set.digits > kMostDigits || (rights & ~kAllRights) != 0) {
    return std::nullopt;
  }
  set.folder = sets[folder].folder;
  set.can_append = (rights & kCanAppend) != 0;
  set.can_create = (rights & kCanCreate) != 0;
  set.can_keep = (rights & kCanKeep) != 0;
  set.can_remove = (rights & kCanRemove) != 0;
  return set;
}

Status check(const Request& request, const Grants& grants) {
  const auto among = [&](const auto& list) -> Status {
    if (request.index < list.size()) return Done{};
    return Failure{"the settings have no file or socket of this kind and index"};
  };
  const auto of_set = [&](bool FileSet::*can) -> Status {
    if (Status found = among(grants.sets); !found) return found;
    if (grants.sets[request.index].*can) return Done{};
    return Failure{"this operation is not allowed on these files"};
  };
  switch (request.kind) {
    case RequestKind::Socket: return among(grants.sockets);
    case RequestKind::Read: return among(grants.files);
    case RequestKind::Append: return of_set(&FileSet::can_append);
    case RequestKind::Create: return of_set(&FileSet::can_create);
    case RequestKind::Keep: return of_set(&FileSet::can_keep);
    case RequestKind::Remove: return of_set(&FileSet::can_remove);
    case RequestKind::Connect: return among(grants.connections);
    case RequestKind::Renew: return Failure{"this is not about a grant"};
    case RequestKind::Tell:
      switch (static_cast<ListKind>(request.number)) {
        case ListKind::Sockets: return among(grants.sockets);
        case ListKind::Files: return among(grants.files);
        case ListKind::Sets: return among(grants.sets);
      }
      break;
  }
  return Failure{"unknown request"};
}

}  // namespace stopbit::opener
