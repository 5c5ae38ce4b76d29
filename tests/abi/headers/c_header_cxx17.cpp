// The C header alone, as C++17.
#include "mamba_gemm/mamba_gemm.h"

static_assert(__cplusplus == 201703L, "this file checks C++17");
static_assert(noexcept(mgemm_version_number()), "the functions are noexcept in C++");

int main() {
  const unsigned expected = MGEMM_VERSION_MAJOR * 10000 + MGEMM_VERSION_MINOR * 100 + MGEMM_VERSION_PATCH;
  return mgemm_version_number() == expected ? 0 : 1;
}
