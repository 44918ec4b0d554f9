# SPDX-License-Identifier: Apache-2.0
# How a plugin is built, in this repository and, installed with the package `dtrain`, outside of it.

# dtrain_add_plugin(name SOURCES a.cpp ... [LIBS ...] [TORCH]): the shared object name.so. TORCH for the kinds that use libtorch
# (model, loss, metric). A plugin links no symbol of dtrain, so one that is missing is an error of this link, not of a run.
function(dtrain_add_plugin name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LIBS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "dtrain_add_plugin(${name}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "dtrain_add_plugin(${name}): no SOURCES")
  endif()
  add_library(${name} MODULE ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so" POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(${name} PRIVATE dtrain::sdk ${ARG_LIBS})
  # The same bits for the same element wherever a range is cut: see <dtrain/elementwise.h>.
  target_compile_options(${name} PRIVATE -ffp-contract=off -fno-math-errno)
  # Sanitizers leave their own symbols to the program that loads the plugin.
  if(NOT DTRAIN_SANITIZE AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  if(ARG_TORCH)
    dtrain_find_torch()
    target_link_libraries(${name} PRIVATE dtrain::torch)
  endif()
endfunction()

# Makes the target dtrain::torch, once a project, and checks that it is the libtorch that dtrain was built with.
function(dtrain_find_torch)
  if(NOT TARGET dtrain::torch)
    set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)
    include("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/DtrainTorch.cmake")
    if(NOT DTRAIN_TORCH_VERSION STREQUAL DTRAIN_BUILT_WITH_TORCH)
      message(FATAL_ERROR "found libtorch ${DTRAIN_TORCH_VERSION}, but this dtrain was built with "
        "${DTRAIN_BUILT_WITH_TORCH} and would refuse the plugin")
    endif()
  endif()
endfunction()
