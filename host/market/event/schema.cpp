#include "host/market/event/schema.hpp"

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "host/market/event/event.hpp"

namespace stopbit::market {
namespace {

using Json = nlohmann::ordered_json;

Json words(std::initializer_list<std::string_view> list) {
  Json all = Json::array();
  for (const std::string_view word : list) all.push_back(word);
  return {{"enum", std::move(all)}};
}

template <class T>
Json integer() {
  return {{"type", "integer"}, {"minimum", std::numeric_limits<T>::min()}, {"maximum", std::numeric_limits<T>::max()}};
}

Json text() {
  return {{"type", "string"}};
}

/// "1411.5": exact, without zeros at the end.
Json decimal_text() {
  return {{"type", "string"}, {"pattern", R"(^-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$)"}};
}

Json object(Json properties, std::initializer_list<std::string_view> required) {
  Json names = Json::array();
  for (const std::string_view name : required) names.push_back(name);
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(names)},
          {"additionalProperties", false}};
}

/// Events of these kinds have these keys.
Json if_kind(std::initializer_list<std::string_view> kinds, std::initializer_list<std::string_view> keys) {
  Json names = Json::array();
  for (const std::string_view key : keys) names.push_back(key);
  return {{"if", {{"properties", {{"event", words(kinds)}}}}}, {"then", {{"required", std::move(names)}}}};
}

Json kinds() {
  return words({
#define STOPBIT_EVENT_KIND(enumerator, value, name, what) name,
#include "host/market/event/kinds.def"
#undef STOPBIT_EVENT_KIND
  });
}
Json causes() {
  return words({
#define STOPBIT_EVENT_CAUSE(enumerator, value, name, what) name,
#include "host/market/event/causes.def"
#undef STOPBIT_EVENT_CAUSE
  });
}
Json states() {
  return words({
#define STOPBIT_TRADING_STATE(enumerator, value, name, may_cross) name,
#include "host/market/event/states.def"
#undef STOPBIT_TRADING_STATE
  });
}
Json statistics() {
  return words({
#define STOPBIT_STATISTIC(enumerator, value, name, what) name,
#include "host/market/event/statistics.def"
#undef STOPBIT_STATISTIC
  });
}

Json event() {
  Json flags = words({"last_of_packet", "snapshot", "stale", "recovered", "possible_duplicate", "last_of_event",
                      "best_changed", "wide"});
  Json schema =
      object({{"event", kinds()},
              {"channel", integer<std::uint16_t>()},
              {"sequence", integer<std::uint32_t>()},
              {"instrument", {{"type", {"string", "integer"}}, {"minimum", 0}, {"maximum", kMaxInstrument}}},
              {"side", words({"bid", "ask"})},
              {"book", words({"implied"})},
              {"statistic", statistics()},
              {"level", {{"type", "integer"}, {"minimum", 1}, {"maximum", kLevelBehind}}},
              {"price", {{"type", "number"}}},
              {"quantity", {{"type", "number"}}},
              {"state", states()},
              {"code", integer<std::uint32_t>()},
              {"scale", integer<std::uint8_t>()},
              {"cause", causes()},
              {"number", integer<std::uint64_t>()},
              {"id", integer<std::uint64_t>()},
              {"time", integer<std::uint64_t>()},
              {"delay", integer<std::int64_t>()},
              {"flags", {{"type", "array"}, {"items", std::move(flags)}, {"minItems", 1}, {"uniqueItems", true}}}},
             {"event", "channel", "sequence", "instrument", "time"});
  schema["allOf"] = Json::array({if_kind({"statistic"}, {"statistic"}), if_kind({"state"}, {"state", "code", "scale"}),
                                 if_kind({"clear", "stale", "suspect"}, {"cause"}),
                                 if_kind({"stale", "suspect", "latest", "snapshot_end"}, {"number"})});
  return schema;
}

Json side_of_book() {
  const Json items = Json::array({{{"oneOf", Json::array({decimal_text(), {{"type", "null"}}})}},
                                  {{"type", {"number", "null"}}},
                                  {{"type", {"integer", "null"}}, {"minimum", 0}}});
  const Json row = {{"type", {"array", "null"}}, {"prefixItems", items}, {"minItems", 3}, {"maxItems", 3}};
  return {{"type", "array"}, {"items", row}};
}

Json book() {
  return object({{"seq", integer<std::uint32_t>()},
                 {"instrument", text()},
                 {"state", words({"known", "partial"})},
                 {"epoch", integer<std::uint64_t>()},
                 {"bids", side_of_book()},
                 {"asks", side_of_book()}},
                {"seq", "instrument", "state", "epoch", "bids", "asks"});
}

Json instrument() {
  const Json kind = words({"level", "price", "order", "position"});
  const Json depth = {{"type", "integer"}, {"minimum", 1}, {"maximum", kLevelBehind}};
  const Json only_true = {{"const", true}};
  return object({{"row", {{"type", "integer"}, {"minimum", 1}, {"maximum", kMaxInstrument}}},
                 {"instrument", text()},
                 {"name", text()},
                 {"product", text()},
                 {"tick", decimal_text()},
                 {"book", kind},
                 {"depth", depth},
                 {"implied", kind},
                 {"implied_depth", depth},
                 {"trading_state", states()},
                 {"trading_state_code", integer<std::uint32_t>()},
                 {"session", integer<std::uint64_t>()},
                 {"first_number", integer<std::uint64_t>()},
                 {"defined", object({{"channel", integer<std::uint16_t>()}, {"seq", integer<std::uint32_t>()}},
                                    {"channel", "seq"})},
                 {"removed", only_true},
                 {"tick_changed", only_true},
                 {"earlier", only_true}},
                {"row", "instrument", "trading_state"});
}

}  // namespace

std::string market_schema() {
  const auto reference = [](std::string_view name) { return Json{{"$ref", "#/$defs/" + std::string(name)}}; };
  const Json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "Lines about markets: of stopbit replay --events, book and instruments"},
      {"if", {{"required", {"event"}}}},
      {"then", reference("event")},
      {"else", {{"if", {{"required", {"row"}}}}, {"then", reference("instrument")}, {"else", reference("book")}}},
      {"$defs", {{"event", event()}, {"book", book()}, {"instrument", instrument()}}}};
  return schema.dump(1) + '\n';
}

}  // namespace stopbit::market
