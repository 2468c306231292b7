#include "templates/emit/schema/json_schema.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "microcode/base/hex.hpp"

namespace stopbit::emit {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json integer() {
  return {{"type", "integer"}, {"minimum", std::numeric_limits<T>::min()}, {"maximum", std::numeric_limits<T>::max()}};
}

/// An object with these keys and no others; the optional ones come second.
Json object(Json required, const Json& optional = Json::object()) {
  Json names = Json::array();
  for (const auto& [name, schema] : required.items()) names.push_back(name);
  required.update(optional);
  return {{"type", "object"},
          {"properties", std::move(required)},
          {"required", std::move(names)},
          {"additionalProperties", false}};
}

/// Without checking whether the key exists, which would take longer with each key.
void append(Json& object, const std::string& name, Json value) {
  object.get_ref<Json::object_t&>().push_back({name, std::move(value)});
}

Json reference(std::string_view name) {
  return {{"$ref", fmt::format("#/$defs/{}", name)}};
}

class JsonSchema {
 public:
  explicit JsonSchema(const Program& program) : program_(program) {}

  Json run() {
    Json definitions = {{"message", message()}, {"error", error()}, {"event", event()}};
    for (std::size_t i = 0; i < program_.type_infos.size(); ++i)
      append(definitions, fmt::format("type{}", i), names_of(i));
    for (std::size_t i = 0; i < program_.templates.size(); ++i) {
      const Template& item = program_.templates[i];
      append(definitions, fmt::format("template{}", i),
             object({{"template", {{"const", text(item.name)}}},
                     {"id", {{"const", item.id}}},
                     {"fields", fields(item.first_node, item.end_node)}}));
    }
    return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
            {"title", "Lines of stopbit replay --format jsonl"},
            {"description", fmt::format("Records of layout {:016x}", layout_hash(program_))},
            {"if", {{"required", {"template", "fields"}}}},
            {"then", reference("message")},
            {"else", {{"if", {{"required", {"error"}}}}, {"then", reference("error")}, {"else", reference("event")}}},
            {"$defs", std::move(definitions)}};
  }

 private:
  [[nodiscard]] std::string text(TextRef ref) const { return std::string(program_.name(ref)); }
  [[nodiscard]] const SchemaNode& node(std::size_t index) const { return program_.nodes[index]; }

  [[nodiscard]] Json names_of(std::size_t type_info) const {
    const TypeInfo& info = program_.type_infos[type_info];
    std::set<std::string_view> known;
    Json names = Json::array();
    for (std::uint32_t i = 0; i < info.element_count; ++i) {
      const std::string_view name = program_.name(program_.elements[info.first_element + i].name);
      // Validators want different values; of elements with the same name one stands for all.
      if (known.insert(name).second) names.push_back(name);
    }
    return {{"enum", std::move(names)}};
  }

  /// The identifier decides, so that a validator looks at one template only and says what is wrong with it.
  [[nodiscard]] Json message() const {
    Json ids = Json::array();
    Json choices = Json::array();
    for (std::size_t i = 0; i < program_.templates.size(); ++i) {
      const std::uint32_t id = program_.templates[i].id;
      ids.push_back(id);
      choices.push_back(
          {{"if", {{"properties", {{"id", {{"const", id}}}}}}}, {"then", reference(fmt::format("template{}", i))}});
    }
    return {{"type", "object"},
            {"required", {"template", "id", "fields"}},
            {"properties", {{"id", {{"enum", std::move(ids)}}}}},
            {"allOf", std::move(choices)}};
  }

  [[nodiscard]] static Json error() {
    return object({{"error", {{"type", "string"}, {"pattern", "^[A-Z][0-9]+$"}}},
                   {"packet", integer<std::uint64_t>()},
                   {"offset", integer<std::uint32_t>()},
                   {"detail", {{"type", "string"}}}},
                  {{"template", {{"type", "string"}}},
                   {"field", {{"type", "string"}}},
                   {"file", {{"type", "string"}}},
                   {"line", integer<std::uint32_t>()}});
  }

  [[nodiscard]] static Json event() {
    return object(
        {{"event", {{"type", "string"}}}, {"channel", integer<std::uint16_t>()}, {"detail", {{"type", "string"}}}},
        {{"packet", integer<std::uint64_t>()},
         {"offset", integer<std::uint32_t>()},
         {"first", integer<std::uint64_t>()},
         {"missing", integer<std::uint64_t>()},
         {"template", {{"type", "string"}}},
         {"field", {{"type", "string"}}}});
  }

