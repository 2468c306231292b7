# Run by stopbit_rtl_model: makes the model's C++ in FOLDER, one file ALL that includes all of it, and ALL.d, which names
# what was read.
string(REPLACE "|" ";" ARGUMENTS "${ARGUMENTS}")
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${VERILATOR} ${ARGUMENTS} COMMAND_ERROR_IS_FATAL ANY)

# A model that is installed names its sources from the root of the tree, not from that of this machine.
if(SHORTEN)
  file(GLOB parts ${FOLDER}/*.cpp ${FOLDER}/*.h)
  foreach(part IN LISTS parts)
    file(READ ${part} text)
    string(REPLACE "${SHORTEN}/" "" text "${text}")
    file(WRITE ${part} "${text}")
  endforeach()
endif()

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
