# What other projects build on: libraries, headers, the package for find_package(Stopbit), and pkg-config files.
# host/bindings/examples shows how they are used.
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

# Besides those of views. stopbit_ring and stopbit_record need no other.
set(STOPBIT_LIBRARY_HEADERS
  decoder/record/buffer_sink.hpp
  decoder/record/csv.hpp
  decoder/record/cursor.hpp
  decoder/record/digits.hpp
  decoder/record/fix.hpp
  decoder/record/json.hpp
  decoder/record/reader.hpp
  decoder/record/schema.hpp
  decoder/record/sink.hpp
  decoder/record/text_buffer.hpp
  decoder/record/word_place.hpp
  microcode/field_types.def
  microcode/image/image.hpp
  microcode/isa/isa.hpp
  microcode/isa/capabilities.def
  microcode/isa/opcodes.def
  microcode/program.hpp
  microcode/verify/verify.hpp
)
file(GLOB ring_headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/host/ring/*.hpp
  ${PROJECT_SOURCE_DIR}/host/standby/*.hpp
  ${PROJECT_SOURCE_DIR}/host/os/shm/*.hpp)
# Market events and books are headers alone; the table of instruments is Stopbit::instrument.
file(GLOB market_headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/host/market/book/*.hpp
  ${PROJECT_SOURCE_DIR}/host/market/book/*.def ${PROJECT_SOURCE_DIR}/host/market/event/*.def)
list(APPEND market_headers host/market/event/event.hpp host/market/event/fixed.hpp
  host/market/instrument/layout.hpp host/market/state/shape.hpp host/market/instrument/table.hpp)
# Of the network interface: what its clients need. Units of a node stay here.
set(nic_headers)
foreach(room "" atu/ channel/ msg/ node/ notify/ palms/ protocol/ queue/ sync/)
  file(GLOB headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/host/nic/${room}*.hpp
    ${PROJECT_SOURCE_DIR}/host/nic/${room}*.def)
  list(APPEND nic_headers ${headers})
endforeach()
list(FILTER nic_headers EXCLUDE REGEX "/node/(broker|node|fd_passing)\\.hpp$|/msg/message_(unit|engine)\\.hpp$|/protocol/package\\.hpp$")
foreach(header IN LISTS STOPBIT_VIEW_HEADERS STOPBIT_LIBRARY_HEADERS ring_headers market_headers nic_headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stopbit/${folder}
    COMPONENT development)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/host/bindings/c/stopbit.h ${PROJECT_SOURCE_DIR}/host/bindings/c/stopbit_view.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

# Stopbit::views: headers alone. Stopbit::ring, Stopbit::instrument, Stopbit::standby, Stopbit::record, Stopbit::nic: C++,
# of the version that they were built with.
# Stopbit::stopbit: the C library. Stopbit::command: the program.
add_library(stopbit_views INTERFACE)
target_compile_features(stopbit_views INTERFACE cxx_std_20)
target_include_directories(stopbit_views INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/stopbit>)
target_compile_features(stopbit_microcode PUBLIC cxx_std_20)
target_include_directories(stopbit_microcode INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/stopbit>)
target_include_directories(stopbit_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(stopbit PROPERTIES EXPORT_NAME command)
foreach(part views ring standby shm record microcode nic)
  set_target_properties(stopbit_${part} PROPERTIES EXPORT_NAME ${part})
endforeach()
set_target_properties(stopbit_market_instrument PROPERTIES EXPORT_NAME instrument)
install(TARGETS stopbit_views stopbit_ring stopbit_market_instrument stopbit_standby stopbit_shm stopbit_record
  stopbit_microcode stopbit_nic stopbit_shared EXPORT StopbitTargets
  LIBRARY COMPONENT library NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Stopbit)
install(EXPORT StopbitTargets NAMESPACE Stopbit:: DESTINATION ${package} COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/StopbitConfig.cmake.in ${PROJECT_BINARY_DIR}/StopbitConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/StopbitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/StopbitConfig.cmake ${PROJECT_BINARY_DIR}/StopbitConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/StopbitView.cmake DESTINATION ${package} COMPONENT development)

# From their folder up to the prefix, wherever that is moved.
file(RELATIVE_PATH STOPBIT_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name stopbit stopbit-cpp stopbit-nic)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/host/nic/man/stopbit-nic.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7
  COMPONENT development)
