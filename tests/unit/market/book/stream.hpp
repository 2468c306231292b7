#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/market/book/book_set.hpp"
#include "tests/lib/random.hpp"
#include "tests/unit/market/book/reference.hpp"

/// Random entries for books: mostly what an exchange would send, now and then a loss, a snapshot, or anything.
namespace stopbit::market::testing {

/// Whether a stale event leaves the book as it was: it is right for the moment of a loss.
inline bool keeps_rows(const Event& event) {
  return event.kind() == Kind::Stale && (event.cause() == Cause::Gap || event.cause() == Cause::Join ||
                                         event.cause() == Cause::Queue || event.cause() == Cause::Line);
}

/// One book of an instrument, as the reference has it.
struct Subject {
  std::uint32_t row = 1;
  BookOf of = BookOf::Direct;
  BookShape shape;
  std::unique_ptr<ReferenceBook> reference;
  bool is_building = false;
  std::uint16_t next_level[2] = {1, 1};  ///< Of the snapshot that is being sent.
  std::int64_t centre = 1'000'000'000'000;
  std::uint64_t next_id = 1;
};

class Stream {
 public:
  static constexpr std::int64_t kTick = 10'000'000;

  explicit Stream(cases::Random& random, unsigned hostile_permille = 3)
      : random_(random), hostile_permille_(hostile_permille) {}

