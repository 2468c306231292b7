# stopbit_unit_test(name [THOROUGH] [OPTIMISED] [PROGRAM program] SOURCES file... LIBS target...)
#
# One ctest test, labelled `quick`, and its GoogleTest binary of the same name; with PROGRAM the binary of that name, which
# has the files of several tests, as that compiles sooner. The test inherits the environment, so STOPBIT_CORPUS reaches it
# unchanged. Sources are relative to the calling folder.
#
# Labels: `quick` (together a minute on two processors: for the loop of edit, build and test), `thorough` (needs nothing
# but its time), `system` (processes, networks, packages), `corpus` (real captures), `fpga` (the hardware). THOROUGH is
# for unit tests of more than five seconds; OPTIMISED for those whose own code takes the time, as that of models does.
#
# No test has a time limit of its own: ctest's, 25 minutes, ends what hangs, and nothing that is only slow.
include_guard(GLOBAL)
find_package(GTest REQUIRED)

function(stopbit_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "THOROUGH;OPTIMISED" "PROGRAM" "SOURCES;LIBS;TESTS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "stopbit_unit_test(${name}): wants SOURCES and, if any, LIBS; got '${ARGN}'")
  endif()
  set(program ${name})
  set(main GTest::gtest_main)
  set(arguments --gtest_brief=1)
  if(arg_PROGRAM)
    set(program ${arg_PROGRAM})
    set(main stopbit_unit_main)
    list(JOIN arg_SOURCES "," files)
    list(APPEND arguments --files=${files})
  endif()
  if(TARGET ${program})
    target_sources(${program} PRIVATE ${arg_SOURCES})
  else()
    add_executable(${program} ${arg_SOURCES})
    if(STOPBIT_UNITY_TESTS)
      set_target_properties(${program} PROPERTIES UNITY_BUILD ON)
    endif()
    # What the tests test is optimised; they themselves only cost time to compile.
    if(arg_THOROUGH OR arg_OPTIMISED)
      target_compile_options(${program} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
    else()
      target_compile_options(${program} PRIVATE -O0)
    endif()
  endif()
  target_link_libraries(${program} PRIVATE stopbit_options ${arg_LIBS} GTest::gtest ${main})
  set(label quick)
  if(arg_THOROUGH)
    set(label thorough)
  endif()
  if(NOT arg_TESTS)
    set(arg_TESTS ${name})
  endif()
  foreach(test IN LISTS arg_TESTS)
    add_test(NAME ${test} COMMAND ${program} ${arguments})
    set_tests_properties(${test} PROPERTIES LABELS ${label})
  endforeach()
endfunction()
