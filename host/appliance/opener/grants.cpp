#include "host/appliance/opener/grants.hpp"

#include <charconv>
#include <system_error>

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
  }
  return Failure{"unknown request"};
}

}  // namespace stopbit::opener
