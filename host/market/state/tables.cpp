#include "host/market/state/tables.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "host/os/shm/publish.hpp"
#include "host/ring/reader.hpp"

namespace stopbit::market {

Result<Tables> Tables::open(std::string_view name, const os::Accepted& accepted) {
  const Result<ring::Reader> ring = ring::Reader::open(name, ring::Start::Newest, accepted);
  if (!ring) return Failure{ring.message()};
  return open(name, ring.value().tables_epoch(), accepted);
}

Result<Tables> Tables::open(std::string_view name, std::uint64_t ring_epoch, const os::Accepted& accepted) {
  Result<InstrumentView> instruments = InstrumentView::open(name, accepted);
  if (!instruments) return Failure{instruments.message()};
  Result<state::Reader> states = state::Reader::open(name, accepted);
  if (!states) return Failure{states.message()};
  Tables tables(std::move(instruments).value(), std::move(states).value());
  if (!tables.belong_to(ring_epoch)) return Failure{foreign_text(name)};
  return tables;
}

std::string Tables::foreign_text(std::string_view name) {
  return std::string(name) +
         ": its tables of instruments and states belong to another ring of this name: a new image is just loading, or "
         "its writer died while it loaded";
}

Status Tables::share(std::string_view name, const Tables* before) const {
  const Status shared = instruments_.share(name, before != nullptr ? &before->instruments_ : nullptr);
  return shared ? states_.share(name, before != nullptr ? &before->states_ : nullptr) : shared;
}

void Tables::unshare(std::string_view name) const {
  instruments_.unshare(name);
  states_.unshare(name);
}

Status Tables::remove_dead(const std::string& ring_path) {
  const auto remove = [&](std::string_view suffix, std::uint64_t magic, std::string_view noun) -> Status {
    const std::string path = ring_path + std::string(suffix);
    struct stat named {};
    if (::lstat(path.c_str(), &named) != 0 && errno == ENOENT) return Done{};
    return os::remove_dead(path, {.magic = magic, .noun = noun});
  };
  Status removed = remove(kInstrumentSuffix, kInstrumentMagic, kInstrumentNoun);
  return removed ? remove(state::kSuffix, state::kMagic, state::kNoun) : removed;
}

std::uint32_t Tables::row_of(std::string_view key_or_name) const noexcept {
  const std::uint32_t row = instruments_.find(key_or_name);
  return row != 0 ? row : instruments_.find_name(key_or_name);
}

}  // namespace stopbit::market
