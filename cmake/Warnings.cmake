# mgemm_options: what every target of ours is compiled with. Bits depend on -ffp-contract=off.
add_library(mgemm_options INTERFACE)
target_compile_options(
  mgemm_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -ffp-contract=off
                          -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(MGEMM_SANITIZE)
  # A target with the property MGEMM_UNSANITIZED is compiled without, and can still be linked to what is compiled with.
  # GCC sees uninitialised members in <functional> once the sanitizers have rewritten it.
  target_compile_options(mgemm_options INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:MGEMM_UNSANITIZED>>>:-fsanitize=${MGEMM_SANITIZE}>
                                                 -fno-omit-frame-pointer -fno-sanitize-recover=all
                                                 $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(mgemm_options INTERFACE -fsanitize=${MGEMM_SANITIZE})
  target_compile_definitions(mgemm_options INTERFACE MGEMM_SANITIZED=1)
endif()
