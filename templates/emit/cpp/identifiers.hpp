#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

/// Names and texts of template files as C++ may see them. Both come from strangers: nothing in them reaches the
/// generated text as it is.
namespace stopbit::emit {

/// An identifier made of the name: letters and digits stay, every run of anything else becomes one underscore, a
/// leading digit gets a `v` before it, and a C++ keyword or a usual macro an underscore after it. Never empty, never
/// reserved to the implementation.
[[nodiscard]] std::string identifier(std::string_view name);

/// A whole namespace name, "a::b::c", of identifiers that need no change.
[[nodiscard]] bool is_namespace(std::string_view name);

/// Identifiers of one scope, each given once: a second of the same name becomes `name_2`, and so on.
class Scope {
 public:
  Scope() = default;
  /// None of `reserved` is given either; it must outlive the scope.
  explicit Scope(const std::set<std::string>& reserved) : reserved_(&reserved) {}

  [[nodiscard]] std::string unique(std::string_view name);

 private:
  /// False if it is not to be had.
  bool take(const std::string& identifier);

  const std::set<std::string>* reserved_ = nullptr;
  std::set<std::string> taken_;
  std::map<std::string, unsigned> last_;  ///< Last number used, by the text before it.
};

/// A string literal with quotes, of any bytes.
[[nodiscard]] std::string literal(std::string_view bytes);

/// For a comment: printable ASCII that cannot end it, continue it on the next line or form a trigraph.
[[nodiscard]] std::string comment(std::string_view text);

}  // namespace stopbit::emit
