# Toolchain file: Debian's cross compiler for aarch64, with libraries that `./dev aarch64` has unpacked in build/aarch64.
# Programs run under user-mode emulation.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH stopbit_source)
set(stopbit_root ${stopbit_source}/build/aarch64/root)
set(stopbit_libraries ${stopbit_root}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
set(CMAKE_FIND_ROOT_PATH ${stopbit_root} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_LIBDIR} ${stopbit_libraries}/pkgconfig:${stopbit_root}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${stopbit_root})
# Libraries that libraries need.
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,-rpath-link,${stopbit_libraries})

set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=${stopbit_libraries})
