#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/nic/atu/atu.hpp"
#include "tests/lib/model_check/random_runs.hpp"
#include "tests/lib/model_check/search.hpp"
#include "tests/lib/model_check/state_bytes.hpp"

/// The translation unit that runs, the three units that ask it, each with transfers under way, and ports that register
/// pages, revoke them, and use them otherwise once the unit reports that these are free. A unit notes the number of a
/// flush, ends what it had under way then, and acknowledges that number, each as late as it likes.
namespace stopbit::nic {

struct AtuInside {
  Atu& atu;
  /// All that changes while there is no unpinned memory.
  template <class Bytes>
  void visit(Bytes& bytes) const {
    for (Atu::Entry& entry : atu.entries_) {
      bytes(entry.bits);
      bytes(entry.flush);
    }
    for (Atu::Cached& cached : atu.cache_) {
      bytes(cached.nla_page);
      bytes(cached.bits);
    }
    bytes(atu.search_from_);
    bytes(atu.flush_number_);
    bytes(atu.acknowledged_by_all_);
    bytes(atu.acknowledged_);
    bytes.list(atu.pending_);
    for (std::uint64_t& page : atu.pending_) bytes(page);
  }
  /// What the cache knows of the page.
  void remember(std::uint64_t page, std::uint64_t bits) const {
    atu.cache_[page & (atu.options_.cached - 1)] = {page, bits};
  }
  [[nodiscard]] std::uint64_t cached(std::uint64_t page) const {
    const Atu::Cached& cached = atu.cache_[page & (atu.options_.cached - 1)];
    return cached.nla_page == page ? cached.bits : 0;
  }
};

namespace flush_model {

using model_check::Draw;
using model_check::Findings;

/// What must not go unnoticed.
enum class Fault : std::uint8_t {
  None,
  NobodyWaits,            ///< A page is used otherwise as soon as it is revoked.
  TwoSuffice,             ///< The third unit is not asked.
  AcknowledgesTooSoon,    ///< A unit does so with transfers under way.
  AcknowledgesTheNewest,  ///< A unit acknowledges not the number that it noted, but the last there is.
  CacheKeeps,             ///< A revoked page stays in the cache.
};

struct Scenario {
  std::size_t pages = 2;
  std::size_t entries = 2;
  std::size_t cached = 1;
  std::size_t units = kUnits;  ///< That have transfers; the others acknowledge.
  unsigned registrations = 3;
  unsigned transfers = 4;
};

inline constexpr std::size_t kPages = 3;
inline constexpr Vpid kPorts = 2;

class Model {
 public:
  Model(const Scenario& scenario, Fault fault)
      : scenario_(scenario), fault_(fault), atu_({1, scenario.entries, scenario.cached, 55}) {
    ghost_.registrations = static_cast<std::uint8_t>(scenario.registrations);
    ghost_.transfers = static_cast<std::uint8_t>(scenario.transfers);
  }

  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// Touches of pages.
  [[nodiscard]] std::uint64_t work() const { return touches_; }

  void save(std::vector<std::byte>& into) {
    into.clear();
    model_check::StateWriter writer{into};
    AtuInside{atu_}.visit(writer);
    writer(ghost_);
  }
  void load(std::span<const std::byte> from) {
    model_check::StateReader reader{from};
    AtuInside{atu_}.visit(reader);
    reader(ghost_);
  }

  // Actions of pages: port 0 registers it; port 1 does; its owner revokes it; its owner is notified. Of units: notes
  // the number; acknowledges it; begins a transfer of port w at address n; goes on with transfer t, ends it.
  static constexpr std::size_t kOfPage = kPorts + 2;
  [[nodiscard]] std::size_t of_unit() const { return 2 + kPorts * scenario_.entries + 2 * kTransfers; }
  [[nodiscard]] std::size_t actions() const { return kOfPage * scenario_.pages + of_unit() * kUnits; }
  /// False: it cannot happen now.
  bool apply(std::size_t action) {
    const std::size_t pages = kOfPage * scenario_.pages;
    if (action < pages) return apply_page(action / kOfPage, action % kOfPage);
    return apply_unit((action - pages) / of_unit(), (action - pages) % of_unit());
  }
  [[nodiscard]] bool turn(Draw& draw) { return apply(draw(actions())); }
  /// From here on all actors do their work.
  void close() {
    for (int round = 0; round < 8 && failure_.empty(); ++round) {
      bool is_done = true;
      for (std::size_t page = 0; page < scenario_.pages; ++page) {
        (void)apply_page(page, kPorts + 1);
        is_done = is_done && ghost_.pages[page].state != State::Revoked;
      }
      if (is_done) return;
      for (std::size_t unit = 0; unit < kUnits; ++unit) {
        for (std::size_t i = 0; i < kTransfers; ++i) (void)end(unit, i);
        (void)note(unit);
        (void)acknowledge(unit);
      }
    }
    fail("a page is never free");
  }

 private:
  static constexpr std::size_t kTransfers = 2;  ///< Of a unit at once.

  enum class State : std::uint8_t { Free, Registered, Revoked };
  struct Page {
    State state = State::Free;
    std::uint8_t owner = 0;  ///< Of what it is registered as, or was until it is notified that it is free.
    std::uint16_t reserved = 0;
    std::uint32_t nla_page = 0;
  };
  struct Transfer {
    std::uint8_t is_under_way = 0;
    std::uint8_t who = 0;
    std::uint8_t page = 0;
    std::uint8_t is_old = 0;  ///< It was present when the unit noted the flush.
  };
  struct UnitState {
    std::uint64_t noted = 0;
    std::uint64_t acknowledged = 0;
    std::array<Transfer, kTransfers> transfers{};
  };
  struct Ghost {
    std::array<Page, kPages> pages{};
    std::array<UnitState, kUnits> units{};
    std::uint32_t registrations = 0;
    std::uint32_t transfers = 0;
  };
  void fail(const char* what) {
    if (failure_.empty()) failure_ = what;
  }

