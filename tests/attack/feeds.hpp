#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/attack/target.hpp"
#include "tests/lib/random.hpp"

/// Targets of the attacks.
namespace stopbit::attack {

using Feeds = std::vector<std::unique_ptr<Feed>>;

/// Compiles, or fails as a broken promise.
[[nodiscard]] std::unique_ptr<Feed> make_feed(std::string name, std::string template_text,
                                              const templates::CompileOptions& options = {});

/// The same; null if the templates cannot be compiled.
[[nodiscard]] std::unique_ptr<Feed> try_feed(std::string name, std::string template_text,
                                             const templates::CompileOptions& options, Diagnostics& diagnostics);

/// The template sets of the fuzz targets: a book, reference data, every operator on every type, references.
[[nodiscard]] Feeds fixed_feeds();

/// One feed per type, operator and presence, with and without initial value: a single field and one after it.
[[nodiscard]] Feeds cell_feeds();

/// Random template sets, by seed.
[[nodiscard]] Feeds random_feeds(std::uint64_t first_seed, std::size_t count);

/// The templates of the bundled sample.
[[nodiscard]] std::unique_ptr<Feed> sample_feed();

/// Template files of real exchanges, where STOPBIT_CORPUS names a folder of them; none otherwise.
[[nodiscard]] Feeds corpus_feeds();

/// Small ones, which messages meet often; some of them as usual.
[[nodiscard]] EngineLimits some_limits(cases::Random& random);

[[nodiscard]] std::filesystem::path sample_folder();
[[nodiscard]] std::optional<std::filesystem::path> corpus_folder();

}  // namespace stopbit::attack
