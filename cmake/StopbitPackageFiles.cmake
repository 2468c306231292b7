# What only a Debian package wants of the staged files: compressed manual pages and changelog. Run by cpack.
set(share ${CPACK_TEMPORARY_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
file(COPY ${CMAKE_CURRENT_LIST_DIR}/../host/cli/packaging/changelog DESTINATION ${share}/doc/stopbit)
file(GLOB pages ${share}/man/man1/*.1 ${share}/man/man5/*.5 ${share}/man/man7/*.7)
execute_process(COMMAND gzip -9nf ${pages} ${share}/doc/stopbit/changelog COMMAND_ERROR_IS_FATAL ANY)
