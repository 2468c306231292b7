#include "templates/emit/cpp/identifiers.hpp"
#include "microcode/base/ascii.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stopbit::emit {
namespace {

/// Keywords of C++23, and macros that common headers define.
bool is_taken_by_language(std::string_view name) {
  static const std::set<std::string_view> kWords = {
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
      "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
      "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
      "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
      "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
      "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short",
      "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
      "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual",
      "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
      // Not keywords everywhere, but not usable as any name.
      "final", "import", "module", "override",
      // Macros.
      "BIG_ENDIAN", "BUFSIZ", "BYTE_ORDER", "DOMAIN", "EOF", "EXIT_FAILURE", "EXIT_SUCCESS", "HUGE_VAL", "INFINITY",
      "LITTLE_ENDIAN", "NAN", "NULL", "OVERFLOW", "PLOSS", "RAND_MAX", "SEEK_CUR", "SEEK_END", "SEEK_SET", "SING",
      "TLOSS", "UNDERFLOW", "alloca", "assert", "emit", "errno", "foreach", "forever", "i386", "linux", "major",
      "makedev", "minor", "offsetof", "setjmp", "signals", "slots", "stderr", "stdin", "stdout", "unix", "va_arg",
      "va_copy", "va_end", "va_start",
      // Windows.
      "ABSOLUTE", "CALLBACK", "CONST", "DELETE", "ERROR", "FALSE", "IN", "NO_ERROR", "OPTIONAL", "OUT", "TRUE", "VOID",
      "far", "max", "min", "near", "small"};
  // <limits.h>, <stdint.h>, <signal.h>, <errno.h>: macros by their pattern.
  const bool is_macro =
      name.size() > 3 && (name.ends_with("_MAX") || name.ends_with("_MIN") || name.starts_with("SIG"));
  const auto is_capital = [](char c) { return (c >= 'A' && c <= 'Z') || is_digit(c); };
  const bool is_errno = name.size() > 3 && name[0] == 'E' && std::all_of(name.begin(), name.end(), is_capital);
  return kWords.contains(name) || is_errno ||
         (is_macro && std::all_of(name.begin(), name.end(), [&](char c) { return is_capital(c) || c == '_'; }));
}

}  // namespace

std::string identifier(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (is_letter_or_digit(c)) {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  if (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty()) return "unnamed";
  if (is_digit(out.front())) out.insert(out.begin(), 'v');
  if (is_taken_by_language(out)) out += '_';
  return out;
}

bool is_namespace(std::string_view name) {
  for (;;) {
    const std::size_t end = std::min(name.find("::"), name.size());
    const std::string_view part = name.substr(0, end);
    if (part.empty() || identifier(part) != part) return false;
    if (end == name.size()) return true;
    name.remove_prefix(end + 2);
  }
}

std::string Scope::unique(std::string_view name) {
  std::string given = identifier(name);
  if (take(given)) return given;
  const std::string stem = given.back() == '_' ? given : given + '_';
  unsigned& number = last_[stem];
  do {
    number = std::max(number, 1U) + 1;
    given = stem + std::to_string(number);
  } while (!take(given));
  return given;
}

bool Scope::take(const std::string& identifier) {
  return (reserved_ == nullptr || !reserved_->contains(identifier)) && taken_.insert(identifier).second;
}

std::string literal(std::string_view bytes) {
  constexpr std::string_view kPlain = " !#$%&'()*+,-./:;<=>@[]^_`{|}~";
  std::string out = "\"";
  for (const char c : bytes) {
    if (is_letter_or_digit(c) || kPlain.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    // Three octal digits: what follows cannot run into them.
    const auto byte = static_cast<unsigned char>(c);
    out += '\\';
    for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + (byte >> shift & 7));
  }
  return out + '"';
}

std::string comment(std::string_view text) {
  constexpr std::string_view kPlain = " _-/.,:;#@+=()[]<>!$%&|'\"";
  std::string out;
  for (const char c : text) out += is_letter_or_digit(c) || kPlain.find(c) != std::string_view::npos ? c : '.';
  return out;
}

}  // namespace stopbit::emit
