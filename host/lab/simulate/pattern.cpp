#include "host/lab/simulate/pattern.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "host/lab/simulate/stamp.hpp"
#include "microcode/base/hex.hpp"

namespace stopbit::simulate {
namespace {

void number(std::string& to, std::uint64_t value) {
  to += std::to_string(value);
}

struct Variable {
  std::string_view name;
  std::string_view meaning;
  void (*write)(const Facts& facts, std::string& to);
};

using Out = std::string&;
constexpr std::array kVariables = {
    Variable{"seq", "number of the packet in its stream", [](const Facts& f, Out to) { number(to, f.sequence); }},
    Variable{"seq_hex", "the same, eight digits",
             [](const Facts& f, Out to) { append_hex(to, f.sequence & 0xFFFF'FFFF, 8); }},
    Variable{"time", "ns since 1970", [](const Facts& f, Out to) { number(to, f.time_ns); }},
    Variable{"time_hex", "the same, sixteen digits", [](const Facts& f, Out to) { append_hex(to, f.time_ns, 16); }},
    Variable{"time_ms", "yyyymmddHHMMSSmmm", [](const Facts& f, Out to) { number(to, stamp_ms(f.time_ns)); }},
    Variable{"time_us", "yymmddHHMMSSuuuuuu", [](const Facts& f, Out to) { number(to, stamp_us(f.time_ns)); }},
    Variable{"date", "yyyymmdd", [](const Facts& f, Out to) { number(to, date_of(f.time_ns)); }},
    Variable{"sender", "number of the sender; increases at a fail-over",
             [](const Facts& f, Out to) { number(to, f.sender); }},
    Variable{"last", "last number of the incremental stream",
             [](const Facts& f, Out to) { number(to, f.last_sequence); }},
    Variable{"msgseq", "number of the message in its product", [](const Facts& f, Out to) { number(to, f.message); }},
    Variable{"lastmsg", "last number of a message of the product",
             [](const Facts& f, Out to) { number(to, f.last_message); }},
    Variable{"rptseq", "number of the change to the instrument", [](const Facts& f, Out to) { number(to, f.report); }},
    Variable{"id", "number of the instrument", [](const Facts& f, Out to) { number(to, f.instrument); }},
    Variable{"instruments", "number of instruments of the channel",
             [](const Facts& f, Out to) { number(to, f.instruments); }},
    Variable{"product", "number of the product", [](const Facts& f, Out to) { number(to, f.product); }},
    Variable{"symbol", "name of the instrument", [](const Facts& f, Out to) { to += f.symbol; }},
    Variable{"action", "0 new, 1 change, 2 delete", [](const Facts& f, Out to) { number(to, f.action); }},
    Variable{"side", "0 bid, 1 offer", [](const Facts& f, Out to) { number(to, f.side); }},
    Variable{"level", "level of the book, from 1", [](const Facts& f, Out to) { number(to, f.level); }},
    Variable{"price", "price, with two decimals",
             [](const Facts& f, Out to) {
               number(to, f.price / 100);
               to += '.';
               to += static_cast<char>('0' + f.price / 10 % 10);
               to += static_cast<char>('0' + f.price % 10);
             }},
    Variable{"size", "size of the level or trade", [](const Facts& f, Out to) { number(to, f.size); }},
    Variable{"orders", "number of orders at the level", [](const Facts& f, Out to) { number(to, f.orders); }},
    Variable{"first", "1 in the first fragment of a snapshot, else 0",
             [](const Facts& f, Out to) { number(to, f.first ? 1 : 0); }},
    Variable{"final", "1 in its last fragment, else 0", [](const Facts& f, Out to) { number(to, f.final ? 1 : 0); }},
    Variable{"entries", "`entry` or `level`, repeated", [](const Facts& f, Out to) { to += f.entries; }},
};

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || c == '_';
}

}  // namespace

Result<Pattern> Pattern::parse(std::string_view text) {
  Pattern pattern;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    Piece piece{std::string(text.substr(0, dollar)), kVariables.size()};
    text.remove_prefix(dollar);
    if (!text.empty()) {
      std::size_t end = 1;
      while (end < text.size() && is_name(text[end])) ++end;
      const std::string_view name = text.substr(1, end - 1);
      const auto* const found = std::find_if(kVariables.begin(), kVariables.end(),
                                             [name](const Variable& variable) { return variable.name == name; });
      if (found == kVariables.end()) {
        std::string known;
        for (const Variable& variable : kVariables) known += (known.empty() ? "$" : ", $") + std::string(variable.name);
        return Failure{"unknown variable '$" + std::string(name) + "' (" + known + ")"};
      }
      piece.variable = static_cast<std::size_t>(found - kVariables.begin());
      text.remove_prefix(end);
    }
    pattern.pieces_.push_back(std::move(piece));
  }
  return pattern;
}

void Pattern::write(const Facts& facts, std::string& to) const {
  for (const Piece& piece : pieces_) {
    to += piece.text;
    if (piece.variable < kVariables.size()) kVariables[piece.variable].write(facts, to);
  }
}

std::string Pattern::variables() {
  std::string text;
  for (const Variable& variable : kVariables) {
    text += "$" + std::string(variable.name) + ": " + std::string(variable.meaning) + "\n";
  }
  return text;
}

}  // namespace stopbit::simulate
