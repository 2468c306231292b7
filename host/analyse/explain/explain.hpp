#pragma once

#include <cstdint>
#include <memory>

#include "decoder/record/schema.hpp"
#include "host/analyse/explain/explanation.hpp"
#include "host/analyse/guess/sample.hpp"
#include "host/ports/packet_source.hpp"
#include "host/replay/replay.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::explain {

/// Explains one packet of a source, by its number in it. Where the dictionary is not reset for each packet, the
/// previous packets are decoded first, as in a replay with the same options. If there is an error whose cause is
/// searched for, some of the following packets are read. A failure if the source ends before the packet.
///
/// The schema's program must be verified. Memory is bounded: by the packet, and by a sample of its neighbours.
[[nodiscard]] Result<Explanation> explain(const record::Schema& schema, const replay::Options& options,
                                          std::unique_ptr<ingest::PacketSource> source, std::uint64_t packet,
                                          bool has_headers = true);

/// The most likely causes of the explanation's error, found by trying. `sample` holds the packet and its neighbours.
[[nodiscard]] std::vector<Cause> find_causes(const record::Schema& schema, const replay::Options& options,
                                             const Explanation& explanation, const guess::Sample& sample);

/// For people: in columns, 120 wide at most; colours are ANSI escapes.
[[nodiscard]] std::string to_text(const Explanation& explanation, bool with_colours);
/// One object.
[[nodiscard]] std::string to_json(const Explanation& explanation);

}  // namespace stopbit::explain
