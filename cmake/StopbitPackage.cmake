# The Debian package: ./dev package, or cpack -G DEB in the build folder.
include_guard(GLOBAL)

set(folder ${PROJECT_SOURCE_DIR}/host/cli/packaging)
foreach(unit stopbit@.service stopbit-frozen@.service)
  configure_file(${folder}/${unit} ${PROJECT_BINARY_DIR}/${unit} @ONLY)
  # Its program is where this installation puts it, which is known only then.
  install(CODE "
    file(READ \"${PROJECT_BINARY_DIR}/${unit}\" unit)
    string(REPLACE \"${CMAKE_INSTALL_FULL_BINDIR}/\" \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/\" unit \"\${unit}\")
    file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/${unit}\" \"\${unit}\")
  ")
endforeach()
install(FILES ${folder}/stopbit-frozen@.timer DESTINATION lib/systemd/system)
install(FILES ${folder}/stopbit.sysusers DESTINATION lib/sysusers.d RENAME stopbit.conf)
install(FILES
  ${PROJECT_SOURCE_DIR}/host/monitor/control/monitoring/stopbit.rules.yml
  ${PROJECT_SOURCE_DIR}/host/monitor/control/monitoring/stopbit.dashboard.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/stopbit)
install(FILES ${folder}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The example finds its capture and templates beside it.
set(example ${CMAKE_INSTALL_DATADIR}/stopbit/example)
foreach(name appliance.toml feed.toml publish.toml publish-feed.toml)
  file(READ ${PROJECT_SOURCE_DIR}/host/appliance/example/${name} text)
  string(REPLACE "../../../tests/data/sample/" "" text "${text}")
  string(REPLACE "host/appliance/example/" "" text "${text}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/example/${name} CONTENT "${text}" @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/example/${name} DESTINATION ${example})
endforeach()
install(FILES
  ${PROJECT_SOURCE_DIR}/tests/data/sample/capture.pcap.gz
  ${PROJECT_SOURCE_DIR}/tests/data/sample/map.toml
  ${PROJECT_SOURCE_DIR}/tests/data/sample/templates.xml
  DESTINATION ${example})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME stopbit)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Stopbit <root@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "decoder and appliance for FAST market data")
set(CPACK_PACKAGE_DESCRIPTION
  "Compiles FAST 1.1 and 1.2 template files to firmware, decodes captures and live
feeds with it, merges redundant lines, and publishes fixed-layout records in
shared-memory rings. One program with subcommands, a C library, C++ headers, a
Python module, and a systemd unit for appliances.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/StopbitPackageFiles.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS python3)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS tzdata)  # time zones of calendars
# The carrier fabric loads it on first use.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS libfabric1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${folder}/postinst ${folder}/prerm ${folder}/postrm ${folder}/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
