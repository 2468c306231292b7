# How long the compiler may take over a file.
#
# stopbit_compile_alone(file...)
#
# Presets that build everything compile the sources of a target in batches (CMAKE_UNITY_BUILD), which halves their time.
# These files are left out of it: their own names would meet those of others, or they are long enough by themselves.
#
# stopbit_compile_in_batches(target...)
#
# In folders where most targets are not: theirs are.
#
# stopbit_compile_cold(target...)
#
# Code that runs at start-up or on request, not for each message: optimised less, and not at all with sanitizers.
#
# stopbit_compile_plain(target...)
#
# Not optimised with sanitizers; else as all.
include_guard(GLOBAL)
set(STOPBIT_BATCHES ${CMAKE_UNITY_BUILD})

function(stopbit_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

function(stopbit_compile_in_batches)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD "${STOPBIT_BATCHES}")
endfunction()

function(stopbit_compile_cold)
  foreach(target ${ARGN})
    # At -O1 GCC 12 takes a std::optional that is engaged for uninitialized (GCC bug 80635).
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1> $<$<CONFIG:Debug>:-O0>
      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  endforeach()
endfunction()

function(stopbit_compile_plain)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-O0>)
  endforeach()
endfunction()
