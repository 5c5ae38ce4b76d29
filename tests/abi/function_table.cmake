# Run with cmake -P: HEADERS -> OUTPUT, a C file with the name and address of every function the headers declare.
set(text "")
foreach(header IN LISTS HEADERS)
  file(READ ${header} one)
  string(APPEND text "${one}")
endforeach()
string(REGEX MATCHALL "MGEMM_API [A-Za-z0-9_ *]*mgemm_[a-z0-9_]+\\(" declarations "${text}")
set(rows "")
foreach(declaration IN LISTS declarations)
  string(REGEX REPLACE ".*(mgemm_[a-z0-9_]+)\\($" "\\1" name "${declaration}")
  string(APPEND rows "  {\"${name}\", (any_function)${name}},\n")
endforeach()
file(
  WRITE ${OUTPUT}.tmp
  "/* Generated from the C headers. */
#include \"function_table.h\"
#include \"mamba_gemm/mamba_gemm.h\"
const function_entry function_table[] = {
${rows}};
const size_t function_count = sizeof function_table / sizeof function_table[0];
")
file(RENAME ${OUTPUT}.tmp ${OUTPUT})
