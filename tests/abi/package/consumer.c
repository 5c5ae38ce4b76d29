#include <mamba_gemm/mamba_gemm.h>
#include <stdio.h>

int main(void) {
  puts(mgemm_version_string());
  return mgemm_version_number() == 0;
}
