#pragma once

#include "host/appliance/opener/grants.hpp"
#include "host/appliance/settings.hpp"

namespace stopbit::appliance {

/// What the opener process of an appliance opens while it runs: sockets of its lines, files of its images, logs of
/// gaps, recordings. Nothing of a port that is no socket.
[[nodiscard]] opener::Grants grants_of(const Settings& settings);

/// How the files of gaps and recordings are called, for the opener.
[[nodiscard]] opener::FileSet gap_files(const std::string& folder);
[[nodiscard]] opener::FileSet record_files(const std::string& folder, const std::string& line);

}  // namespace stopbit::appliance
