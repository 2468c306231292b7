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
  if (all.sockets.size() + all.files.size() > kMostGrants) {
    return Failure{"the settings have named more than " + std::to_string(kMostGrants) +
                   " groups and files since the start"};
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
  const auto take = [&text](char end) {
    const std::string_view part = text.substr(0, text.find(end));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    return part;
  };
  bool is_good = true;
  const auto number = [&](std::string_view part, auto& to) {
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), to);
    is_good = is_good && error == std::errc() && rest == part.data() + part.size();
  };
  SocketGrant socket;
  socket.options.interface = take('\n');
  number(take(' '), socket.membership.group.address);
  number(take('\n'), socket.membership.group.port);
  if (!text.empty()) number(text, socket.membership.source.emplace());
  return is_good ? std::optional(socket) : std::nullopt;
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
      return static_cast<ListKind>(request.number) == ListKind::Sockets ? among(grants.sockets) : among(grants.files);
  }
  return Failure{"unknown request"};
}

}  // namespace stopbit::opener
