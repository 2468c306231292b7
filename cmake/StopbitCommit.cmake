# stopbit_commit(target HEADER name.hpp)
#
# Keeps a header in the build folder that says from which commit the program is built, as stopbit::kCommit: "" outside a
# clone, "0123456789ab" in one, with "+" if files differ from it. Looked up at each build, written only if it changed, so
# that a build without news compiles nothing. STOPBIT_COMMIT says it where there is no clone, as in a package's sources.
if(CMAKE_SCRIPT_MODE_FILE)
  if(commit STREQUAL "")
    set(git git --no-optional-locks -C ${source})
    # Only of a clone of ours: the sources may lie within another project's.
    execute_process(COMMAND ${git} rev-parse --show-prefix OUTPUT_VARIABLE prefix RESULT_VARIABLE failed
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT failed AND prefix STREQUAL "")
      execute_process(COMMAND ${git} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
        ERROR_QUIET)
      execute_process(COMMAND ${git} diff --quiet HEAD -- RESULT_VARIABLE differs ERROR_QUIET)
      if(commit AND differs)
        string(APPEND commit "+")
      endif()
    endif()
  endif()
  file(CONFIGURE OUTPUT ${header} CONTENT [[
// Made by cmake/StopbitCommit.cmake.
#pragma once

#include <string_view>

namespace stopbit {
inline constexpr std::string_view kCommit = "@commit@";
}  // namespace stopbit
]] @ONLY)
  return()
endif()

include_guard(GLOBAL)
set(STOPBIT_COMMIT "" CACHE STRING "The commit that the sources are of, if they are not in a clone")

function(stopbit_commit target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER" "")
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(header ${folder}/${arg_HEADER})
  add_custom_target(${target}_commit BYPRODUCTS ${header}
    COMMAND ${CMAKE_COMMAND} -Dsource=${PROJECT_SOURCE_DIR} -Dheader=${header} -Dcommit=${STOPBIT_COMMIT}
      -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
  add_dependencies(${target} ${target}_commit)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
