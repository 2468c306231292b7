#include "host/cli/common/roff.hpp"

#include <fmt/format.h>

#include "host/cli/common/text.hpp"

namespace stopbit::tools {

std::string roff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins_line = i == 0 || text[i - 1] == '\n';
    if (begins_line && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\') {
      out += "\\e";
    } else if (text[i] == '-') {
      out += "\\-";
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string roff_paragraphs(std::string_view text) {
  std::string out;
  bool literal = false;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(' ') != literal) {
      literal = !literal;
      out += literal ? ".PP\n.nf\n" : ".fi\n";
    }
    out += line.empty() ? ".PP\n" : roff(line) + '\n';
  }
  return out + (literal ? ".fi\n" : "");
}

std::string roff_head(std::string_view name, int section, std::string_view summary) {
  return fmt::format(".TH {} {} \"\" \"{}\" \"Stopbit\"\n.SH NAME\n{} \\- {}\n", roff(name), section,
                     roff(fmt::format("stopbit {}", STOPBIT_VERSION)), roff(name), roff(summary));
}

std::string roff_literal(std::string_view text) {
  std::string out = ".PP\n.RS 4\n.nf\n";
  for (const std::string_view line : split(text, '\n')) out += line.empty() ? "\n" : roff(line) + '\n';
  return out + ".fi\n.RE\n";
}

}  // namespace stopbit::tools
