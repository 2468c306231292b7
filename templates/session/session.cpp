#include "templates/session/session.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "scp_text.hpp"
#include "templates/ast/build.hpp"
#include "templates/xml/document.hpp"

namespace stopbit::templates::session {

std::shared_ptr<const SourceBuffer> source() {
  return std::make_shared<const SourceBuffer>("scp-1.1.xml (built in)", std::string(kScpText));
}

void supply(const std::shared_ptr<const SourceBuffer>& source, std::uint16_t source_index, ast::TemplateSet& set,
            Report& report) {
  std::vector<xml::Element> documents;
  if (std::optional<xml::Element> document = xml::parse(source, {}, report)) documents.push_back(std::move(*document));
  ast::TemplateSet session = ast::build(documents, {}, report);
  const std::size_t own = set.templates.size();
  for (ast::Template& item : session.templates) {
    const auto is_same = [&](const ast::Template& other) {
      return other.name == item.name || (item.id && other.id == item.id);
    };
    if (std::any_of(set.templates.begin(), set.templates.begin() + static_cast<std::ptrdiff_t>(own), is_same)) continue;
    item.source = source_index;
    set.templates.push_back(std::move(item));
  }
}

}  // namespace stopbit::templates::session