  bool apply_page(std::size_t number, std::size_t action) {
    Page& page = ghost_.pages[number];
    if (action < kPorts) {
      if (page.state != State::Free || ghost_.registrations == 0) return false;
      const PageNumber numbers[] = {number};
      const auto nla = atu_.register_pages(static_cast<Vpid>(action), numbers, Access::ReadWrite);
      if (!nla) return false;
      --ghost_.registrations;
      page = {State::Registered, static_cast<std::uint8_t>(action), 0, static_cast<std::uint32_t>(nla_page(*nla))};
      return true;
    }
    const Nla nla = Nla{page.nla_page} * kPageBytes;
    if (action == kPorts) {
      if (page.state != State::Registered) return false;
      const std::uint64_t bits = AtuInside{atu_}.cached(page.nla_page);
      if (!atu_.revoke(page.owner, nla, 1)) fail("an owner cannot revoke its page");
      if (fault_ == Fault::CacheKeeps) AtuInside{atu_}.remember(page.nla_page, bits);
      page.state = State::Revoked;
      if (fault_ == Fault::NobodyWaits) page = {};
      return true;
    }
    if (page.state != State::Revoked || !atu_.is_flushed(nla)) return false;
    page = {};
    return true;
  }
  bool apply_unit(std::size_t unit, std::size_t action) {
    if (action == 0) return note(unit);
    if (action == 1) return acknowledge(unit);
    action -= 2;
    const std::size_t ways = kPorts * scenario_.entries;
    if (action < ways) return begin(unit, static_cast<Vpid>(action % kPorts), action / kPorts);
    action -= ways;
    return action < kTransfers ? touch(unit, action) : end(unit, action - kTransfers);
  }
  bool note(std::size_t number) {
    UnitState& unit = ghost_.units[number];
    if (unit.noted != unit.acknowledged || unit.noted == atu_.flush_number()) return false;
    unit.noted = atu_.flush_number();
    for (Transfer& transfer : unit.transfers) transfer.is_old = transfer.is_under_way;
    return true;
  }
  bool acknowledge(std::size_t number) {
    UnitState& unit = ghost_.units[number];
    if (unit.noted == unit.acknowledged) return false;
    const bool has_old = std::ranges::any_of(unit.transfers, [](const Transfer& one) { return one.is_old != 0; });
    if (has_old && fault_ != Fault::AcknowledgesTooSoon) return false;
    if (fault_ == Fault::AcknowledgesTheNewest) unit.noted = atu_.flush_number();
    atu_.acknowledge(static_cast<Unit>(number), unit.noted);
    if (fault_ == Fault::TwoSuffice) atu_.acknowledge(Unit::Completer, unit.noted);
    unit.acknowledged = unit.noted;
    return true;
  }
  bool begin(std::size_t number, Vpid who, std::size_t nla) {
    UnitState& unit = ghost_.units[number];
    const auto place = std::ranges::find_if(unit.transfers, [](const Transfer& one) { return one.is_under_way == 0; });
    if (number >= scenario_.units || ghost_.transfers == 0 || place == unit.transfers.end()) return false;
    const Translation translation = atu_.translate(who, nla * kPageBytes, Access::Write);
    if (!translation.ok) return true;  // the cache may know more now
    --ghost_.transfers;
    *place = {1, static_cast<std::uint8_t>(who), static_cast<std::uint8_t>(translation.page), 0};
    const Page& page = ghost_.pages[translation.page];
    if (page.state != State::Registered || page.owner != who || page.nla_page != nla) {
      fail("a page is given to a transfer that is not its owner's");
    }
    return true;
  }
  bool touch(std::size_t number, std::size_t index) {
    const Transfer& transfer = ghost_.units[number].transfers[index];
    if (transfer.is_under_way == 0) return false;
    const Page& page = ghost_.pages[transfer.page];
    ++touches_;
    if (page.state == State::Free) fail("a page is touched after its owner was told that it is free");
    if (page.state != State::Free && page.owner != transfer.who) fail("a page of another is touched");
    return true;
  }
  bool end(std::size_t number, std::size_t index) {
    Transfer& transfer = ghost_.units[number].transfers[index];
    if (transfer.is_under_way == 0) return false;
    transfer = {};
    return true;
  }

  Scenario scenario_;
  Fault fault_;
  Atu atu_;
  Ghost ghost_;
  std::string failure_;
  std::uint64_t touches_ = 0;
};

/// Visits every state that can be reached, and checks from each that all that is revoked becomes free.
inline Findings explore(const Scenario& scenario, Fault fault = Fault::None) {
  Model model(scenario, fault);
  Findings findings = model_check::explore_states(model);
  findings.work = model.work();
  return findings;
}

/// Takes random steps, `steps` of them.
inline Findings wander(std::uint64_t seed, std::uint64_t steps, Fault fault = Fault::None) {
  return model_check::wander(seed, steps, 4'000, [&](Draw& draw) {
    const std::size_t pages = 2 + draw(2);
    const std::size_t entries = 2 + draw(4);
    return Model({pages, entries, std::size_t{1} << draw(3), kUnits, 1'000, 10'000}, fault);
  });
}

}  // namespace flush_model
}  // namespace stopbit::nic
