#include <cstdlib>

#include "tests/lib/workloads/ab/ab.hpp"
#include "tests/lib/workloads/shuffled/shuffled.hpp"
#include "tests/lib/workloads/workload.hpp"
#include "tests/lib/workloads/worst/worst.hpp"

namespace stopbit::bench {
namespace {

struct Capture {
  const char* name;
  const char* folder;
  const char* framing;
  const char* fields = "";  ///< Those that records hold; empty: all.
};

/// What a reader of order books wants: eight words an entry, two slots; without RptSeq seven, which fit one.
constexpr const char* kCmeFields = "SecurityID,RptSeq,MDUpdateAction,MDEntryType,MDPriceLevel,MDEntryPx,MDEntrySize";
constexpr const char* kCmeOneSlot = "SecurityID,MDUpdateAction,MDEntryType,MDPriceLevel,MDEntryPx,MDEntrySize";
constexpr const char* kSampleFields = "Symbol,Side,UpdateAction,Level,Price,Size,LastPrice,LastSize";

constexpr Capture kCorpus[] = {{"complex30000", "complex30000", "none"},
                               {"cme-mdp-2012", "cme-mdp-2012", "cme"},
                               {"cme-mdp-2012-fields", "cme-mdp-2012", "cme", kCmeFields},
                               {"cme-mdp-2012-one-slot", "cme-mdp-2012", "cme", kCmeOneSlot},
                               {"moex-asts-trades-2019", "moex-asts-trades-2019", "moex"},
                               {"eurex-rdi-2016", "eurex-rdi-2016", "t7"}};

}  // namespace

std::vector<WorkloadSource> workload_sources() {
  std::vector<WorkloadSource> sources;
  if (const char* corpus = std::getenv("STOPBIT_CORPUS"); corpus != nullptr) {
    for (const Capture& capture : kCorpus) {
      const std::string folder = std::string(corpus) + '/' + capture.folder;
      const std::string templates = *capture.fields == '\0' ? folder + "/templates.xml" : std::string();
      sources.push_back(
          {capture.name,
           [capture, folder] { return load_workload(capture.name, folder, capture.framing, capture.fields); },
           templates});
    }
  }
  sources.push_back({"sample", [] { return load_workload("sample", STOPBIT_SAMPLE_FOLDER, "cme"); },
                     STOPBIT_SAMPLE_FOLDER "/templates.xml"});
  sources.push_back(
      {"sample-fields", [] { return load_workload("sample-fields", STOPBIT_SAMPLE_FOLDER, "cme", kSampleFields); }});
  sources.push_back({"ab", make_ab});
  sources.push_back({"shuffled", make_shuffled});
  sources.push_back({"repeated", make_repeated});
  for (WorkloadSource& source : worst_sources()) sources.push_back(std::move(source));
  return sources;
}

}  // namespace stopbit::bench
