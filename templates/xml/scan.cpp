#include "templates/xml/scan.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "microcode/base/ascii.hpp"
#include "microcode/base/limits.hpp"

namespace stopbit::templates::xml {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

bool is_blank(char c) {
  return kBlank.find(c) != std::string_view::npos;
}

/// Letters beyond ASCII are taken as they come: names that matter are ASCII.
bool starts_name(char c) {
  return is_letter(c) || c == '_' || c == ':' || static_cast<unsigned char>(c) >= 0x80;
}
bool continues_name(char c) {
  return starts_name(c) || is_digit(c) || c == '-' || c == '.';
}

/// Length of the UTF-8 character that `text` begins with; 0 if it is malformed or no XML character.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 || is_blank(text[0]) ? 1 : 0;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  std::uint32_t code = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  const bool overlong = code < (length == 2 ? 0x80U : length == 3 ? 0x800U : 0x10000U);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return overlong || surrogate || code > 0x10FFFF || code == 0xFFFE || code == 0xFFFF ? 0 : length;
}

class Scanner {
 public:
  Scanner(const std::shared_ptr<const SourceBuffer>& source, const FileLimits& limits, Report& report)
      : source_(source), text_(source->text()), limits_(limits), report_(report) {}

  std::optional<Places> run() {
    if (text_.size() > limits_.file_bytes) {
      fail(ErrorCode::T1, 0, 1,
           "the file has " + std::to_string(text_.size()) + " bytes; at most " + std::to_string(limits_.file_bytes) +
               " are allowed");
      return std::nullopt;
    }
    if (!check_characters()) return std::nullopt;
    at_ = text_.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    start_ = at_;
    while (!failed_ && at_ < text_.size()) step();
    if (failed_) return std::nullopt;
    if (!open_.empty()) {
      const TagPlace& tag = places_.tags[open_.back().tag];
      fail(ErrorCode::S1, tag.offset, tag.length, "element " + quoted(open_.back().name) + " is not closed");
    } else if (places_.tags.empty()) {
      fail(ErrorCode::S1, 0, 1, "the file has no XML element");
    }
    if (failed_) return std::nullopt;
    return std::move(places_);
  }

 private:
  struct Open {
    std::string_view name;
    std::size_t tag;
  };

  void fail(ErrorCode code, std::size_t offset, std::size_t length, const std::string& message) {
    report_.error(code, {source_, offset, length}, message);
    failed_ = true;
  }
  void malformed(std::size_t offset, const std::string& message) { fail(ErrorCode::S1, offset, 1, message); }

  bool check_characters() {
    if (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF")) {
      malformed(0, "the file is UTF-16; template files are read as UTF-8: convert it with iconv -f UTF-16 -t UTF-8");
      return false;
    }
    for (std::size_t i = 0; i < text_.size();) {
      const std::size_t length = character_length(text_.substr(i));
      if (length == 0) {
        malformed(i, "a byte that is not UTF-8, or a character that XML does not allow" + encoding_advice());
        return false;
      }
      i += length;
    }
    return true;
  }

