// Any bytes as the file of replay quotas: refused and left as they are, or what each service has
// used; what is stored then is read again, and nothing else has changed.

#include <array>
#include <fstream>
#include <string>

#include "host/appliance/refill/quota_file.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/scratch.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  using appliance::QuotaFile;
  static const testing::Scratch scratch;
  static const std::array<std::string, 2> kServices = {"10.1.2.3:9001 FIRM user0", "10.1.2.4:9001 FIRM user0"};
  const std::string path = scratch.path("replay-quota");
  const std::string given(reinterpret_cast<const char*>(data), size);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << given;

  QuotaFile file;
  const Status opened = file.open(scratch.path(), kServices);
  if (!opened) {
    fuzz::require(opened.message().find(path) != std::string::npos, "a refusal names the file", opened.message());
    fuzz::require(testing::file_text(path) == given, "what was refused stays as it was");
    return 0;
  }
  const QuotaFile::Used other = file.used(1);
  const QuotaFile::Used stored{.day = 20'000, .connections = 7};
  fuzz::require(file.store(0, stored) && file.used(0) == stored, "a service is stored");
  QuotaFile again;
  fuzz::require(again.open(scratch.path(), kServices).ok(), "what was made is read again");
  fuzz::require(again.used(0) == stored, "a service is read as stored");
  fuzz::require(again.used(1) == other || again.used(1).is_damaged || other.is_damaged, "no other has changed");
  return 0;
}
