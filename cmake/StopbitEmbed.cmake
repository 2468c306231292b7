# stopbit_embed(target FILE file HEADER name.hpp SYMBOL symbol)
#
# Makes a header in the build folder that holds the text of a file as `inline constexpr std::string_view stopbit::symbol`,
# so that the program carries the file with it. The header is included by its name. FILE is relative to the calling folder.
#
# stopbit_join_page(page.html FOLDER folder SCRIPTS script...)
#
# Makes one page of the page.html of a folder, its page.css and its scripts: they take the places of `<style>page.css</style>`
# and `<script>page.js</script>`.
include_guard(GLOBAL)

function(stopbit_embed target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILE;HEADER;SYMBOL" "")
  get_filename_component(file ${arg_FILE} ABSOLUTE)
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
  get_filename_component(name ${arg_FILE} NAME)
  set(header "// Made from ${name}.\n#pragma once\n\n#include <string_view>\n\nnamespace stopbit {\n")
  string(APPEND header "inline constexpr std::string_view ${arg_SYMBOL} =  // NOLINT: named as its file\n${literals}    ;\n}  // namespace stopbit\n")
  file(CONFIGURE OUTPUT ${folder}/${arg_HEADER} CONTENT "${header}" @ONLY)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()

function(stopbit_join_page output)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "SCRIPTS")
  get_filename_component(folder ${arg_FOLDER} ABSOLUTE)
  foreach(file page.html page.css ${arg_SCRIPTS})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${file})
  endforeach()
  file(READ ${folder}/page.html page)
  file(READ ${folder}/page.css style)
  set(script "")
  foreach(file ${arg_SCRIPTS})
    file(READ ${folder}/${file} text)
    string(APPEND script "${text}")
  endforeach()
  string(REPLACE "<style>page.css</style>" "<style>\n${style}</style>" page "${page}")
  string(REPLACE "<script>page.js</script>" "<script>\n${script}</script>" page "${page}")
  file(CONFIGURE OUTPUT ${output} CONTENT "${page}" @ONLY)
endfunction()
