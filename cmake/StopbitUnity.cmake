# stopbit_compile_alone(file...)
#
# Presets that build everything compile the sources of a target in batches (CMAKE_UNITY_BUILD), which halves their time.
# These files are left out of it: their own names would meet those of others, or they are long enough by themselves.
include_guard(GLOBAL)

function(stopbit_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
