# stopbit_unit_test(name [THOROUGH] [OPTIMISED] SOURCES file... LIBS target...)
#
# One GoogleTest binary and one ctest test of the same name, labelled `quick`. The test inherits the environment, so
# STOPBIT_CORPUS reaches it unchanged. Sources are relative to the calling folder.
#
# Labels: `quick` (together a minute on two processors: for the loop of edit, build and test), `thorough` (needs nothing
# but its time), `system` (processes, networks, packages), `corpus` (real captures), `fpga` (the hardware). THOROUGH is
# for unit tests of more than five seconds; OPTIMISED for those whose own code takes the time, as that of models does.
include_guard(GLOBAL)
find_package(GTest REQUIRED)

function(stopbit_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "THOROUGH;OPTIMISED" "" "SOURCES;LIBS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "stopbit_unit_test(${name}): wants SOURCES and, if any, LIBS; got '${ARGN}'")
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE stopbit_options ${arg_LIBS} GTest::gtest GTest::gtest_main)
  # What the tests test is optimised; they themselves only cost time to compile.
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  if(NOT arg_THOROUGH AND NOT arg_OPTIMISED)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Debug>:-O0>)
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set(label quick)
  if(arg_THOROUGH)
    set(label thorough)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 300)
endfunction()
