# SPDX-License-Identifier: Apache-2.0
# The CMake package with which plugins are built out of tree: find_package(dtrain), dtrain::sdk, dtrain_add_plugin().
include(CMakePackageConfigHelpers)
set(DTRAIN_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/dtrain")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/dtrainConfig.cmake.in" "${CMAKE_BINARY_DIR}/dtrainConfig.cmake"
  INSTALL_DESTINATION "${DTRAIN_PACKAGE_DIR}")
# Before 1.0 a minor release may change an interface; the ABI tags decide at load time in any case.
write_basic_package_version_file("${CMAKE_BINARY_DIR}/dtrainConfigVersion.cmake" COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
install(FILES
  "${CMAKE_BINARY_DIR}/dtrainConfig.cmake"
  "${CMAKE_BINARY_DIR}/dtrainConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/DtrainPlugin.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/DtrainTorch.cmake"
  DESTINATION "${DTRAIN_PACKAGE_DIR}" COMPONENT sdk)
install(TARGETS dtrain_sdk EXPORT dtrain COMPONENT sdk)
set_target_properties(dtrain_sdk PROPERTIES EXPORT_NAME sdk)
install(EXPORT dtrain NAMESPACE dtrain:: FILE dtrainTargets.cmake DESTINATION "${DTRAIN_PACKAGE_DIR}" COMPONENT sdk)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/core/include/dtrain" "${CMAKE_BINARY_DIR}/include/dtrain"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT sdk FILES_MATCHING PATTERN "*.h")
