# SPDX-License-Identifier: Apache-2.0
# Flags and the few functions with which every folder declares its one target.

add_library(dtrain_flags INTERFACE)
target_compile_options(dtrain_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -fno-math-errno -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False positives on std::string concatenation (GCC bugs 105329 and 105651).
  target_compile_options(dtrain_flags INTERFACE -Wno-restrict -Wno-stringop-overflow)
endif()
if(DTRAIN_WERROR)
  target_compile_options(dtrain_flags INTERFACE -Werror)
endif()
if(DTRAIN_SANITIZE)
  target_compile_options(dtrain_flags INTERFACE -fsanitize=${DTRAIN_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(dtrain_flags INTERFACE -fsanitize=${DTRAIN_SANITIZE})
endif()
target_link_options(dtrain_flags INTERFACE -Wl,--as-needed)
find_package(Threads REQUIRED)

# The SDK: the only headers a plugin may see.
add_library(dtrain_sdk INTERFACE)
target_include_directories(dtrain_sdk INTERFACE
  "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/core/include>" "$<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_compile_features(dtrain_sdk INTERFACE cxx_std_20)
add_library(dtrain::sdk ALIAS dtrain_sdk)
include(DtrainPlugin)

if(DTRAIN_WITH_TORCH)
  include(DtrainTorch)

  # One precompiled header for everything that includes libtorch: its headers take ten seconds to parse.
  file(WRITE "${CMAKE_BINARY_DIR}/torch_pch.cpp" "// The object that owns the precompiled header.\n")
  add_library(dtrain_torch_pch OBJECT "${CMAKE_BINARY_DIR}/torch_pch.cpp")
  target_link_libraries(dtrain_torch_pch PRIVATE dtrain_flags dtrain_torch)
  target_compile_options(dtrain_torch_pch PRIVATE -fpch-preprocess)
  target_precompile_headers(dtrain_torch_pch PRIVATE
    <ATen/ATen.h> <torch/csrc/autograd/custom_function.h> <torch/csrc/autograd/variable.h>)
endif()

function(dtrain_use_torch target)
  target_link_libraries(${target} PRIVATE dtrain_torch)
  target_compile_options(${target} PRIVATE -fpch-preprocess)
  target_precompile_headers(${target} REUSE_FROM dtrain_torch_pch)
endfunction()

# dtrain_library(name SOURCES a.cpp ... [LIBS ...] [TORCH]): the static library of one folder below core/. Without TORCH the
# folder promises not to use libtorch; a test checks what it includes and links.
function(dtrain_library name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LIBS" ${ARGN})
  if(ARG_TORCH AND NOT DTRAIN_WITH_TORCH)
    return()
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PUBLIC dtrain_sdk ${ARG_LIBS} PRIVATE dtrain_flags Threads::Threads)
  if(ARG_TORCH)
    dtrain_use_torch(${name})
  endif()
endfunction()

# dtrain_plugin(name SOURCES a.cpp ... [LIBS ...] [TORCH]): a plugin of this repository: dtrain_add_plugin() with our warnings,
# placed and installed where dtrain looks.
function(dtrain_plugin name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LIBS" ${ARGN})
  if(ARG_TORCH AND NOT DTRAIN_WITH_TORCH)
    return()
  endif()
  dtrain_add_plugin(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${DTRAIN_PLUGIN_DIR}")
  target_link_libraries(${name} PRIVATE dtrain_flags Threads::Threads)
  if(ARG_TORCH)
    dtrain_use_torch(${name})
  endif()
  install(TARGETS ${name} LIBRARY DESTINATION "${DTRAIN_PLUGIN_DIR}" COMPONENT runtime)
  set_property(GLOBAL APPEND PROPERTY DTRAIN_PLUGINS ${name})
endfunction()

# dtrain_test(name SOURCES a_test.cpp ... [LIBS ...] [TORCH] [LABEL quick|slow] [TIMEOUT s] [ENVIRONMENT ...]): one GoogleTest program.
function(dtrain_test name)
  cmake_parse_arguments(ARG "TORCH" "LABEL;TIMEOUT" "SOURCES;LIBS;ENVIRONMENT" ${ARGN})
  if(ARG_TORCH AND NOT DTRAIN_WITH_TORCH)
    return()
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL quick)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE dtrain_flags ${ARG_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT ARG_TORCH)
    # What is tested is optimised; the tests themselves need not be, and compile in half the time.
    target_compile_options(${name} PRIVATE -O0)
  endif()
  target_compile_definitions(${name} PRIVATE
    DTRAIN_BINARY="${CMAKE_BINARY_DIR}/${CMAKE_INSTALL_BINDIR}/dtrain"
    DTRAIN_PLUGINS="${CMAKE_BINARY_DIR}/${DTRAIN_PLUGIN_DIR}"
    DTRAIN_SOURCE="${CMAKE_SOURCE_DIR}")
  if(ARG_TORCH)
    target_link_libraries(${name} PRIVATE dtrain_torch)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()