  /// Nesting is bounded by limits::kMaxNodeDepth.
  [[nodiscard]] Json fields(std::size_t first, std::size_t end) const {
    Json properties = Json::object();
    Json required = Json::array();
    std::map<std::string, std::size_t, std::less<>> known;  // place in properties, by name
    std::size_t references = 0;
    for (std::size_t i = first; i < end; i = node(i).end) {
      const SchemaNode& item = node(i);
      if (item.unstored) continue;
      std::string name = text(item.name);
      if (item.kind == NodeKind::Reference) {
        name = ++references == 1 ? "templateRef" : fmt::format("templateRef{}", references);
      }
      const auto [place, is_new] = known.try_emplace(name, properties.size());
      if (is_new) {
        if (!item.optional) required.push_back(name);
        append(properties, name, value(i));
      } else {
        // A name that comes again, from another namespace: a parser of JSON sees one of the values.
        Json& schema =
            std::next(properties.get_ref<Json::object_t&>().begin(), static_cast<std::ptrdiff_t>(place->second))
                ->second;
        if (!schema.contains("anyOf")) schema = {{"anyOf", Json::array({std::move(schema)})}};
        schema["anyOf"].push_back(value(i));
      }
    }
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}};
  }

  [[nodiscard]] Json value(std::size_t index) const {
    const SchemaNode& item = node(index);
    switch (item.kind) {
      case NodeKind::Field: return item.constant ? Json{{"const", constant(item)}} : type(item);
      case NodeKind::Group: return fields(index + 1, item.end);
      case NodeKind::Sequence: {
        // A vector's one field has no name, and its values stand for themselves.
        const bool is_vector = item.end == index + 2 && node(index + 1).name.length == 0 && !node(index + 1).unstored;
        return {{"type", "array"}, {"items", is_vector ? value(index + 1) : fields(index + 1, item.end)}};
      }
      case NodeKind::Reference: return reference("message");
    }
    return false;
  }

  [[nodiscard]] static Json type(const SchemaNode& item) {
    switch (item.type) {
      case FieldType::Int8: return integer<std::int8_t>();
      case FieldType::UInt8: return integer<std::uint8_t>();
      case FieldType::Int16: return integer<std::int16_t>();
      case FieldType::UInt16: return integer<std::uint16_t>();
      case FieldType::Int32: return integer<std::int32_t>();
      case FieldType::UInt32: return integer<std::uint32_t>();
      case FieldType::Int64:
      case FieldType::Timestamp: return integer<std::int64_t>();
      case FieldType::UInt64: return integer<std::uint64_t>();
      case FieldType::Decimal: return {{"type", "number"}};
      case FieldType::Ascii:
      case FieldType::Unicode: return {{"type", "string"}};
      case FieldType::ByteVector: return {{"type", "string"}, {"pattern", "^([0-9a-f]{2})*$"}};
      case FieldType::Enum: return reference(fmt::format("type{}", item.type_info));
      case FieldType::Set: return {{"type", "array"}, {"items", reference(fmt::format("type{}", item.type_info))}};
      case FieldType::Boolean: return {{"type", "boolean"}};
    }
    return true;
  }

  /// As it is printed; schemas compare numbers by value.
  [[nodiscard]] Json constant(const SchemaNode& item) const {
    const Constant& value = program_.constants[item.constant_index];
    const auto element = [&](std::uint64_t i) {
      return text(program_.elements[program_.type_infos[item.type_info].first_element + i].name);
    };
    switch (item.type) {
      case FieldType::Decimal: {
        const auto mantissa = static_cast<std::int64_t>(program_.constants[item.constant_index + std::size_t{1}].value);
        // Without exponent it is printed as an integer, and an integer has to stay exact.
        if (value.value == 0) return mantissa;
        return Json::parse(fmt::format("{}e{}", mantissa, static_cast<std::int64_t>(value.value)));
      }
      case FieldType::Ascii: return latin1(program_.constant_bytes(value.bytes()));
      case FieldType::Unicode: return utf8(program_.constant_bytes(value.bytes()));
      case FieldType::ByteVector: {
        std::string hex;
        for (const char byte : program_.constant_bytes(value.bytes())) {
          append_hex(hex, static_cast<unsigned char>(byte), 2);
        }
        return hex;
      }
      case FieldType::Enum: return element(value.value);
      case FieldType::Set: {
        Json names = Json::array();
        for (std::uint32_t i = 0; i < program_.type_infos[item.type_info].element_count; ++i) {
          if ((value.value >> i & 1) != 0) names.push_back(element(i));
        }
        return names;
      }
      case FieldType::Boolean: return value.value != 0;
      case FieldType::Int8:
      case FieldType::Int16:
      case FieldType::Int32:
      case FieldType::Int64:
      case FieldType::Timestamp: return static_cast<std::int64_t>(value.value);
      default: return value.value;
    }
  }

  /// The printer makes a character of each byte of an ASCII string.
  static std::string latin1(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x80) {
        out += c;
      } else {
        out += static_cast<char>(0xC0 | byte >> 6);
        out += static_cast<char>(0x80 | (byte & 0x3F));
      }
    }
    return out;
  }

  static std::string utf8(std::string_view bytes) {
    // Invalid UTF-8 becomes U+FFFD, in the printer and here.
    return Json::parse(Json(std::string(bytes)).dump(-1, ' ', false, Json::error_handler_t::replace))
        .get<std::string>();
  }

  const Program& program_;
};

}  // namespace

std::string json_schema(const Program& program) {
  return JsonSchema(program).run().dump(1) + '\n';
}

}  // namespace stopbit::emit
