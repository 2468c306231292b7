# stopbit_unit_test(name SOURCES file... LIBS target...)
#
# One GoogleTest binary and one ctest test of the same name, labelled `quick` (under a second or two). The test inherits
# the environment, so STOPBIT_CORPUS reaches it unchanged. Sources are relative to the calling folder.
include_guard(GLOBAL)
find_package(GTest REQUIRED)

function(stopbit_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "stopbit_unit_test(${name}): wants SOURCES and, if any, LIBS; got '${ARGN}'")
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE stopbit_options ${arg_LIBS} GTest::gtest GTest::gtest_main)
  # What the tests test is optimised; they themselves only cost time to compile.
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS quick TIMEOUT 300)
endfunction()
