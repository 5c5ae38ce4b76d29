# Debian's packages only. spdlog is used header-only, fmt is compiled by us and libcrypto is linked statically, so that
# the library needs nothing but libc, libm, libgcc and libstdc++ at run time.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
set(OPENSSL_USE_STATIC_LIBS TRUE)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(nlohmann_json REQUIRED)
if(MGEMM_BUILD_TOOLS)
  find_package(CLI11 REQUIRED)
endif()
if(MGEMM_BUILD_TESTS)
  find_package(Catch2 REQUIRED)
endif()
