#pragma once

#include "host/appliance/opener/grants.hpp"
#include "host/appliance/settings.hpp"

namespace stopbit::appliance {

/// What the opener process of an appliance opens while it runs: sockets of its lines, files of its images, its
/// settings and what they name, logs of gaps and commands, recordings. Nothing of a port that is no socket.
[[nodiscard]] opener::Grants grants_of(const Settings& settings);

/// How the files of days and recordings are called, for the opener.
[[nodiscard]] opener::FileSet day_files(const std::string& folder, std::string_view prefix);
[[nodiscard]] opener::FileSet record_files(const std::string& folder, const std::string& line);

}  // namespace stopbit::appliance
