#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "host/market/book/any_book.hpp"

/// Books as simple as they can be, from std containers. They share no code with the books that they are compared with,
/// but for the names of things.
namespace stopbit::market::testing {

/// Whether `a` comes before `b` on a side; no price comes first.
inline bool is_better(Side side, std::int64_t a, std::int64_t b) {
  if (a == b || b == kNoPrice) return false;
  if (a == kNoPrice) return true;
  return side == Side::Bid ? a > b : a < b;
}

inline int index_of(Side side) {
  return side == Side::Ask ? 1 : 0;
}

class ReferenceBook {
 public:
  virtual ~ReferenceBook() = default;
  virtual Fault apply(const Event& event, bool sets) = 0;
  virtual void clear() = 0;
  virtual void lose() = 0;
  /// All rows; without the time of their last change in books of orders.
  [[nodiscard]] virtual std::vector<Row> rows(Side side) const = 0;
  [[nodiscard]] virtual Extent extent(Side side) const = 0;
  /// What an entry of the side could be about: the positions, prices or ids in use. For writing streams.
  struct Target {
    std::uint16_t level = 0;
    std::int64_t price = kNoPrice;
    std::uint64_t id = 0;
  };
  [[nodiscard]] virtual std::vector<Target> targets(Side side) const = 0;
};

class ReferenceLevels final : public ReferenceBook {
 public:
  explicit ReferenceLevels(unsigned depth) : depth_(depth) {}

