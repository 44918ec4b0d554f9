# SPDX-License-Identifier: Apache-2.0
# dtrain_torch: libtorch's headers (as system headers, so that they do not meet our warnings) and libraries.
#
# Either what find_package(Torch) finds (Debian's libtorch-dev), or, with DTRAIN_TORCH_ROOT, the folder `torch` of an unpacked
# PyPI wheel. The wheel's own package files are not used: those of a CUDA build demand a CUDA toolkit of the same version,
# although dtrain's CPU build needs libtorch_cpu and libc10 alone.
#
# Sets DTRAIN_TORCH_VERSION ("1.13.1", from the headers) and DTRAIN_TORCH_LIBRARY (the file libtorch_cpu.so).
set(DTRAIN_TORCH_ROOT "" CACHE PATH "Folder `torch` of an unpacked PyPI wheel; empty: find_package(Torch)")

add_library(dtrain_torch INTERFACE)
add_library(dtrain::torch ALIAS dtrain_torch)
if(DTRAIN_TORCH_ROOT)
  set(TORCH_INCLUDE_DIRS "${DTRAIN_TORCH_ROOT}/include" "${DTRAIN_TORCH_ROOT}/include/torch/csrc/api/include")
  foreach(name c10 torch_cpu)
    set(file "${DTRAIN_TORCH_ROOT}/lib/lib${name}.so")
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "DTRAIN_TORCH_ROOT: there is no ${file}; packaging/torch2.sh fetches the wheel and unpacks it")
    endif()
    add_library(${name} SHARED IMPORTED)
    set_target_properties(${name} PROPERTIES IMPORTED_LOCATION "${file}")
  endforeach()
  target_link_libraries(torch_cpu INTERFACE c10)
  target_link_libraries(dtrain_torch INTERFACE torch_cpu c10)
  # Where libtorch_cpu itself finds what it needs.
  target_link_options(dtrain_torch INTERFACE "-Wl,-rpath-link,${DTRAIN_TORCH_ROOT}/lib"
    "-Wl,-rpath-link,${DTRAIN_TORCH_ROOT}/../nvidia/cu13/lib")
  set(DTRAIN_TORCH_LIBRARY "${DTRAIN_TORCH_ROOT}/lib/libtorch_cpu.so")
else()
  find_package(Torch REQUIRED)
  target_compile_options(dtrain_torch INTERFACE ${TORCH_CXX_FLAGS})
  target_link_libraries(dtrain_torch INTERFACE ${TORCH_LIBRARIES})
  find_library(DTRAIN_TORCH_LIBRARY torch_cpu HINTS "${TORCH_INSTALL_PREFIX}/lib" REQUIRED)
endif()
target_include_directories(dtrain_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})

# 2.9 moved the numbers into the header-only part.
foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
  foreach(folder ${TORCH_INCLUDE_DIRS})
    if(NOT DTRAIN_TORCH_VERSION AND EXISTS "${folder}/${header}")
      file(STRINGS "${folder}/${header}" lines REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
      list(TRANSFORM lines REPLACE "^.* " "")
      list(JOIN lines "." DTRAIN_TORCH_VERSION)
    endif()
  endforeach()
endforeach()
message(STATUS "libtorch ${DTRAIN_TORCH_VERSION}: ${DTRAIN_TORCH_LIBRARY}")
