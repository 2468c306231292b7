# stopbit_rtl_model(name TOP module [PARAMETERS Depth=8 ...] [FOLDERS folder...] [PREFIX class] [ARGUMENTS argument...]
#   [DEPENDS file...] [INSTALLED])
#
# A library with the Verilated model of fpga/rtl/**/<module>.sv, assertions included. The class is V<module> in
# "V<module>.h" or, with parameters, V<name> in "V<name>.h": two models of a module can live in one program. Modules that it
# uses are found by their names in the folders of fpga/rtl, packages (fpga/rtl/pkg/*.sv) are read first. FOLDERS are looked
# into before these: a bench can put a module of its own in another one's place. PREFIX is another name for the class.
# ARGUMENTS go to Verilator; DEPENDS are files that have to be made before it reads them. A model that is INSTALLED, as part of
# something, does not tell where it was built.
#
# stopbit_rtl_test(name MODELS model... SOURCES file... [LIBS target...])
#
# A GoogleTest binary and a ctest test of the same name, labelled `fpga`. Includes see fpga/sim/lib. The target
# stopbit_fpga builds all of them.
#
# Both exist only if STOPBIT_VERILATOR is set: a machine without Verilator builds and tests everything else.
include_guard(GLOBAL)
include(StopbitTest)

add_custom_target(stopbit_fpga COMMENT "Everything that tests fpga/")
find_program(STOPBIT_VERILATOR verilator)
if(STOPBIT_VERILATOR)
  execute_process(COMMAND ${STOPBIT_VERILATOR} --getenv VERILATOR_ROOT OUTPUT_VARIABLE STOPBIT_VERILATOR_ROOT
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${STOPBIT_VERILATOR} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX MATCH "[0-9]+\\.[0-9]+" version "${version}")
  if(version VERSION_LESS 5.006)
    message(STATUS "Verilator ${version} is older than 5.006: the models of fpga/ are not built")
    set(STOPBIT_VERILATOR STOPBIT_VERILATOR-NOTFOUND)
  endif()
else()
  message(STATUS "Verilator not found: the models of fpga/ are not built (Debian package: verilator)")
endif()

