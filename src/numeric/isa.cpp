#include <array>
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "base/log.hpp"
#include "numeric/evaluator.hpp"
#include "numeric/micro_kernel.hpp"

namespace mgemm {
namespace {

constexpr std::array by_speed{Isa::avx512, Isa::avx2, Isa::generic};

/// What the processor has and the operating system saves; only what the files were compiled with counts.
bool processor_has(Isa isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == Isa::avx2) return avx2;
  if (isa == Isa::avx512) return avx2 && __builtin_cpu_supports("avx512f");
#endif
  return isa == Isa::generic;
}

Isa fastest() {
  for (const Isa isa : by_speed) {
    if (is_supported(isa)) return isa;
  }
  return Isa::generic;
}

}  // namespace

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return "avx512";
    case Isa::avx2:
      return "avx2";
    case Isa::generic:
      break;
  }
  return "generic";
}

bool is_supported(Isa isa) {
  switch (isa) {
    case Isa::avx512:
      return avx512_micro_kernel(Arithmetic::fma32) != nullptr && processor_has(isa);
    case Isa::avx2:
      return avx2_micro_kernel(Arithmetic::fma32) != nullptr && processor_has(isa);
    case Isa::generic:
      return true;
  }
  return false;
}

Isa best_isa() {
  // An atomic and not a guarded static: a guard could be held by another thread at the moment of a fork.
  constexpr int unknown = -1;
  static std::atomic<int> known{unknown};
  int current = known.load(std::memory_order_relaxed);
  if (current != unknown) return static_cast<Isa>(current);

  Isa chosen = fastest();
  const char* text = std::getenv("MAMBA_GEMM_SIMD");
  bool understood = text == nullptr;
  for (const Isa isa : by_speed) {
    if (understood || std::string_view(text) != name_of(isa) || !is_supported(isa)) continue;
    chosen = isa;
    understood = true;
  }
  if (!known.compare_exchange_strong(current, static_cast<int>(chosen))) return static_cast<Isa>(current);
  if (!understood) {
    log(MGEMM_LOG_WARN,
        "MAMBA_GEMM_SIMD is '{}', which is unknown or not supported here; valid are generic, avx2, avx512. Using {}.",
        text, name_of(chosen));
  }
  return chosen;
}

}  // namespace mgemm
