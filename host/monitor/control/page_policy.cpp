#include "host/monitor/control/page_policy.hpp"

#include <openssl/evp.h>

#include <array>

namespace stopbit::control {
namespace {

/// 'sha256-...' of a text, with a blank before it.
std::string hash_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned bytes = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &bytes, EVP_sha256(), nullptr) != 1) return {};
  std::string base64(4 * ((bytes + 2) / 3) + 1, '\0');  // and the zero that OpenSSL appends
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(base64.data()), digest.data(), static_cast<int>(bytes));
  base64.resize(static_cast<std::size_t>(size));
  return " 'sha256-" + base64 + "'";
}

/// The hashes of what is in each element of that name; " 'none'" if there is none.
std::string hashes_of(std::string_view html, std::string_view element) {
  const std::string begin = "<" + std::string(element) + ">";
  const std::string end = "</" + std::string(element) + ">";
  std::string hashes;
  for (std::size_t at = html.find(begin); at != std::string_view::npos; at = html.find(begin, at)) {
    at += begin.size();
    const std::size_t last = html.find(end, at);
    if (last == std::string_view::npos) break;
    hashes += hash_of(html.substr(at, last - at));
  }
  return hashes.empty() ? " 'none'" : hashes;
}

}  // namespace

std::string page_policy(std::string_view html) {
  return "default-src 'none'; connect-src 'self'; img-src data:; script-src" + hashes_of(html, "script") +
         "; style-src" + hashes_of(html, "style") +
         "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
         "trusted-types 'none'";
}

}  // namespace stopbit::control
