// The C++ header alone, as C++17.
#include "mamba_gemm/mamba_gemm.hpp"

static_assert(__cplusplus == 201703L, "this file checks C++17");

int main() { return mgemm_version_number() == 0 ? 1 : 0; }
