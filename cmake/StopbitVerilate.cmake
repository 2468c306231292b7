# Run by stopbit_rtl_model: makes the model's C++ in FOLDER, one file ALL that includes all of it, and ALL.d, which names
# what was read.
string(REPLACE "|" ";" ARGUMENTS "${ARGUMENTS}")
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${VERILATOR} ${ARGUMENTS} COMMAND_ERROR_IS_FATAL ANY)

file(GLOB parts RELATIVE ${FOLDER} ${FOLDER}/${PREFIX}*.cpp)
list(SORT parts)
set(text "")
foreach(part IN LISTS parts)
  string(APPEND text "#include \"${part}\"\n")
endforeach()

file(READ ${FOLDER}/${PREFIX}__ver.d read)
string(REGEX REPLACE "^[^:]*:" "" read "${read}")
file(WRITE ${ALL}.d "${ALL}: ${read}")
file(WRITE ${ALL} "${text}")
