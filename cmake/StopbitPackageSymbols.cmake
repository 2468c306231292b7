# Packs packages of debug symbols anew: cpack writes the paths of this machine into their checksums. Run by cpack, when it
# has made all packages.
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  if(NOT package MATCHES "-dbgsym_[^/]*\\.ddeb$")
    continue()
  endif()
  set(folder ${package}.unpacked)
  execute_process(
    COMMAND sh -ec [[
      rm -rf "$2"
      dpkg-deb --raw-extract "$1" "$2"
      cd "$2"
      find usr -type f -exec md5sum {} + | LC_ALL=C sort -k 2 >DEBIAN/md5sums
      find . -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
      dpkg-deb --root-owner-group -Zgzip --build . "$1" >/dev/null
      rm -rf "$2"]] sh ${package} ${folder}
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
