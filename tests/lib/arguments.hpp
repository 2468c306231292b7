#pragma once

#include <charconv>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace stopbit::testing {

/// The command line of a program that tests: what CLI11 does for users takes ten seconds to compile in each program.
/// Targets are written by read() and must outlive it.
class Arguments {
 public:
  explicit Arguments(std::string about) : about_(std::move(about)) {}

  /// `--name NUMBER`, from `least` to `most`.
  template <class T>
  void number(const std::string& name, T& target, const std::string& about, T least = std::numeric_limits<T>::lowest(),
              T most = std::numeric_limits<T>::max()) {
    add({.name = name, .about = about, .take = [&target, least, most](const std::string& text) {
           T value{};
           const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
           if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most))
             return false;
           target = value;
           return true;
         }});
  }
  /// `--name TEXT`.
  void text(const std::string& name, std::string& target, const std::string& about, bool is_required = false);
  /// `--name`.
  void flag(const std::string& name, bool& target, const std::string& about);
  /// A word without a name; required. One of `choices`, if there are any.
  void word(const std::string& name, std::string& target, const std::string& about,
            std::vector<std::string> choices = {});

  /// The exit status with which the program ends now: after help 0, after an error, which stderr tells, 2.
  [[nodiscard]] std::optional<int> read(int argc, const char* const* argv);

 private:
  struct Argument {
    std::string name;
    std::string about;
    std::function<bool(const std::string& text)> take;
    bool is_flag = false;
    bool is_word = false;
    bool is_required = false;
    bool is_given = false;
  };

  void add(Argument argument) { arguments_.push_back(std::move(argument)); }
  void print_help(const char* program) const;

  std::string about_;
  std::vector<Argument> arguments_;
};

}  // namespace stopbit::testing