  Fault apply(const Event& event, bool sets) override {
    if (event.side() != Side::Bid && event.side() != Side::Ask) return Fault::Address;
    const Side side = event.side();
    auto& rows = rows_[index_of(side)];
    bool& open = open_[index_of(side)];
    if (event.kind() == Kind::DeleteSide) {
      rows.clear();
      open = false;
      return Fault::None;
    }
    const unsigned level = event.level();
    if (level == 0) return Fault::Address;
    if (depth_ != 0 && level > depth_) return Fault::BeyondEnd;
    if (depth_ == 0) {
      if (level > 64) return Fault::Room;
      learned_ = std::max(learned_, level);
    }
    const auto exists = [&](unsigned count) {
      if (count <= rows.size()) return true;
      if (!open && !sets) return false;
      rows.resize(count);
      return true;
    };
    const auto row =
        std::optional<Row>(Row{event.price(), event.quantity(), event.arrival_ns(),
                               event.id() < 0xFFFF'FFFF ? static_cast<std::uint32_t>(event.id()) : kOrdersUnknown, 1});
    Fault fault = Fault::None;
    bool changes = false;
    switch (event.kind()) {
      case Kind::New:
        if (sets) {
          exists(level);
          rows[level - 1] = row;
          break;
        }
        if (!exists(level - 1)) return Fault::BeyondEnd;
        rows.insert(rows.begin() + (level - 1), row);
        break;
      case Kind::Change:
        if (!exists(level)) return Fault::BeyondEnd;
        changes = !sets && rows[level - 1].has_value();
        if (changes) {
          if (event.price() != kNoPrice && event.price() != rows[level - 1]->price) return Fault::OtherPrice;
          const std::int64_t price = rows[level - 1]->price;
          rows[level - 1] = row;
          rows[level - 1]->price = price;
        } else if (sets || event.price() != kNoPrice) {
          rows[level - 1] = row;
        }
        break;
      case Kind::Overlay:
        if (level == rows.size() + 1) rows.emplace_back();
        if (!exists(level)) return Fault::BeyondEnd;
        rows[level - 1] = row;
        break;
      case Kind::Delete:
        if (!exists(level)) return Fault::BeyondEnd;
        if (rows[level - 1] && event.price() != kNoPrice && event.price() != rows[level - 1]->price) {
          return Fault::OtherPrice;
        }
        close(rows, open);
        rows.erase(rows.begin() + (level - 1));
        break;
      case Kind::DeleteTop:
        if (!exists(level)) return Fault::BeyondEnd;
        close(rows, open);
        rows.erase(rows.begin(), rows.begin() + level);
        break;
      case Kind::DeleteBottom:
        if (!exists(level)) return Fault::BeyondEnd;
        rows.resize(level - 1);
        open = false;
        break;
      default: return Fault::Address;
    }
    std::optional<std::int64_t> last;
    for (const auto& known : rows) {
      if (!known) continue;
      if (last && !is_better(side, *last, known->price)) fault = Fault::Disorder;
      last = known->price;
    }
    const unsigned limit = depth_ != 0 ? depth_ : learned_;
    if (rows.size() > limit) {
      rows.resize(limit);
      if (depth_ == 0) open = true;
    }
    close(rows, open);
    return fault;
  }

  void clear() override {
    rows_[0].clear();
    rows_[1].clear();
    open_[0] = open_[1] = false;
    learned_ = 0;
  }
  void lose() override {
    clear();
    open_[0] = open_[1] = true;
  }
  [[nodiscard]] std::vector<Row> rows(Side side) const override {
    std::vector<Row> all;
    for (const auto& row : rows_[index_of(side)]) all.push_back(row.value_or(Row()));
    return all;
  }
  [[nodiscard]] Extent extent(Side side) const override {
    const auto& rows = rows_[index_of(side)];
    std::uint32_t known = 0;
    while (known < rows.size() && rows[known]) ++known;
    return {known, known == rows.size() && !open_[index_of(side)]};
  }
  [[nodiscard]] std::vector<Target> targets(Side side) const override {
    std::vector<Target> all;
    std::uint16_t level = 0;
    for (const auto& row : rows_[index_of(side)]) all.push_back({++level, row ? row->price : kNoPrice, 0});
    return all;
  }

 private:
  void close(const std::vector<std::optional<Row>>& rows, bool& open) const {
    if (depth_ != 0 && rows.size() == depth_) open = false;
  }

  unsigned depth_;
  unsigned learned_ = 0;
  std::vector<std::optional<Row>> rows_[2];
  bool open_[2] = {true, true};
};

class ReferencePrices final : public ReferenceBook {
 public:
  explicit ReferencePrices(unsigned depth) : depth_(depth) {}

  Fault apply(const Event& event, bool sets) override {
    if (event.side() != Side::Bid && event.side() != Side::Ask) return Fault::Address;
    const Side side = event.side();
    State& state = sides_[index_of(side)];
    if (event.kind() == Kind::DeleteSide) {
      state = State();
      return Fault::None;
    }
    const auto found =
        std::find_if(state.rows.begin(), state.rows.end(), [&](const Row& row) { return row.price == event.price(); });
    const bool is_there = found != state.rows.end();
    const bool may_be_unseen = state.is_lost || (state.fallen && !is_better(side, event.price(), *state.fallen));
    switch (event.kind()) {
      case Kind::New:
        if (is_there && !sets) return Fault::Twice;
        break;
      case Kind::Change:
        if (!is_there && !sets && !may_be_unseen) return Fault::Missing;
        break;
      case Kind::Overlay: break;
      case Kind::Delete:
        if (!is_there) return may_be_unseen ? Fault::None : Fault::Missing;
        state.rows.erase(found);
        return Fault::None;
      default: return Fault::Address;
    }
    const Row row{event.price(), event.quantity(), event.arrival_ns(),
                  event.id() < 0xFFFF'FFFF ? static_cast<std::uint32_t>(event.id()) : kOrdersUnknown, 1};
    if (is_there) {
      *found = row;
      return Fault::None;
    }
    state.rows.push_back(row);
    std::sort(state.rows.begin(), state.rows.end(),
              [&](const Row& a, const Row& b) { return is_better(side, a.price, b.price); });
    if (depth_ != 0 && state.rows.size() > depth_) {
      const std::int64_t worst = state.rows.back().price;
      if (!state.fallen || is_better(side, worst, *state.fallen)) state.fallen = worst;
      if (worst == kNoPrice) state.is_lost = true;  // nothing is better than that
      state.rows.pop_back();
    }
    return Fault::None;
  }
  void clear() override { sides_[0] = sides_[1] = State(); }
  void lose() override {
    clear();
    sides_[0].is_lost = sides_[1].is_lost = true;
  }
  [[nodiscard]] std::vector<Row> rows(Side side) const override { return sides_[index_of(side)].rows; }
  [[nodiscard]] Extent extent(Side side) const override {
    const State& state = sides_[index_of(side)];
    if (state.is_lost) return {};
    std::uint32_t known = 0;
    for (const Row& row : state.rows) known += !state.fallen || is_better(side, row.price, *state.fallen) ? 1 : 0;
    return {known, !state.fallen};
  }
  [[nodiscard]] std::vector<Target> targets(Side side) const override {
    std::vector<Target> all;
    for (const Row& row : rows(side)) all.push_back({0, row.price, 0});
    return all;
  }

 private:
  struct State {
    std::vector<Row> rows;
    bool is_lost = false;
    std::optional<std::int64_t> fallen;  ///< The best price that fell off.
  };
  unsigned depth_;
  State sides_[2]{{{}, true, {}}, {{}, true, {}}};
};

class ReferenceOrders final : public ReferenceBook {
 public:
  Fault apply(const Event& event, bool) override {
    if (event.kind() == Kind::DeleteSide) {
      if (event.side() != Side::Bid && event.side() != Side::Ask) return Fault::Address;
      std::erase_if(orders_, [&](const auto& order) { return order.second.side == event.side(); });
      return Fault::None;
    }
    const auto found = orders_.find(event.id());
    if (event.kind() == Kind::New) {
      if (found != orders_.end()) return Fault::Twice;
      if (event.side() != Side::Bid && event.side() != Side::Ask) return Fault::Address;
      orders_[event.id()] = {event.side(), event.price(), event.quantity()};
      return Fault::None;
    }
    if (event.kind() > Kind::Overlay && found == orders_.end()) return Fault::Address;
    if (found == orders_.end()) return open_ ? Fault::None : Fault::Missing;
    Order& order = found->second;
    if (event.side() != Side::None && event.side() != order.side) return Fault::OtherPrice;
    const bool moves = event.price() != kNoPrice && event.price() != order.price;
    if (event.kind() == Kind::Overlay) {
      if (moves) order.price = event.price();
      order.quantity = event.quantity();
    } else if (event.kind() == Kind::Change || event.kind() == Kind::Delete) {
      if (moves) return Fault::OtherPrice;
      if (event.kind() == Kind::Change) {
        order.quantity = event.quantity();
      } else {
        orders_.erase(found);
      }
    } else {
      return Fault::Address;
    }
    return Fault::None;
  }
  void clear() override {
    orders_.clear();
    open_ = false;
  }
  void lose() override {
    clear();
    open_ = true;
  }
  [[nodiscard]] std::vector<Row> rows(Side side) const override {
    std::map<std::int64_t, Row> by_price;
    for (const auto& [id, order] : orders_) {
      if (order.side != side) continue;
      Row& row = by_price.try_emplace(order.price, Row{order.price, 0, 0, 0, 1}).first->second;
      row.quantity += order.quantity == kNoQuantity ? 0 : order.quantity;
      ++row.orders;
    }
    std::vector<Row> all;
    for (const auto& [price, row] : by_price) all.push_back(row);
    std::sort(all.begin(), all.end(), [&](const Row& a, const Row& b) { return is_better(side, a.price, b.price); });
    return all;
  }
  [[nodiscard]] Extent extent(Side) const override { return open_ ? Extent() : Extent{AnyBook::kMany, true}; }
  [[nodiscard]] std::vector<Target> targets(Side side) const override {
    std::vector<Target> all;
    for (const auto& [id, order] : orders_) {
      if (order.side == side) all.push_back({0, order.price, id});
    }
    return all;
  }

 private:
  struct Order {
    Side side = Side::None;
    std::int64_t price = 0;
    std::int64_t quantity = 0;
  };
  std::map<std::uint64_t, Order> orders_;
  bool open_ = true;
};

class ReferencePositions final : public ReferenceBook {
 public:
  Fault apply(const Event& event, bool sets) override {
    if (event.side() != Side::Bid && event.side() != Side::Ask) return Fault::Address;
    const Side side = event.side();
    auto& orders = orders_[index_of(side)];
    bool& open = open_[index_of(side)];
    if (event.kind() == Kind::DeleteSide) {
      orders.clear();
      open = false;
      return Fault::None;
    }
    const unsigned position = event.level();
    if (position == 0) return Fault::Address;
    if (position > PositionBook::kMaxPositions) return Fault::Room;
    const auto exists = [&](unsigned count) {
      if (count <= orders.size()) return true;
      if (!open && !sets) return false;
      orders.resize(count);
      return true;
    };
    const Order order{event.id(), event.price(), event.quantity()};
    switch (event.kind()) {
      case Kind::New:
        if (sets) {
          exists(position);
          orders[position - 1] = order;
          break;
        }
        if (!exists(position - 1)) return Fault::BeyondEnd;
        orders.insert(orders.begin() + (position - 1), order);
        break;
      case Kind::Overlay:
        if (position == orders.size() + 1) orders.emplace_back();
        if (!exists(position)) return Fault::BeyondEnd;
        orders[position - 1] = order;
        break;
      case Kind::Change:
      case Kind::Delete: {
        if (!exists(position)) return Fault::BeyondEnd;
        auto& at = orders[position - 1];
        if (at) {
          if (event.id() != 0 && at->id != 0 && at->id != event.id()) return Fault::OtherOrder;
          if (event.price() != kNoPrice && event.price() != at->price) return Fault::OtherPrice;
        }
        if (event.kind() == Kind::Delete) {
          orders.erase(orders.begin() + (position - 1));
        } else if (at) {
          at->quantity = event.quantity();
        } else if (event.price() != kNoPrice) {
          at = order;
        }
        break;
      }
      case Kind::DeleteTop:
        if (!exists(position)) return Fault::BeyondEnd;
        orders.erase(orders.begin(), orders.begin() + position);
        break;
      case Kind::DeleteBottom:
        if (!exists(position)) return Fault::BeyondEnd;
        orders.resize(position - 1);
        open = false;
        break;
      default: return Fault::Address;
    }
    // Neighbours only: an order does not say anything of those beyond an unknown one.
    for (std::size_t i = 1; i < orders.size(); ++i) {
      if (orders[i - 1] && orders[i] && is_better(side, orders[i]->price, orders[i - 1]->price)) return Fault::Disorder;
    }
    return Fault::None;
  }
  void clear() override {
    orders_[0].clear();
    orders_[1].clear();
    open_[0] = open_[1] = false;
  }
  void lose() override {
    clear();
    open_[0] = open_[1] = true;
  }
  [[nodiscard]] std::vector<Row> rows(Side side) const override {
    std::vector<Row> all;
    bool is_whole = !open_[index_of(side)];
    for (const auto& order : orders_[index_of(side)]) {
      if (!order) {
        if (all.empty()) all.emplace_back();
        is_whole = false;
        break;
      }
      if (all.empty() || all.back().price != order->price) all.push_back({order->price, 0, 0, 0, 1});
      all.back().quantity += order->quantity == kNoQuantity ? 0 : order->quantity;
      ++all.back().orders;
    }
    // Further orders may have the last price.
    if (!is_whole && !all.empty()) all.back() = Row();
    return all;
  }
  [[nodiscard]] Extent extent(Side side) const override {
    const auto& orders = orders_[index_of(side)];
    const bool is_known =
        std::all_of(orders.begin(), orders.end(), [](const auto& order) { return order.has_value(); });
    if (is_known && !open_[index_of(side)]) return {AnyBook::kMany, true};
    // The first price is known if an order of another price is known to come next.
    for (const auto& order : orders) {
      if (!order) break;
      if (order->price != orders.front()->price) return {1, false};
    }
    return {};
  }
  [[nodiscard]] std::vector<Target> targets(Side side) const override {
    std::vector<Target> all;
    std::uint16_t position = 0;
    for (const auto& order : orders_[index_of(side)]) {
      all.push_back({++position, order ? order->price : kNoPrice, order ? order->id : 0});
    }
    return all;
  }

 private:
  struct Order {
    std::uint64_t id = 0;
    std::int64_t price = 0;
    std::int64_t quantity = 0;
  };
  std::vector<std::optional<Order>> orders_[2];
  bool open_[2] = {true, true};
};

inline std::unique_ptr<ReferenceBook> make_reference(const BookShape& shape) {
  switch (shape.kind) {
    case BookKind::Level: return std::make_unique<ReferenceLevels>(shape.depth);
    case BookKind::Price: return std::make_unique<ReferencePrices>(shape.depth);
    case BookKind::Order: return std::make_unique<ReferenceOrders>();
    case BookKind::Position: return std::make_unique<ReferencePositions>();
    case BookKind::None: break;
  }
  return nullptr;
}

}  // namespace stopbit::market::testing
