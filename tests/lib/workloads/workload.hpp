#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "microcode/base/result.hpp"
#include "microcode/program.hpp"

namespace stopbit::bench {

/// Datagrams in memory, with the program that decodes them.
struct Workload {
  struct Datagram {
    std::size_t offset = 0;  ///< In `bytes`.
    std::size_t length = 0;
    PacketInfo info;
  };

  std::string name;
  Program program;
  EngineOptions options;
  std::vector<std::byte> bytes;
  std::vector<Datagram> datagrams;
  std::uint64_t data_bytes = 0;              ///< FAST data, preambles not counted.
  std::optional<std::string> expected_json;  ///< One line a message, if an independent source gives the right answer.

  [[nodiscard]] std::span<const std::byte> datagram(std::size_t index) const noexcept {
    return {bytes.data() + datagrams[index].offset, datagrams[index].length};
  }
};

/// A generated workload. Each is described in the README of its folder.
struct WorkloadSource {
  std::string name;
  std::function<Result<std::unique_ptr<Workload>>()> make;
  std::string template_file = {};  ///< If all of it is used and the workload is a capture.
};

/// The bundled sample, the generated ones, and the captures of real exchanges if STOPBIT_CORPUS names their folder.
[[nodiscard]] std::vector<WorkloadSource> workload_sources();

[[nodiscard]] Result<Program> compile_text(const std::string& name, std::string text);
/// `fields`: those that records hold, see templates/projection/projection.hpp; empty: all.
[[nodiscard]] Result<Program> compile_file(const std::string& path, const std::string& fields = {});

/// Reads `folder`/templates.xml, capture.pcap or capture.pcap.gz, and expected.jsonl.gz if it exists and all fields
/// are stored.
[[nodiscard]] Result<std::unique_ptr<Workload>> load_workload(const std::string& name, const std::string& folder,
                                                              const std::string& framing,
                                                              const std::string& fields = {});

}  // namespace stopbit::bench
