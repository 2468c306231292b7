# stopbit_embed(target FILE file HEADER name.hpp SYMBOL symbol)
#
# Makes a header in the build folder that holds the text of a file as `inline constexpr std::string_view stopbit::symbol`,
# so that the program carries the file with it. The header is included by its name. FILE is relative to the calling folder.
include_guard(GLOBAL)

function(stopbit_embed target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILE;HEADER;SYMBOL" "")
  set(file ${CMAKE_CURRENT_SOURCE_DIR}/${arg_FILE})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  # Compilers limit the length of a literal; adjacent ones are joined.
  string(LENGTH "${text}" length)
  set(literals "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND literals "    R\"embedded(${piece})embedded\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  set(header "// Made from ${arg_FILE}.\n#pragma once\n\n#include <string_view>\n\nnamespace stopbit {\n")
  string(APPEND header "inline constexpr std::string_view ${arg_SYMBOL} =\n${literals}    ;\n}  // namespace stopbit\n")
  file(CONFIGURE OUTPUT ${folder}/${arg_HEADER} CONTENT "${header}" @ONLY)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