set(STOPBIT_RTL_ROOT ${CMAKE_SOURCE_DIR}/fpga/rtl)
file(GLOB STOPBIT_RTL_PACKAGES CONFIGURE_DEPENDS ${STOPBIT_RTL_ROOT}/pkg/*.sv ${STOPBIT_RTL_ROOT}/pkg/generated/*.sv)
file(GLOB STOPBIT_RTL_MODULES CONFIGURE_DEPENDS ${STOPBIT_RTL_ROOT}/*/*.sv)
list(FILTER STOPBIT_RTL_MODULES EXCLUDE REGEX "/pkg/")
file(GLOB STOPBIT_RTL_FOLDERS CONFIGURE_DEPENDS LIST_DIRECTORIES true ${STOPBIT_RTL_ROOT}/*)
list(FILTER STOPBIT_RTL_FOLDERS EXCLUDE REGEX "/(pkg|[^/]*\\.[^/]*)$")
list(SORT STOPBIT_RTL_PACKAGES COMPARE FILE_BASENAME)
set(STOPBIT_RTL_WAIVERS ${CMAKE_SOURCE_DIR}/fpga/lint/waivers.vlt)

# What Verilator reads for any module, as arguments.
set(STOPBIT_RTL_READ -Wall ${STOPBIT_RTL_WAIVERS} ${STOPBIT_RTL_PACKAGES})
foreach(folder IN LISTS STOPBIT_RTL_FOLDERS)
  list(APPEND STOPBIT_RTL_READ -y ${folder})
endforeach()

if(STOPBIT_VERILATOR AND NOT TARGET stopbit_verilated)
  set(include ${STOPBIT_VERILATOR_ROOT}/include)
  add_library(stopbit_verilated STATIC ${include}/verilated.cpp ${include}/verilated_threads.cpp)
  target_include_directories(stopbit_verilated SYSTEM PUBLIC ${include} ${include}/vltstd)
  target_compile_definitions(stopbit_verilated PUBLIC VM_COVERAGE=0 VM_SC=0 VM_TRACE=0)
  target_compile_options(stopbit_verilated PRIVATE -w -O1 ${STOPBIT_PATH_MAPS})
  find_package(Threads REQUIRED)
  target_link_libraries(stopbit_verilated PUBLIC Threads::Threads)
endif()

function(stopbit_rtl_model name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INSTALLED" "TOP;PREFIX" "PARAMETERS;FOLDERS;ARGUMENTS;DEPENDS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_TOP)
    message(FATAL_ERROR "stopbit_rtl_model(${name}): wants TOP and, if any, PARAMETERS; got '${ARGN}'")
  endif()
  set(prefix V${arg_TOP})
  if(arg_PARAMETERS)
    set(prefix V${name})
  endif()
  if(arg_PREFIX)
    set(prefix ${arg_PREFIX})
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(all ${folder}/${prefix}_all.cpp)
  list(TRANSFORM arg_PARAMETERS PREPEND -G)
  set(folders "")
  foreach(extra IN LISTS arg_FOLDERS)
    list(APPEND folders -y ${extra})
  endforeach()
  # Warnings of Verilator are errors. Unknown values are random in each run, by the seed that the bench gives.
  set(arguments --cc --assert -O3 --x-assign unique --x-initial unique --no-timing --prefix ${prefix} --Mdir ${folder}/model
    --top-module ${arg_TOP} ${arg_PARAMETERS} ${folders} ${STOPBIT_RTL_READ} ${arg_ARGUMENTS} ${arg_TOP}.sv)
  list(JOIN arguments "|" packed)
  set(shorten "")
  if(arg_INSTALLED)
    set(shorten -DSHORTEN=${CMAKE_SOURCE_DIR})
  endif()
  # The header is named, so that what includes it is compiled again in the same build.
  add_custom_command(OUTPUT ${all} BYPRODUCTS ${folder}/model/${prefix}.h
    COMMAND ${CMAKE_COMMAND} -DVERILATOR=${STOPBIT_VERILATOR} "-DARGUMENTS=${packed}" -DFOLDER=${folder}/model
      -DPREFIX=${prefix} -DALL=${all} ${shorten} -P ${CMAKE_SOURCE_DIR}/cmake/StopbitVerilate.cmake
    DEPENDS ${STOPBIT_RTL_WAIVERS} ${CMAKE_SOURCE_DIR}/cmake/StopbitVerilate.cmake ${arg_DEPENDS}
    DEPFILE ${all}.d COMMENT "Verilating ${name}" VERBATIM)
  add_library(${name} STATIC ${all})
  target_include_directories(${name} SYSTEM PUBLIC ${folder}/model)
  target_link_libraries(${name} PUBLIC stopbit_verilated)
  target_compile_options(${name} PRIVATE -w -O1 "$<$<BOOL:${arg_INSTALLED}>:${STOPBIT_PATH_MAPS}>")
endfunction()

function(stopbit_rtl_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "MODELS;SOURCES;LIBS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES OR NOT arg_MODELS)
    message(FATAL_ERROR "stopbit_rtl_test(${name}): wants MODELS, SOURCES and, if any, LIBS; got '${ARGN}'")
  endif()
  stopbit_unit_test(${name} OPTIMISED SOURCES ${arg_SOURCES} LIBS ${arg_MODELS} ${arg_LIBS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/fpga/sim/lib)
  set_tests_properties(${name} PROPERTIES LABELS fpga)
  add_dependencies(stopbit_fpga ${name})
endfunction()

# stopbit_card_test(name LEAVES xrt vfio CARD card VFIO library SOURCES ... LIBS ... ENVIRONMENT NAME=value ...)
#
# A program card_NAME, and a test XXX_NAME for each leaf that it opens its simulated card by (tests/lib/card_leaf.hpp): the
# stopbit_sim_card CARD, or the stopbit_sim_vfio VFIO. None without leaves.
function(stopbit_card_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CARD;VFIO" "LEAVES;SOURCES;LIBS;ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "stopbit_card_test(${name}): wants SOURCES; got '${ARGN}'")
  endif()
  if(NOT arg_LEAVES)
    return()
  endif()
  list(TRANSFORM arg_LEAVES APPEND _${name} OUTPUT_VARIABLE tests)
  stopbit_unit_test(card_${name} OPTIMISED SOURCES ${arg_SOURCES} LIBS ${arg_LIBS} TESTS ${tests})
  foreach(leaf IN LISTS arg_LEAVES)
    set_tests_properties(${leaf}_${name} PROPERTIES LABELS fpga ENVIRONMENT "STOPBIT_LEAF=${leaf};${arg_ENVIRONMENT}")
  endforeach()
  if(xrt IN_LIST arg_LEAVES)
    add_dependencies(card_${name} ${arg_CARD} stopbit_xrt)
  endif()
  if(vfio IN_LIST arg_LEAVES)
    add_dependencies(card_${name} ${arg_VFIO})
  endif()
  add_dependencies(stopbit_fpga card_${name})
endfunction()

# stopbit_rtl_proof(name TOP module [PARAMETERS Depth=8 ...])
#
# A ctest test, labelled `fpga`: the assertions of the module, and of what it uses, hold in every state it can reach from
# reset (induction over time by the SAT solver of yosys). With yosys the macro FORMAL is defined. Does nothing without it.
find_program(STOPBIT_YOSYS yosys)
if(NOT STOPBIT_YOSYS)
  message(STATUS "yosys not found: nothing is proved about fpga/ (Debian package: yosys)")
endif()

function(stopbit_rtl_proof name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TOP" "PARAMETERS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_TOP)
    message(FATAL_ERROR "stopbit_rtl_proof(${name}): wants TOP and, if any, PARAMETERS; got '${ARGN}'")
  endif()
  if(NOT STOPBIT_YOSYS)
    return()
  endif()
  set(chparam "")
  foreach(parameter IN LISTS arg_PARAMETERS)
    string(REPLACE "=" " " parameter "${parameter}")
    string(APPEND chparam " -set ${parameter}")
  endforeach()
  if(chparam)
    string(PREPEND chparam "chparam")
    string(APPEND chparam " ${arg_TOP}; ")
  endif()
  add_test(NAME ${name} COMMAND ${STOPBIT_YOSYS} -p "read_verilog -formal -sv ${STOPBIT_RTL_ROOT}/prim/*.sv; ${chparam}\
prep -flatten -top ${arg_TOP}; memory_map; opt -full; sat -tempinduct -prove-asserts -set-assumes -maxsteps 10 -verify")
  set_tests_properties(${name} PROPERTIES LABELS fpga PASS_REGULAR_EXPRESSION "Induction step proven: SUCCESS!")
endfunction()

# stopbit_formal(): the tests of fpga/formal/proofs.toml, labelled `fpga`: rtl_formal.<name> proves, rtl_formal_broken.<name> shows
# that the proof fails on a module with a fault. Deep ones are left to `./dev nightly`. Skipped without the yosys that they need.
function(stopbit_formal)
  find_package(Python3 COMPONENTS Interpreter)
  if(NOT Python3_FOUND OR NOT STOPBIT_YOSYS)
    return()
  endif()
  set(list ${CMAKE_SOURCE_DIR}/fpga/formal/proofs.toml)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  set(prove ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/fpga/prove.py)
  execute_process(COMMAND ${prove} --list --quick OUTPUT_VARIABLE names OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" names "${names}")
  foreach(name IN LISTS names)
    add_test(NAME rtl_formal.${name} COMMAND ${prove} ${name})
    add_test(NAME rtl_formal_broken.${name} COMMAND ${prove} --broken ${name})
    set_tests_properties(rtl_formal.${name} rtl_formal_broken.${name} PROPERTIES LABELS fpga SKIP_RETURN_CODE 77)
  endforeach()
endfunction()
