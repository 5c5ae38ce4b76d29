# Library, its helper program, headers, pkg-config file, CMake package. The command line tool installs itself.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mamba_gemm)
install(TARGETS mamba_gemm EXPORT mamba_gemm_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS mamba-gemm-assemble RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/mamba-gemm)
install(DIRECTORY include/mamba_gemm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Relative to the file itself, so that the installed tree can be moved.
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH pc_to_include ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/mamba_gemm.pc.in mamba_gemm.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mamba_gemm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(EXPORT mamba_gemm_targets FILE mamba_gemmTargets.cmake NAMESPACE mamba_gemm:: DESTINATION ${package_dir})
configure_package_config_file(cmake/mamba_gemmConfig.cmake.in mamba_gemmConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(mamba_gemmConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mamba_gemmConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/mamba_gemmConfigVersion.cmake DESTINATION ${package_dir})
