#include "tests/nic/hardware_atu.hpp"

#include <Vrtl_atu.h>

#include <array>
#include <deque>
#include <stdexcept>
#include <vector>

#include "atu_driver.hpp"

namespace stopbit::nic {
namespace {

using namespace sim::atu;

constexpr std::size_t kCacheEntries = 1024;
// The source counts 20 cycles of a miss from port to port of its crossbar; 8 of these are outside of this unit, on the
// way to memory and back.
constexpr std::uint64_t kWayCycles = 8;
constexpr std::uint64_t kQuiet = 100;        // cycles without a message: nothing is under way
constexpr std::uint64_t kPatience = 10'000;  // cycles for an answer
constexpr unsigned kUnitsOfClass = (1U << nic::kUnits) - 1;
constexpr std::uint64_t kTableBytes = std::uint64_t{8} << kEntryBits;

class HardwareTranslation final : public TranslationUnit {
 public:
  HardwareTranslation(const AtuOptions& options, Transactions& transactions)
      : tables_(options), transactions_(transactions), unit_(1) {
    if (options.cached != kCacheEntries) throw std::runtime_error("the unit in hardware caches 1024 translations");
    unit_.latency = [cycles = options.memory_cycles + kWayCycles] { return cycles; };
    for (std::size_t table = 0; table < options.tables; ++table) unit_.set_base(table, (table + 1) * kTableBytes);
  }

  [[nodiscard]] std::optional<Nla> register_pages(Vpid owner, std::span<const PageNumber> pages,
                                                  Access access) override {
    const auto nla = tables_.register_pages(owner, pages, access);
    if (!nla) return nla;
    for (std::size_t i = 0; i < pages.size(); ++i) unit_.entry(nla_page(*nla) + i) = gat_entry(owner, pages[i], access);
    return nla;
  }
  [[nodiscard]] bool revoke(Vpid owner, Nla first, std::size_t pages) override {
    if (!tables_.revoke(owner, first, pages)) return false;
    for (std::size_t i = 0; i < pages; ++i) {
      unit_.entry(nla_page(first) + i) = 0;
      unit_.flushes.push_back({nla_page(first) + i, true, kUnitsOfClass});
    }
    revocations_.push_back({pages, tables_.flush_number()});
    settle();
    return true;
  }
  [[nodiscard]] bool is_flushed(Nla nla) override { return tables_.is_flushed(nla); }
  [[nodiscard]] Translation translate(Vpid who, Nla nla, Access access) override {
    // A message has no room for what an address has beyond its 39 bits: the unit that asks refuses it.
    if (nla >> kNlaBits != 0) return {};
    unit_.to_send.push_back(
        to_phit(ask(turn_ % sim::atu::kUnits, turn_ / sim::atu::kUnits % 32, {who, nla_page(nla), access})));
    ++turn_;
    answer_.reset();
    std::uint64_t begin = 0;
    for (const std::uint64_t end = unit_.now() + kPatience; !answer_;) {
      if (unit_.now() > end) throw std::runtime_error("the address translation unit does not answer");
      const std::uint64_t now = unit_.now();
      if (cycle()) begin = now;
      if (answer_) last_ = now;
    }
    Translation result;
    result.ok = protocol::kTranslateResponseError.of(*answer_) == 0;
    result.page = protocol::kTranslateResponseNumber.of(*answer_);
    result.cycles = static_cast<std::uint32_t>(last_ - begin);
    return result;
  }
  void acknowledge(nic::Unit unit) override {
    const auto index = static_cast<std::size_t>(unit);
    // More may come once these are answered.
    for (settle(); !asked_[index].empty(); settle()) {
      for (const Message& request : asked_[index]) {
        unit_.to_send.push_back(to_phit(flush_answer(index, request.tag, protocol::kFlushPage.of(request.body))));
      }
      asked_[index].clear();
    }
  }

 private:
  struct Revocation {
    std::size_t left = 0;
    std::uint64_t number = 0;
  };

  /// Whether the unit took a message.
  bool cycle() {
    const auto seen = unit_.cycle();
    transactions_.messages += seen.sent ? 1 : 0;
    transactions_.reads += seen.read ? 1 : 0;
    for (std::size_t unit = 0; unit < sim::atu::kUnits; ++unit) {
      if (!seen.received[unit]) continue;
      ++transactions_.messages;
      quiet_ = 0;
      const Message message = from_phit(*seen.received[unit]);
      if (message.operation == protocol::kAtsFlushRequest) {
        asked_[unit].push_back(message);
      } else {
        answer_ = message.body;
      }
    }
    if (seen.is_done) {
      quiet_ = 0;
      Revocation& oldest = revocations_.front();
      if (--oldest.left == 0) {
        for (std::size_t unit = 0; unit < nic::kUnits; ++unit) {
          tables_.acknowledge(static_cast<nic::Unit>(unit), oldest.number);
        }
        revocations_.pop_front();
      }
    }
    return seen.sent.has_value();
  }
  void settle() {
    for (quiet_ = 0; quiet_ < kQuiet; ++quiet_) (void)cycle();
  }

  Atu tables_;
  Transactions& transactions_;
  Driver<Vrtl_atu> unit_;
  std::uint64_t turn_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t quiet_ = 0;
  std::optional<std::uint64_t> answer_;
  std::array<std::vector<Message>, sim::atu::kUnits> asked_;
  std::deque<Revocation> revocations_;
};

}  // namespace

std::unique_ptr<TranslationUnit> hardware_translation(const AtuOptions& options, Transactions& transactions) {
  return std::make_unique<HardwareTranslation>(options, transactions);
}

}  // namespace stopbit::nic
