#include "templates/xml/document.hpp"

#include <algorithm>
#include <pugixml.hpp>
#include <utility>

#include "templates/xml/scan.hpp"

namespace stopbit::templates::xml {
namespace {

constexpr std::string_view kXmlNamespace = "http://www.w3.org/XML/1998/namespace";

struct QualifiedName {
  std::string_view prefix;
  std::string_view local;
};

QualifiedName split(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return {{}, name};
  return {name.substr(0, colon), name.substr(colon + 1)};
}

/// Turns the library's tree into ours. Both readers of the text must agree about the tags, in number and place.
class Converter {
 public:
  Converter(std::shared_ptr<const SourceBuffer> source, const Places& places, std::size_t text_offset, Report& report)
      : source_(std::move(source)), places_(places), text_offset_(text_offset), report_(report) {
    bindings_.push_back({"xml", std::string(kXmlNamespace)});
  }

  std::optional<Element> convert(const pugi::xml_node& node) {
    Element root;
    if (!convert(node, root) || next_tag_ != places_.tags.size()) {
      report_.error(ErrorCode::S1, {source_, 0, 1}, "the file is not well-formed XML");
      return std::nullopt;
    }
    return root;
  }

 private:
  struct Binding {
    std::string prefix;
    std::string uri;
  };

  // Recursion is bounded: the scan has refused text that is nested deeper than FileLimits::nesting.
  bool convert(const pugi::xml_node& node, Element& out) {
    if (next_tag_ == places_.tags.size()) return false;
    const TagPlace& tag = places_.tags[next_tag_++];
    if (node.offset_debug() + static_cast<std::ptrdiff_t>(text_offset_) != static_cast<std::ptrdiff_t>(tag.offset) + 1)
      return false;
    out.range = {source_, tag.offset, tag.length};
    if (tag.text != 0) out.text = SourceRange{source_, tag.text, 1};

    const std::size_t outer_bindings = bindings_.size();
    if (!bind_namespaces(node, tag)) return false;
    const QualifiedName name = split(node.name());
    out.name = name.local;
    out.name_space = resolve(name, out.range, true);
    convert_attributes(node, tag, out);
    for (const pugi::xml_node& child : node.children()) {
      if (child.type() != pugi::node_element) continue;
      if (!convert(child, out.children.emplace_back())) return false;
    }
    bindings_.resize(outer_bindings);
    return true;
  }

  SourceRange place(const TagPlace& tag, std::size_t index) const {
    const AttributePlace& attribute = places_.attributes[tag.first_attribute + index];
    return {source_, attribute.offset, attribute.length};
  }

  bool bind_namespaces(const pugi::xml_node& node, const TagPlace& tag) {
    std::size_t index = 0;
    for (const pugi::xml_attribute& attribute : node.attributes()) {
      if (index == tag.attributes) return false;
      if (is_declaration(attribute)) bind(attribute, place(tag, index));
      ++index;
    }
    return index == tag.attributes;
  }

  static bool is_declaration(const pugi::xml_attribute& attribute) {
    const QualifiedName name = split(attribute.name());
    return name.prefix == "xmlns" || (name.prefix.empty() && name.local == "xmlns");
  }

  void bind(const pugi::xml_attribute& attribute, const SourceRange& range) {
    const QualifiedName name = split(attribute.name());
    const std::string_view uri = attribute.value();
    if (uri.empty() && !name.prefix.empty())
      report_.error(ErrorCode::S1, range, "a prefix cannot be bound to the empty namespace");
    if (uri.size() > kMaxNamespaceBytes) {
      report_.error(ErrorCode::T1, range,
                    "the namespace has more than " + std::to_string(kMaxNamespaceBytes) + " bytes");
    }
    bindings_.push_back(
        {std::string(name.prefix.empty() ? "" : name.local), std::string(uri.substr(0, kMaxNamespaceBytes))});
  }

  void convert_attributes(const pugi::xml_node& node, const TagPlace& tag, Element& out) {
    std::vector<std::string_view> names;
    std::size_t index = 0;
    for (const pugi::xml_attribute& attribute : node.attributes()) {
      const SourceRange range = place(tag, index++);
      const QualifiedName name = split(attribute.name());
      bool twice = std::find(names.begin(), names.end(), attribute.name()) != names.end();
      names.emplace_back(attribute.name());
      if (!is_declaration(attribute)) {
        Attribute converted{std::string(name.local), resolve(name, range, false), attribute.value(), range};
        for (const Attribute& other : out.attributes) {
          twice = twice || (other.name == converted.name && other.name_space == converted.name_space);
        }
        if (!twice) out.attributes.push_back(std::move(converted));
      }
      if (twice) report_.error(ErrorCode::S1, range, "attribute " + quoted(attribute.name()) + " is given twice");
    }
  }

  /// Attributes without a prefix have no namespace; elements have the default one.
  std::string resolve(const QualifiedName& name, const SourceRange& range, bool is_element) {
    if (name.prefix.empty() && !is_element) return {};
    for (auto binding = bindings_.rbegin(); binding != bindings_.rend(); ++binding) {
      if (binding->prefix == name.prefix) return binding->uri;
    }
    if (name.prefix.empty()) return {};
    report_.error(ErrorCode::S1, range, "prefix " + quoted(name.prefix) + " has no namespace");
    return "prefix:" + std::string(name.prefix);
  }

  std::shared_ptr<const SourceBuffer> source_;
  const Places& places_;
  std::size_t text_offset_;
  Report& report_;
  std::vector<Binding> bindings_;
  std::size_t next_tag_ = 0;
};

}  // namespace

const Attribute* Element::find(std::string_view attribute) const {
  for (const Attribute& candidate : attributes) {
    if (candidate.name_space.empty() && candidate.name == attribute) return &candidate;
  }
  return nullptr;
}

std::optional<Element> parse(const std::shared_ptr<const SourceBuffer>& source, const FileLimits& limits,
                             Report& report) {
  const std::optional<Places> places = scan(source, limits, report);
  if (!places) return std::nullopt;
  const std::size_t mark = source->text().starts_with("\xEF\xBB\xBF") ? 3 : 0;
  const std::string_view text = source->text().substr(mark);

  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) {
    const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0)) + mark;
    report.error(ErrorCode::S1, {source, offset, 1}, "the file is not well-formed XML");
    return std::nullopt;
  }
  return Converter(source, *places, mark, report).convert(document.document_element());
}

}  // namespace stopbit::templates::xml
