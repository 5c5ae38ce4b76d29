#include <array>
#include <atomic>
#include <cstdlib>
#include <optional>
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

std::optional<Isa> supported_by_name(std::string_view name) {
  for (const Isa isa : by_speed) {
    if (name == name_of(isa) && is_supported(isa)) return isa;
  }
  return std::nullopt;
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

std::string simd_objection(std::string_view value) {
  if (supported_by_name(value)) return {};
  return fmt::format("{} is '{}', which is unknown or not supported here; valid are generic, avx2, avx512",
                     simd_variable, value);
}

Isa best_isa() {
  // An atomic and not a guarded static: a guard could be held by another thread at the moment of a fork.
  constexpr int unknown = -1;
  static std::atomic<int> known{unknown};
  int current = known.load(std::memory_order_relaxed);
  if (current != unknown) return static_cast<Isa>(current);

  const char* const text = std::getenv(simd_variable);
  const std::optional<Isa> asked = text == nullptr ? std::nullopt : supported_by_name(text);
  const Isa chosen = asked.value_or(fastest());
  if (!known.compare_exchange_strong(current, static_cast<int>(chosen))) return static_cast<Isa>(current);
  if (text != nullptr && !asked) log(MGEMM_LOG_WARN, "{}. Using {}.", simd_objection(text), name_of(chosen));
  return chosen;
}

}  // namespace mgemm
