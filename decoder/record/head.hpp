#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "decoder/record/views.hpp"

/// Time and place of a record as text: what its header says, in front of what its fields say.
namespace stopbit::record {

enum class TimeStyle : std::uint8_t {
  Iso,  ///< 2012-04-03T13:28:30.027000000Z
  Ns,   ///< 1333459710027000000, since 1970
};
void append_time(std::string& out, std::uint64_t time_ns, TimeStyle style);

/// What a time stamp was made by: "hardware", "kernel", "poll", "synthetic"; "unknown" for a number that is none.
[[nodiscard]] std::string_view clock_name(TimeQuality quality) noexcept;
/// "A", "B", "file", "replay", "snapshot"; "unknown" for a number that is none.
[[nodiscard]] std::string_view line_name(SourceLine line) noexcept;

/// "last snapshot": the names of the bits that are set.
void append_flags(std::string& out, std::uint8_t flags, char separator);

/// {"header":{"time":"..","clock":"kernel","channel":310,"line":"A","sequence":3574402,"message":0,"epoch":1,
/// "flags":["last"]}} without the last brace: a comma and the other keys of the object follow.
void append_json_head(std::string& out, const HeaderView& header, TimeStyle style);

/// "time=..|clock=kernel|channel=310|line=A|sequence=3574402|message=0|epoch=1|flags=last|", each name after an @.
void append_fix_head(std::string& out, const HeaderView& header, TimeStyle style, char separator);

/// The same as cells, with a comma after each; flags are separated by a space. The long form of CSV has a column for
/// the sequence anyway: `has_sequence` leaves it out.
void append_csv_head(std::string& out, const HeaderView& header, TimeStyle style, bool has_sequence);
inline constexpr std::string_view kCsvHeadTitle = "@time,@clock,@channel,@line,@sequence,@message,@epoch,@flags,";
inline constexpr std::string_view kCsvHeadTitleWithoutSequence = "@time,@clock,@channel,@line,@message,@epoch,@flags,";

}  // namespace stopbit::record
