#include "numeric/float_environment.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif !defined(__aarch64__)
#error "the floating-point control register of this architecture is not known"
#endif

namespace mgemm {
namespace {

#if defined(__x86_64__)

// MXCSR: every exception masked, nearest even, neither flush-to-zero nor denormals-are-zero, no flag raised.
constexpr std::uint64_t contract_control = 0x1f80;

std::uint64_t read_control() noexcept { return _mm_getcsr(); }
void write_control(std::uint64_t value) noexcept { _mm_setcsr(static_cast<unsigned>(value)); }

#else

// FPCR: nearest even, no flushing, no traps, NaNs propagate. The flags live in FPSR and are left to accumulate.
constexpr std::uint64_t contract_control = 0;

std::uint64_t read_control() noexcept {
  std::uint64_t value = 0;
  asm volatile("mrs %0, fpcr" : "=r"(value) : : "memory");
  return value;
}
void write_control(std::uint64_t value) noexcept { asm volatile("msr fpcr, %0" : : "r"(value) : "memory"); }

#endif

}  // namespace

FloatEnvironment::FloatEnvironment() noexcept : saved_(read_control()) { write_control(contract_control); }

FloatEnvironment::~FloatEnvironment() { write_control(saved_); }

}  // namespace mgemm