  Content next(Subject& subject) {
    Content content;
    content.instrument = subject.row;
    content.arrival_ns = ++now_;
    content.book = subject.of;
    if (random_.below(1'000) < hostile_permille_) return hostile(content);
    // Both books of an instrument hear of these; only the direct one sends them.
    if (subject.of == BookOf::Direct && random_.below(400) == 0) return event_for_book(content, subject);
    return entry(content, subject);
  }

 private:
  Content event_for_book(Content content, const Subject& subject) {
    if (subject.is_building) {
      content.kind = Kind::SnapshotEnd;
      return content;
    }
    switch (random_.below(8)) {
      case 0:
        content.kind = Kind::Stale;
        content.level = static_cast<std::uint16_t>(random_.chance(50) ? Cause::Gap : Cause::Audit);
        break;
      case 1:
        content.kind = Kind::Clear;
        content.id = static_cast<std::uint64_t>(Cause::Gap);
        break;
      case 2:
        content.kind = Kind::Clear;
        content.id = static_cast<std::uint64_t>(Cause::Exchange);
        break;
      case 3: content.kind = Kind::Latest; break;
      case 4:
        content.kind = Kind::Suspect;
        content.level = static_cast<std::uint16_t>(Cause::Gap);
        break;
      case 5:
        content.kind = Kind::State;
        content.id = StateCode{TradingState::Auction, 24, 1}.packed();
        break;
      default: content.kind = Kind::SnapshotBegin; break;
    }
    return content;
  }

  Content hostile(Content content) {
    static constexpr auto kPrices = std::to_array<std::int64_t>({kNoPrice, kNoPrice + 1, -1, 0, 1, 1'000'000'000,
                                                                 std::numeric_limits<std::int64_t>::max(),
                                                                 std::numeric_limits<std::int64_t>::max() - 1});
    static constexpr auto kQuantities =
        std::to_array<std::int64_t>({kNoQuantity, kNoQuantity + 1, -1, 0, 1, kMaxQuantity});
    static constexpr auto kLevels =
        std::to_array<std::uint16_t>({0, 1, 2, 10, 11, 63, 64, 65, 255, 256, 300, 16'384, 16'385, 65'534, 65'535});
    static constexpr auto kIds =
        std::to_array<std::uint64_t>({0, 1, 2, kNoCount, ~std::uint64_t{0}, 0xFFFF'FFFF, 0xFFFF'FFFE});
    content.kind = static_cast<Kind>(random_.below(32));
    if (random_.chance(20)) content.book = static_cast<BookOf>(random_.below(2));
    content.side = static_cast<Side>(random_.below(4));
    content.level = random_.chance(80) ? random_.pick(kLevels) : static_cast<std::uint16_t>(random_.bits());
    content.price = random_.chance(80) ? random_.pick(kPrices) : static_cast<std::int64_t>(random_.bits());
    content.quantity = random_.pick(kQuantities);
    content.id = random_.chance(80) ? random_.pick(kIds) : random_.bits();
    if (random_.chance(20)) content.flags |= record::kFlagSnapshot;
    if (random_.chance(30)) content.flags |= kFlagWide;
    return content;
  }

  std::int64_t quantity() { return static_cast<std::int64_t>(random_.below(random_.chance(5) ? 1'000'000'000 : 100)); }

  Content entry(Content content, Subject& subject) {
    content.side = random_.chance(50) ? Side::Bid : Side::Ask;
    content.quantity = quantity();
    content.id = random_.below(50);
    if (random_.below(200) == 0) subject.centre += static_cast<std::int64_t>(random_.below(41)) * kTick - 20 * kTick;
    if (random_.below(20'000) == 0)
      subject.centre = static_cast<std::int64_t>(random_.below(2'000'000)) * kTick - 1'000'000 * kTick;
    if (random_.below(300) == 0) {
      content.kind = random_.chance(30) ? Kind::DeleteSide : random_.chance(50) ? Kind::DeleteTop : Kind::DeleteBottom;
    }
    switch (subject.shape.kind) {
      case BookKind::Level: return level_entry(content, subject);
      case BookKind::Price: return price_entry(content, subject);
      case BookKind::Order: return order_entry(content, subject);
      default: return position_entry(content, subject);
    }
  }

  Content level_entry(Content content, Subject& subject) {
    const std::vector<ReferenceBook::Target> rows = subject.reference->targets(content.side);
    if (content.kind != Kind::Other) {
      content.level = static_cast<std::uint16_t>(1 + random_.below(rows.size() + 1));
      return content;
    }
    const bool is_sparse = random_.below(rows.size() + 1) < 4;
    if (subject.is_building) {
      content.flags |= record::kFlagSnapshot;
      std::uint16_t& level = subject.next_level[index_of(content.side)];
      if (subject.shape.depth != 0 && level > subject.shape.depth) level = 1;
      if (level == 1 && !rows.empty()) {  // it exists already: once more the first row
        content.kind = Kind::New;
        content.level = 1;
        content.price = rows.front().price;
        return content;
      }
      content.kind = Kind::New;
      content.level = level++;
      content.price = price_between(subject, content.side, rows, content.level - 1U, rows.size());
      return content;
    }
    const unsigned most = subject.shape.depth != 0 ? subject.shape.depth : 12;
    // An open side may be addressed anywhere, as the rows between are only unknown.
    const bool goes_beyond = random_.chance(5);
    const unsigned end = goes_beyond ? most : static_cast<unsigned>(rows.size());
    if (is_sparse ? random_.chance(70) : random_.chance(35)) {
      content.kind = Kind::New;
      content.level = static_cast<std::uint16_t>(1 + random_.below(std::min(end + 1, most)));
      content.price = price_between(subject, content.side, rows, content.level - 1U, content.level - 1U);
      return content;
    }
    if (end == 0) return overlay_of_nothing(content, subject);
    content.level = static_cast<std::uint16_t>(1 + random_.below(end));
    const std::int64_t price = content.level <= rows.size() ? rows[content.level - 1U].price : kNoPrice;
    content.price =
        price != kNoPrice ? price : price_between(subject, content.side, rows, content.level - 1U, content.level);
    switch (random_.below(5)) {
      case 0:
      case 1: content.kind = Kind::Delete; break;
      case 2:
        content.kind = Kind::Overlay;
        content.price = price_between(subject, content.side, rows, content.level - 1U, content.level);
        break;
      default: content.kind = Kind::Change; break;
    }
    if (content.kind != Kind::Overlay && random_.chance(20)) content.price = kNoPrice;
    return content;
  }

  Content overlay_of_nothing(Content content, Subject& subject) {
    content.kind = Kind::Overlay;
    content.level = 1;
    content.price = subject.centre;
    return content;
  }

  /// Of the prices that are used as others' neighbours: no sum of a few of them overflows.
  static bool is_usual(std::int64_t price) {
    constexpr std::int64_t kMost = std::int64_t{1} << 60;
    return price > -kMost && price < kMost;
  }

  /// A price between the nearest known rows before `begin` and from `end` on; one of them if there is none between.
  std::int64_t price_between(const Subject& subject, Side side, const std::vector<ReferenceBook::Target>& rows,
                             std::size_t begin, std::size_t end) {
    const std::int64_t way = side == Side::Bid ? -1 : 1;
    std::optional<std::int64_t> better;
    std::optional<std::int64_t> worse;
    for (std::size_t i = std::min(begin, rows.size()); i-- > 0 && !better;) {
      if (is_usual(rows[i].price)) better = rows[i].price;
    }
    for (std::size_t i = end; i < rows.size() && !worse; ++i) {
      if (is_usual(rows[i].price)) worse = rows[i].price;
    }
    const auto some = static_cast<std::int64_t>(1 + random_.below(100)) * kTick;
    if (!better && !worse) return subject.centre + way * some;
    if (!worse) return *better + way * some;
    if (!better) return *worse - way * some;
    const std::int64_t gap = *worse > *better ? *worse - *better : *better - *worse;
    if (gap < 2) return *worse;
    return *better + way * static_cast<std::int64_t>(1 + random_.below(static_cast<std::uint64_t>(gap) - 1));
  }

  Content price_entry(Content content, Subject& subject) {
    if (content.kind == Kind::DeleteTop || content.kind == Kind::DeleteBottom) content.kind = Kind::DeleteSide;
    if (content.kind != Kind::Other) return content;
    const std::vector<ReferenceBook::Target> rows = subject.reference->targets(content.side);
    if (subject.is_building) content.flags |= record::kFlagSnapshot;
    if (rows.empty() || random_.below(rows.size() + 20) < 10) {
      content.kind = random_.chance(80) ? Kind::New : Kind::Overlay;
      content.price = subject.centre + static_cast<std::int64_t>(random_.below(200)) * kTick - 100 * kTick;
      const bool is_there =
          std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.price == content.price; });
      if (is_there && random_.below(500) != 0) content.kind = Kind::Change;
      return content;
    }
    content.price = random_.pick(rows).price;
    content.kind = random_.chance(50) ? Kind::Change : Kind::Delete;
    return content;
  }

  Content order_entry(Content content, Subject& subject) {
    if (content.kind == Kind::DeleteTop || content.kind == Kind::DeleteBottom) content.kind = Kind::Other;
    if (content.kind == Kind::DeleteSide && random_.chance(80)) content.kind = Kind::Other;
    if (content.kind != Kind::Other) return content;
    auto& ids = ids_[subject.row];
    if (subject.is_building) content.flags |= record::kFlagSnapshot;
    if (ids.size() < 20 || random_.below(ids.size() + 300) < 300) {
      content.kind = Kind::New;
      content.id = subject.next_id++ * 7;
      const bool is_far = random_.below(50) == 0;
      const std::int64_t spread = is_far ? 100'000 : 300;
      content.price = subject.centre +
                      static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(spread))) * kTick -
                      spread / 2 * kTick;
      if (random_.below(100) == 0) content.price += kTick / 2;
      if (random_.below(1'000) == 0) content.price = kNoPrice;
      if (random_.below(10'000) == 0 && !ids.empty()) {
        content.id = random_.pick(ids).id;  // twice
        return content;
      }
      ids.push_back({content.id, content.price, content.side});
      return content;
    }
    const std::size_t at = random_.below(ids.size());
    content.id = ids[at].id;
    content.price = random_.chance(70) ? ids[at].price : kNoPrice;
    content.side = random_.chance(70) ? ids[at].side : Side::None;
    switch (random_.below(5)) {
      case 0:
      case 1: content.kind = Kind::Change; break;
      case 2:
        content.kind = Kind::Overlay;
        if (content.price != kNoPrice)
          ids[at].price = content.price = subject.centre + static_cast<std::int64_t>(random_.below(400)) * kTick;
        break;
      default:
        content.kind = Kind::Delete;
        ids[at] = ids.back();
        ids.pop_back();
        break;
    }
    return content;
  }

  Content position_entry(Content content, Subject& subject) {
    const std::vector<ReferenceBook::Target> rows = subject.reference->targets(content.side);
    if (content.kind == Kind::DeleteTop || content.kind == Kind::DeleteBottom) {
      content.level = static_cast<std::uint16_t>(1 + random_.below(rows.size() + 1));
    }
    if (content.kind != Kind::Other) return content;
    if (subject.is_building) content.flags |= record::kFlagSnapshot;
    const std::size_t end = random_.chance(2) ? rows.size() + 5 : rows.size();
    if (rows.empty() || random_.below(rows.size() + 30) < 15) {
      content.kind = Kind::New;
      content.level = static_cast<std::uint16_t>(1 + random_.below(end + 1));
      if (subject.is_building) content.level = static_cast<std::uint16_t>(rows.size() + 1);
      content.id = subject.next_id++;
      const auto neighbour = [&](std::size_t i) { return i < rows.size() ? rows[i].price : kNoPrice; };
      const std::int64_t better = content.level >= 2 ? neighbour(content.level - 2U) : kNoPrice;
      const std::int64_t worse = neighbour(content.level - 1U);
      const bool joins = random_.chance(60);
      if (joins && better != kNoPrice) {
        content.price = better;
      } else if (joins && worse != kNoPrice) {
        content.price = worse;
      } else {
        content.price = price_between(subject, content.side, rows, content.level - 1U, content.level - 1U);
      }
      if (content.level == 1 && random_.below(200) == 0) content.price = kNoPrice;
      return content;
    }
    content.level = static_cast<std::uint16_t>(1 + random_.below(end));
    if (content.level <= rows.size()) {
      content.price = rows[content.level - 1U].price;
      content.id = rows[content.level - 1U].id;
    }
    switch (random_.below(6)) {
      case 0:
      case 1: content.kind = Kind::Change; break;
      case 2:
        content.kind = Kind::Overlay;
        content.id = subject.next_id++;
        if (content.price == kNoPrice)
          content.price = price_between(subject, content.side, rows, content.level - 1U, content.level);
        break;
      default: content.kind = Kind::Delete; break;
    }
    if (content.kind != Kind::Overlay && random_.chance(20)) content.price = kNoPrice;
    if (content.kind != Kind::Overlay && random_.chance(20)) content.id = 0;
    if (content.kind != Kind::Overlay && random_.below(2'000) == 0) content.id += 1'000'000'000;  // another order
    return content;
  }

  struct LiveOrder {
    std::uint64_t id;
    std::int64_t price;
    Side side;
  };
  cases::Random& random_;
  unsigned hostile_permille_;
  std::uint64_t now_ = 1'000;
  std::array<std::vector<LiveOrder>, 64> ids_;
};

}  // namespace stopbit::market::testing
