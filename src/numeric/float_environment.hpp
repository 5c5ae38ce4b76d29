#pragma once
#include <cstdint>

namespace mgemm {

/// Round to nearest even, subnormals kept, no traps, for the calling thread while the object lives; what the caller had
/// set is back afterwards. The compiler does not know that arithmetic depends on it: keep the arithmetic
/// in a function that is not inlined and works on memory.
class FloatEnvironment {
 public:
  FloatEnvironment() noexcept;
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;
  FloatEnvironment(FloatEnvironment&&) = delete;
  FloatEnvironment& operator=(FloatEnvironment&&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace mgemm
