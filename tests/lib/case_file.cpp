#include "tests/lib/case_file.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stopbit::cases {
namespace {

struct KnownSection {
  std::string_view name;
  bool may_repeat;
};

constexpr std::array kKnownSections = {
    KnownSection{"about", false},   KnownSection{"options", false}, KnownSection{"template", true},
    KnownSection{"program", false}, KnownSection{"bytes", false},   KnownSection{"records", false},
    KnownSection{"error", false},   KnownSection{"warning", false}, KnownSection{"rule", false},
    KnownSection{"listing", false}, KnownSection{"run", false},     KnownSection{"files", true},
    KnownSection{"stdout", false},  KnownSection{"stderr", false},  KnownSection{"exit", false},
    KnownSection{"json", false},    KnownSection{"encoded", false}, KnownSection{"steps", false},
};

bool is_header(std::string_view line) {
  return line.size() > 3 && line.starts_with("-- ") && line[3] != ' ';
}

std::string_view trim(std::string_view text) {
  text = without_trailing_space(text);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

}  // namespace

std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::optional<CaseFile> CaseFile::parse(std::shared_ptr<const SourceBuffer> source, Diagnostics& diagnostics) {
  CaseFile result;
  result.source_ = source;
  const std::size_t errors = diagnostics.errors();
  const auto error = [&](std::size_t offset, std::size_t length, std::string message) {
    diagnostics.error(ErrorCode::None, {source, offset, length}, std::move(message));
  };

  const std::string_view text = source->text();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t line_end = std::min(text.find('\n', at), text.size());
    const std::size_t next = std::min(line_end + 1, text.size());
    const std::string_view line = text.substr(at, line_end - at);
    if (is_header(line)) {
      const std::string_view header = trim(line.substr(3));
      const std::size_t name_end = std::min(header.find(' '), header.size());
      Section section{std::string(header.substr(0, name_end)), std::string(trim(header.substr(name_end))), at, next,
                      next};
      const auto known = std::find_if(kKnownSections.begin(), kKnownSections.end(),
                                      [&](const KnownSection& k) { return k.name == section.name; });
      if (known == kKnownSections.end()) {
        error(at + 3, section.name.size(), "unknown section '" + section.name + "'");
      } else if (!known->may_repeat && result.find(section.name)) {
        error(at + 3, section.name.size(), "section '" + section.name + "' stands twice");
      }
      result.sections_.push_back(std::move(section));
    } else if (result.sections_.empty()) {
      if (!trim(line).empty()) error(at, line.size(), "text before the first section");
    } else if (!trim(line).empty()) {
      result.sections_.back().end = next;
    }
    at = next;
  }
  const Section* about = result.find("about");
  if (!about || about->begin == about->end) error(0, 0, "a case begins with '-- about' and a sentence");
  if (diagnostics.errors() != errors) return std::nullopt;
  return result;
}

const Section* CaseFile::find(std::string_view name) const noexcept {
  const auto it = std::find_if(sections_.begin(), sections_.end(), [&](const Section& s) { return s.name == name; });
  return it == sections_.end() ? nullptr : &*it;
}

std::string_view CaseFile::text(const Section& section) const {
  return source_->text().substr(section.begin, section.end - section.begin);
}

std::vector<std::string> CaseFile::lines(const Section* section) const {
  std::vector<std::string> result;
  if (!section) return result;
  std::string_view rest = text(*section);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    result.emplace_back(without_trailing_space(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return result;
}

std::shared_ptr<const SourceBuffer> CaseFile::as_file(const Section& section, std::string_view default_name) const {
  std::string name(section.argument.empty() ? default_name : std::string_view(section.argument));
  return std::make_shared<const SourceBuffer>(std::move(name), std::string(text(section)));
}

std::string CaseFile::with(std::string_view name, const std::vector<std::string>& lines) const {
  std::string body;
  for (const std::string& line : lines) body += line + "\n";
  const std::string_view all = source_->text();
  std::string result;
  if (const Section* section = find(name)) {
    const std::size_t from = lines.empty() ? section->header : section->begin;
    result = std::string(all.substr(0, from)) + body + std::string(all.substr(section->end));
  } else {
    result = all;
    if (!lines.empty()) {
      if (!result.empty() && result.back() != '\n') result += '\n';
      result += "-- " + std::string(name) + "\n" + body;
    }
  }
  return result;
}

std::vector<std::filesystem::path> find_cases(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> result;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".case") result.push_back(entry.path());
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace stopbit::cases
