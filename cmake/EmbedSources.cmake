# mgemm_embed_sources(OUTPUT file.cpp DIRECTORY dir): every .cu, .cuh and .h of a folder as a byte array in a C++ file,
# sorted by name, so that the result depends on the files' names and bytes alone.
function(mgemm_embed_sources)
  cmake_parse_arguments(EMBED "" "OUTPUT;DIRECTORY" "" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${EMBED_DIRECTORY}/*.cu ${EMBED_DIRECTORY}/*.cuh ${EMBED_DIRECTORY}/*.h)
  list(SORT sources)
  add_custom_command(
    OUTPUT ${EMBED_OUTPUT}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${EMBED_OUTPUT} "-DSOURCES=${sources}" -P
            ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${sources} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
endfunction()
