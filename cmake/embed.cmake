# Run with cmake -P by mgemm_embed_sources.
set(arrays "")
set(table "")
set(index 0)
foreach(source IN LISTS SOURCES)
  get_filename_component(name ${source} NAME)
  file(READ ${source} hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "constexpr unsigned char file_${index}[] = {\n${bytes}0};\n")
  string(APPEND table "    {\"${name}\", {reinterpret_cast<const char*>(file_${index}), sizeof file_${index} - 1}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(
  WRITE ${OUTPUT}.tmp
  "// Generated from cuda_src/.
#include \"catalogue/embedded.hpp\"
#include <array>
namespace mgemm {
namespace {
${arrays}
const std::array<EmbeddedFile, ${index}> files{{
${table}}};
}  // namespace
std::span<const EmbeddedFile> embedded_files() { return files; }
}  // namespace mgemm
")
file(RENAME ${OUTPUT}.tmp ${OUTPUT})