  /// How to convert the file, if its first line names another encoding or a byte is of none that is read.
  [[nodiscard]] std::string encoding_advice() const {
    constexpr std::string_view kBegin = "<?xml";
    constexpr std::string_view kKey = "encoding=";
    constexpr std::size_t kMostLetters = 40;
    const std::string_view head = text_.starts_with(kBegin) ? text_.substr(0, text_.find('>')) : std::string_view();
    std::size_t at = head.find(kKey);
    if (at == std::string_view::npos) return "; template files are read as UTF-8: convert this one with iconv";
    at += kKey.size();
    const std::size_t end = at < head.size() ? head.find(head[at], at + 1) : std::string_view::npos;
    if (end == std::string_view::npos) return {};
    const std::string_view name = head.substr(at + 1, std::min(end - at - 1, kMostLetters));
    const bool is_utf8 = name.size() == 5 && name.ends_with("-8");
    const auto is_name = [](char c) { return is_digit(c) || is_letter(c) || c == '-' || c == '_' || c == '.'; };
    if (is_utf8) return "; the file says it is " + quoted(name) + ", and is not";
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_name)) return {};
    return "; the file says it is " + quoted(name) +
           ", and template files are read as UTF-8: convert it with iconv -f " + std::string(name) + " -t UTF-8";
  }

  [[nodiscard]] bool looking_at(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void skip_blank() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  std::string_view take_name() {
    const std::size_t begin = at_;
    if (at_ < text_.size() && starts_name(text_[at_])) {
      while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  /// Moves past the next `end`. `what` names the construct that began at `begin`.
  void skip_past(std::string_view end, std::size_t from, std::size_t begin, const char* what) {
    const std::size_t found = text_.find(end, from);
    if (found == std::string_view::npos) return malformed(begin, std::string(what) + " is not closed");
    at_ = found + end.size();
  }

  void step() {
    if (text_[at_] != '<') return character_data();
    if (looking_at("<!--")) return comment();
    if (looking_at("<![CDATA[")) {
      if (open_.empty()) return malformed(at_, "character data outside the root element");
      note_text(at_);
      return skip_past("]]>", at_, at_, "the CDATA section");
    }
    if (looking_at("<!DOCTYPE")) {
      return fail(ErrorCode::T3, at_, 9, "document type declarations are refused: they can expand without bound");
    }
    if (looking_at("<?")) return instruction();
    if (looking_at("</")) return end_tag();
    start_tag();
  }

  void character_data() {
    const std::size_t end = std::min(text_.find('<', at_), text_.size());
    for (; at_ < end && !failed_; ++at_) {
      if (is_blank(text_[at_])) continue;
      if (open_.empty()) return malformed(at_, "text outside the root element");
      note_text(at_);
      if (text_[at_] == '&') check_reference(at_);
    }
    at_ = end;
  }

  void note_text(std::size_t offset) {
    TagPlace& tag = places_.tags[open_.back().tag];
    if (tag.text == 0) tag.text = static_cast<std::uint32_t>(offset);
  }

  /// Checks the reference at `offset`, which is an ampersand. Only those that every XML file has are known.
  void check_reference(std::size_t offset) {
    const std::string_view rest = text_.substr(offset + 1, 12);
    const std::size_t end = rest.find(';');
    if (end == std::string_view::npos) return malformed(offset, "'&' must be written as '&amp;'");
    const std::string_view name = rest.substr(0, end);
    if (name.starts_with('#')) {
      const bool hex = name.starts_with("#x");
      const std::string_view digits = name.substr(hex ? 2 : 1);
      std::uint32_t code = 0;
      const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
      const bool whole = error == std::errc() && stop == digits.data() + digits.size();
      const bool allowed =
          code >= 0x20 ? code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF) && code != 0xFFFE && code != 0xFFFF
                       : code == 9 || code == 10 || code == 13;
      if (!whole || !allowed) malformed(offset, "'&" + std::string(name) + ";' is not a character of XML");
    } else if (name != "amp" && name != "lt" && name != "gt" && name != "quot" && name != "apos") {
      malformed(offset, "'&" + std::string(name) + ";' is not declared");
    }
  }

  void comment() {
    const std::size_t begin = at_;
    const std::size_t dashes = text_.find("--", begin + 4);
    if (dashes == std::string_view::npos) return malformed(begin, "the comment is not closed");
    if (text_.substr(dashes + 2, 1) != ">") return malformed(dashes, "'--' is not allowed in a comment");
    at_ = dashes + 3;
  }

  void instruction() {
    const std::size_t begin = at_;
    at_ += 2;
    const std::string_view target = take_name();
    if (target.empty()) return malformed(begin, "a processing instruction needs a name");
    if (target == "xml" && begin != start_) return malformed(begin, "the XML declaration must come first");
    skip_past("?>", at_, begin, "the processing instruction");
  }

  void end_tag() {
    const std::size_t begin = at_;
    at_ += 2;
    const std::string_view name = take_name();
    skip_blank();
    if (!looking_at(">")) return malformed(begin, "the end tag is malformed");
    ++at_;
    if (open_.empty()) return fail(ErrorCode::S1, begin, at_ - begin, "end tag without a start tag");
    if (name != open_.back().name) {
      fail(ErrorCode::S1, begin, at_ - begin,
           "end tag " + quoted(name) + " closes element " + quoted(open_.back().name));
      const TagPlace& tag = places_.tags[open_.back().tag];
      return report_.note({source_, tag.offset, tag.length}, "which begins here");
    }
    open_.pop_back();
  }

  void start_tag() {
    const std::size_t begin = at_;
    ++at_;
    const std::string_view name = take_name();
    if (name.empty()) return malformed(begin, "'<' must be followed by a name, or be written as '&lt;'");
    if (open_.empty() && !places_.tags.empty()) return malformed(begin, "a second root element");
    if (open_.size() == limits_.nesting) {
      return fail(ErrorCode::T1, begin, at_ - begin,
                  "elements are nested more than " + std::to_string(limits_.nesting) + " deep");
    }
    const std::size_t index = places_.tags.size();
    places_.tags.push_back(
        {static_cast<std::uint32_t>(begin), 0, static_cast<std::uint32_t>(places_.attributes.size()), 0, 0});
    bool closed = false;
    while (!failed_) {
      const std::size_t before = at_;
      skip_blank();
      if (looking_at("/>")) {
        at_ += 2;
        closed = true;
        break;
      }
      if (looking_at(">")) {
        ++at_;
        break;
      }
      if (at_ == text_.size()) return malformed(begin, "the tag is not closed");
      if (before == at_) return malformed(at_, "a blank is missing before the attribute");
      attribute(index);
    }
    if (failed_) return;
    places_.tags[index].length = static_cast<std::uint32_t>(at_ - begin);
    if (places_.tags.size() + places_.attributes.size() > kMaxTagsAndAttributes) {
      return fail(ErrorCode::T1, begin, at_ - begin,
                  "the file has more than " + std::to_string(kMaxTagsAndAttributes) + " elements and attributes");
    }
    if (!closed) open_.push_back({name, index});
  }

  void attribute(std::size_t tag) {
    const std::size_t begin = at_;
    const std::string_view name = take_name();
    if (name.empty()) return malformed(begin, "an attribute name is expected");
    skip_blank();
    if (!looking_at("=")) return malformed(begin, "attribute " + quoted(name) + " has no value");
    ++at_;
    skip_blank();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '"' && quote != '\'') return malformed(at_, "an attribute value must be in quotes");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos)
      return malformed(begin, "the value of attribute " + quoted(name) + " is not closed");
    for (std::size_t i = at_ + 1; i < end && !failed_; ++i) {
      if (text_[i] == '<') return malformed(i, "'<' must be written as '&lt;' in an attribute");
      if (text_[i] == '&') check_reference(i);
    }
    at_ = end + 1;
    places_.attributes.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_ - begin)});
    if (++places_.tags[tag].attributes > kMaxAttributesOfElement) {
      fail(ErrorCode::T1, begin, at_ - begin,
           "an element has more than " + std::to_string(kMaxAttributesOfElement) + " attributes");
    }
  }

  std::shared_ptr<const SourceBuffer> source_;
  std::string_view text_;
  const FileLimits& limits_;
  Report& report_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;  ///< After the byte order mark.
  bool failed_ = false;
  Places places_;
  std::vector<Open> open_;
};

}  // namespace

std::optional<Places> scan(const std::shared_ptr<const SourceBuffer>& source, const FileLimits& limits,
                           Report& report) {
  return Scanner(source, limits, report).run();
}

}  // namespace stopbit::templates::xml
