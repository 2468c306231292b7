# What only Debian packages want of the staged files: licence and changelog of each, compressed pages, static libraries
# without symbols. Run by cpack, once for all packages.
set(packaging ${CMAKE_CURRENT_LIST_DIR}/../host/cli/packaging)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(name ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(staged ${CPACK_TEMPORARY_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX})
  file(COPY ${packaging}/copyright ${packaging}/changelog DESTINATION ${staged}/share/doc/${name})
  file(GLOB pages ${staged}/share/man/man?/*.?)
  execute_process(COMMAND gzip -9nf ${pages} ${staged}/share/doc/${name}/changelog COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB libraries ${staged}/lib/*.a)
  if(libraries)
    execute_process(COMMAND strip --strip-debug --enable-deterministic-archives ${libraries} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
# The same sources give the same bytes: all times are that of the changelog. cpack, whose script this is, reads the
# variable for what it adds.
execute_process(COMMAND sed -n "0,/^ -- /s/^ -- .*>  //p" ${packaging}/changelog OUTPUT_VARIABLE written
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND date -d "${written}" +%s OUTPUT_VARIABLE epoch OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
set(ENV{SOURCE_DATE_EPOCH} ${epoch})
execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -exec touch -h -d @${epoch} {} +
  COMMAND_ERROR_IS_FATAL ANY)
