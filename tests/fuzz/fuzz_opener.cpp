// Any bytes as a request to an opener, and as its answer: refused, or a request that has one encoding, names something
// of the settings by number only, and reaches no file outside their folders.

#include <algorithm>
#include <cctype>

#include "host/appliance/opener/grants.hpp"
#include "tests/fuzz/checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  // The same bytes as an answer that says what a socket is.
  if (const auto socket = opener::parse_socket({reinterpret_cast<const char*>(data), size})) {
    const auto twice = opener::parse_socket(opener::to_text(*socket));
    fuzz::require(twice && opener::to_text(*twice) == opener::to_text(*socket), "a socket in words is the same socket");
  }
  // And what a set is.
  const std::vector<opener::FileSet> known = {{.folder = "/log"}, {.folder = "/packets"}};
  if (const auto set = opener::parse_set({reinterpret_cast<const char*>(data), size}, known)) {
    fuzz::require(set->folder == "/log" || set->folder == "/packets", "a set is in a folder that is known",
                  set->folder);
    const auto twice = opener::parse_set(opener::to_text(*set, known), known);
    fuzz::require(twice && opener::to_text(*twice, known) == opener::to_text(*set, known),
                  "a set in words is the same");
  }
  const auto request = opener::parse_request(bytes);
  if (!request) return 0;
  const opener::RequestBytes again = opener::encode(*request);
  fuzz::require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()), "a request has one encoding");
  fuzz::require(opener::to_text(request->kind) != "unknown", "a request has a kind");

  static const opener::Grants kNothing;
  fuzz::require(!opener::check(*request, kNothing).ok(), "without grants everything is refused");

  opener::Grants grants;
  grants.sockets.resize(2);
  grants.files = {"/folder/one", "/folder/two"};
  grants.sets = {{.folder = "/log", .prefix = "gaps-", .suffix = ".jsonl", .digits = 8, .can_append = true},
                 {.folder = "/packets", .prefix = "a-", .suffix = ".pcapng", .kept = "frozen-", .can_create = true}};
  grants.connections.resize(1);
  if (!opener::check(*request, grants)) return 0;
  fuzz::require(request->index < 2, "the settings name what is opened");
  for (const opener::FileSet& set : grants.sets) {
    const std::string name = set.name(request->number);
    const std::string digits = name.substr(set.prefix.size(), name.size() - set.prefix.size() - set.suffix.size());
    fuzz::require(name.starts_with(set.prefix) && name.ends_with(set.suffix) && digits.size() <= 12 &&
                      std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c) != 0; }),
                  "a name is prefix, number and suffix", name);
  }
  return 0;
}
