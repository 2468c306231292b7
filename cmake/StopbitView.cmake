# stopbit_view(target HEADER name.hpp NAMESPACE name (TEMPLATES file.xml... | FIRMWARE feed.sbf))
#
# Generates the typed C++ views of a feed's records when its files have changed, and lets the target include them by the
# header's name. For projects that use the installed package: find_package(Stopbit).
include_guard(GLOBAL)

function(stopbit_view target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER;NAMESPACE;FIRMWARE" "TEMPLATES")
  if(NOT arg_HEADER OR NOT arg_NAMESPACE OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "stopbit_view(${target}): wants HEADER, NAMESPACE and TEMPLATES or FIRMWARE; got '${ARGN}'")
  endif()
  if(arg_TEMPLATES)
    set(feed --templates ${arg_TEMPLATES})
  else()
    set(feed --firmware ${arg_FIRMWARE})
  endif()
  list(TRANSFORM feed PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^-/]")
  set(files ${feed})
  list(POP_FRONT files)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/stopbit_views)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/${arg_HEADER}
    COMMAND Stopbit::command gen cpp ${feed} --namespace ${arg_NAMESPACE} -o ${folder}/${arg_HEADER}
    DEPENDS Stopbit::command ${files} VERBATIM)
  target_sources(${target} PRIVATE ${folder}/${arg_HEADER})
  target_include_directories(${target} PRIVATE ${folder})
  target_link_libraries(${target} PRIVATE Stopbit::views)
endfunction()
