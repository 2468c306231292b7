# The Debian packages: ./dev package, or cpack -G DEB in the build folder.
include_guard(GLOBAL)

set(folder ${PROJECT_SOURCE_DIR}/host/cli/packaging)
foreach(unit stopbit@.service stopbit-frozen@.service)
  configure_file(${folder}/${unit} ${PROJECT_BINARY_DIR}/${unit} @ONLY)
  # Its program is where this installation puts it, which is known only then.
  install(CODE "
    file(READ \"${PROJECT_BINARY_DIR}/${unit}\" unit)
    string(REPLACE \"${CMAKE_INSTALL_FULL_BINDIR}/\" \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/\" unit \"\${unit}\")
    file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/${unit}\" \"\${unit}\")
  " COMPONENT program)
endforeach()
install(FILES ${folder}/stopbit-frozen@.timer DESTINATION lib/systemd/system COMPONENT program)
install(FILES ${folder}/stopbit.sysusers DESTINATION lib/sysusers.d RENAME stopbit.conf COMPONENT program)
install(FILES
  ${PROJECT_SOURCE_DIR}/host/monitor/control/monitoring/stopbit.rules.yml
  ${PROJECT_SOURCE_DIR}/host/monitor/control/monitoring/stopbit.dashboard.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/stopbit COMPONENT program)
install(FILES ${folder}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)

# The example finds its capture and templates beside it.
set(example ${CMAKE_INSTALL_DATADIR}/stopbit/example)
foreach(name appliance.toml feed.toml publish.toml publish-feed.toml)
  file(READ ${PROJECT_SOURCE_DIR}/host/appliance/example/${name} text)
  string(REPLACE "../../../tests/data/sample/" "" text "${text}")
  string(REPLACE "host/appliance/example/" "" text "${text}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/example/${name} CONTENT "${text}" @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/example/${name} DESTINATION ${example} COMPONENT program)
endforeach()
install(FILES
  ${PROJECT_SOURCE_DIR}/tests/data/sample/capture.pcap.gz
  ${PROJECT_SOURCE_DIR}/tests/data/sample/map.toml
  ${PROJECT_SOURCE_DIR}/tests/data/sample/templates.xml
  DESTINATION ${example} COMPONENT program)

# Pages keep their places, so that their links lead somewhere.
file(GLOB_RECURSE pages CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/doc/* ${PROJECT_SOURCE_DIR}/host/*.md ${PROJECT_SOURCE_DIR}/microcode/*.md
  ${PROJECT_SOURCE_DIR}/templates/*.md ${PROJECT_SOURCE_DIR}/decoder/*.md ${PROJECT_SOURCE_DIR}/assembler/*.md
  ${PROJECT_SOURCE_DIR}/host/bindings/examples/*)
list(FILTER pages EXCLUDE REGEX "/__pycache__/")
foreach(page README.md CHANGELOG.md SECURITY.md ${pages})
  cmake_path(GET page PARENT_PATH place)
  install(FILES ${PROJECT_SOURCE_DIR}/${page} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/stopbit-doc/${place}
    COMPONENT documentation EXCLUDE_FROM_ALL)
endforeach()

# The packages have one set of features, whatever the machine has that builds them.
option(STOPBIT_ALL_FEATURES "Fail if a feature of the packages cannot be built" OFF)
set(missing)
foreach(feature stopbit_ingest_dpdk=libdpdk-dev stopbit_fabric=libfabric-dev stopbit_fi=libfabric-dev stopbit_nats=libnats-dev stopbit_kafka=librdkafka-dev "stopbit_xrt=libxrt-dev and uuid-dev"
    "stopbit_python=python3-dev and pybind11-dev" "sim_card=verilator and libxrt-dev" sim_vfio=verilator)
  string(REPLACE "=" ";" feature "${feature}")
  list(GET feature 0 target)
  list(GET feature 1 packages)
  if(NOT TARGET ${target})
    list(APPEND missing "${target} (Debian packages: ${packages})")
  endif()
endforeach()
if(STOPBIT_ALL_FEATURES AND missing)
  list(JOIN missing ", " missing)
  message(FATAL_ERROR "The packages have features that cannot be built here: ${missing}")
endif()

# What the packages are made of, and no test.
add_custom_target(stopbit_packaged)
foreach(target stopbit stopbit_shared stopbit_ring stopbit_shm stopbit_record stopbit_microcode stopbit_nic stopbit_fabric stopbit_fi
    stopbit_python stopbit_xrt sim_card sim_vfio)
  if(TARGET ${target})
    add_dependencies(stopbit_packaged ${target})
  endif()
endforeach()

# The revision of the package is in its changelog: 0.1.0+2 is the second of 0.1.0.
file(STRINGS ${folder}/changelog version LIMIT_COUNT 1)
string(REGEX REPLACE "^stopbit \\(([^)]*)\\).*" "\\1" version "${version}")
if(NOT version MATCHES "^${PROJECT_VERSION}([+]|$)")
  message(FATAL_ERROR "host/cli/packaging/changelog has the version ${version}, and CMakeLists.txt ${PROJECT_VERSION}")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME stopbit)
set(CPACK_PACKAGE_VERSION ${version})
set(CPACK_PACKAGE_CONTACT "Stopbit <root@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "decoder and appliance for FAST market data")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
set(CPACK_STRIP_FILES OFF)  # symbols become packages of their own
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/StopbitPackageFiles.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/StopbitPackageSymbols.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL program library development documentation)

# stopbit_package(component NAME package SECTION section DESCRIPTION text [DEPENDS text])
macro(stopbit_package component)
  string(TOUPPER ${component} stopbit_upper)
  cmake_parse_arguments(stopbit_arg "" "NAME;SECTION;DESCRIPTION;DEPENDS" "" ${ARGN})
  set(CPACK_DEBIAN_${stopbit_upper}_PACKAGE_NAME ${stopbit_arg_NAME})
  set(CPACK_DEBIAN_${stopbit_upper}_PACKAGE_SECTION ${stopbit_arg_SECTION})
  set(CPACK_COMPONENT_${stopbit_upper}_DESCRIPTION "${stopbit_arg_DESCRIPTION}")
  set(CPACK_DEBIAN_${stopbit_upper}_PACKAGE_DEPENDS "${stopbit_arg_DEPENDS}")
  if(NOT ${component} STREQUAL program)
    # One package had all of it before 0.1.0+2. The version is no variable: 0.2.0 is less than 0.2.0+2.
    set(CPACK_DEBIAN_${stopbit_upper}_PACKAGE_BREAKS "stopbit (<< 0.1.0+2)")
    set(CPACK_DEBIAN_${stopbit_upper}_PACKAGE_REPLACES "stopbit (<< 0.1.0+2)")
  endif()
endmacro()
stopbit_package(program NAME stopbit SECTION net DESCRIPTION
  "Compiles FAST 1.1 and 1.2 template files to firmware, decodes captures and live
feeds with it, merges redundant lines, and publishes fixed-layout records in
shared-memory rings. One program with subcommands, and a systemd unit for
appliances.")
stopbit_package(library NAME libstopbit1 SECTION libs DESCRIPTION
  "The C library: replays captures, reads rings, and decodes datagrams.")
stopbit_package(development NAME libstopbit-dev SECTION libdevel DEPENDS "libstopbit1 (= ${version}), stopbit (= ${version})"
  DESCRIPTION
  "Headers for C and C++, static libraries, and files for CMake and pkg-config.
For programs that read rings and records or open ports at an appliance.")
stopbit_package(documentation NAME stopbit-doc SECTION doc DESCRIPTION
  "The pages of the sources, with a tour of the first half hour, pictures, and
examples in C, C++, Python, Rust, Go and Java.")
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_ARCHITECTURE all)
# It has no programs: cpack need not ask `file` about each page.
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DOCUMENTATION_DEBUGINFO_PACKAGE OFF)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS tzdata)  # time zones of calendars
# The carrier fabric loads its library on first use.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "libfabric1, stopbit-doc, stopbit-xrt")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA ${folder}/postinst ${folder}/prerm ${folder}/postrm)
# Written here: cpack's own would come with scripts that call ldconfig, which the trigger does.
file(WRITE ${PROJECT_BINARY_DIR}/packaging/shlibs "libstopbit 1 libstopbit1 (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${folder}/triggers ${PROJECT_BINARY_DIR}/packaging/shlibs)
if(TARGET stopbit_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  string(REGEX MATCH "^([0-9]+)\\.([0-9]+)$" found "${STOPBIT_PYTHON_VERSION}")
  math(EXPR next_minor "${CMAKE_MATCH_2} + 1")
  stopbit_package(python NAME python3-stopbit SECTION python DEPENDS
    "python3 (>= ${STOPBIT_PYTHON_VERSION}), python3 (<< ${CMAKE_MATCH_1}.${next_minor}), python3-numpy"
    DESCRIPTION "The Python module: records of captures and rings as numpy columns.")
endif()
if(TARGET stopbit_xrt)
  list(APPEND CPACK_COMPONENTS_ALL xrt)
  stopbit_package(xrt NAME stopbit-xrt SECTION net DEPENDS "stopbit (= ${version})" DESCRIPTION
    "Decodes on cards that XRT drives, and has a card in simulation to try it with.")
endif()
include(CPack)
