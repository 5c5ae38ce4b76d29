// A product on host memory with everything around it that must not change: guards, gaps between rows, odd addresses.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "numeric/evaluator.hpp"
#include "support/random.hpp"

namespace mgemm::test {

/// A float array whose first element lies `shift` floats after an allocation's start, with guard words on both sides.
class Guarded {
 public:
  Guarded() = default;
  Guarded(std::int64_t count, std::int64_t shift, float fill)
      : words_(static_cast<size_t>(count + shift + 2 * guard), fill), first_(static_cast<size_t>(shift + guard)) {}

  float* data() { return words_.data() + first_; }
  std::span<float> values() { return std::span(words_).subspan(first_, words_.size() - first_ - guard); }
  /// Bit for bit, guards included.
  bool same_bits(const Guarded& other) const {
    return words_.size() == other.words_.size() &&
           std::memcmp(words_.data(), other.words_.data(), words_.size() * sizeof(float)) == 0;
  }

 private:
  static constexpr std::int64_t guard = 16;
  std::vector<float> words_;
  size_t first_ = 0;
};

/// A NaN that no product can give: what is read or left over by mistake shows.
constexpr std::uint32_t poison_bits = 0xffa5a5a5U;
inline float poison() { return std::bit_cast<float>(poison_bits); }

struct Product {
  EvaluatorInput input;  // `out` is set by those who compute
  Guarded a, b, bias, out;
};

struct Shape {
  Op op = Op::nn;
  std::int64_t m = 0, k = 0, n = 0;
};

/// Operands laid out by the table of operations, with gaps behind rows, at addresses aligned to a float and no more.
/// `fill` writes the values of a, b, bias and, if beta is not 0, of the old output.
template <typename Fill>
Product make_product(Random& random, const Shape& shape, bool bias, float alpha, float beta, Fill&& fill) {
  const auto gap = [&] { return uniform(random, 0, 1) * uniform(random, 0, 9); };
  const auto shift = [&] { return uniform(random, 0, 15); };
  const auto [op, m, k, n] = shape;

  Product product;
  EvaluatorInput& in = product.input;
  std::int64_t a_rows = m;
  std::int64_t b_rows = k;
  std::int64_t lda = k + gap();
  std::int64_t ldb = n + gap();
  switch (op) {
    case Op::nn:
      in = {.rows = m, .columns = n, .reduction = k, .a_strides = {lda, 1}, .b_strides = {ldb, 1}};
      break;
    case Op::tn:
      b_rows = m;
      in = {.rows = k, .columns = n, .reduction = m, .a_strides = {1, lda}, .b_strides = {ldb, 1}};
      break;
    case Op::nt:
      lda = n + gap();
      in = {.rows = m, .columns = k, .reduction = n, .a_strides = {lda, 1}, .b_strides = {1, ldb}};
      break;
  }
  in.out_leading = in.columns + gap();
  in.alpha = alpha;
  in.beta = beta;
  in.slices = cut(in.reduction, 1);

  if (in.reduction > 0) {
    product.a = Guarded(a_rows * lda, shift(), poison());
    product.b = Guarded(b_rows * ldb, shift(), poison());
    fill(product.a.values());
    fill(product.b.values());
    in.a = product.a.data();
    in.b = product.b.data();
  }
  if (bias) {
    product.bias = Guarded(in.columns, shift(), poison());
    fill(product.bias.values());
    in.bias = product.bias.data();
  }
  product.out = Guarded(in.rows * in.out_leading, shift(), poison());
  if (beta != 0) fill(product.out.values());
  return product;
}

/// The output buffer as one evaluate() leaves it.
inline Guarded evaluated(const Product& product, Isa isa, int threads) {
  Guarded out = product.out;
  EvaluatorInput input = product.input;
  input.out = out.data();
  evaluate(input, isa, threads);
  return out;
}

/// The output buffer as it must be: each element by evaluate_element(), all else as it was.
inline Guarded expected(const Product& product) {
  Guarded before = product.out;
  Guarded after = product.out;
  EvaluatorInput input = product.input;
  input.out = before.data();
  for (std::int64_t i = 0; i < input.rows; ++i) {
    for (std::int64_t j = 0; j < input.columns; ++j) {
      after.data()[i * input.out_leading + j] = evaluate_element(input, i, j);
    }
  }
  return after;
}

inline std::vector<Isa> supported_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512}) {
    if (is_supported(isa)) isas.push_back(isa);
  }
  return isas;
}

/// Values with every kind of exception among normal ones.
inline void fill_exceptional(Random& random, std::span<float> values) {
  constexpr std::array<std::uint32_t, 16> special{
      0x00000000U, 0x80000000U,                             // zeros
      0x00000001U, 0x80000001U, 0x007fffffU, 0x80400000U,   // subnormals
      0x00800000U, 0x80800001U,                             // the smallest normal numbers
      0x7f7fffffU, 0xff7fffffU,                             // the largest
      0x7f800000U, 0xff800000U,                             // infinities
      0x7fc12345U, 0xffc00001U, 0x7f800001U, 0xffbfffffU};  // quiet and signalling NaNs with payloads
  // Most chains would end as NaN if every kind were drawn alike, so each buffer keeps to a range of kinds.
  constexpr std::array<std::int64_t, 4> ends{7, 9, 11, 15};
  const std::int64_t end = ends.at(static_cast<size_t>(uniform(random, 0, 3)));
  const std::int64_t rarity = uniform(random, 1, 40);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-80, 60);
  for (float& value : values) {
    const auto kind = static_cast<size_t>(uniform(random, 0, end));
    value = uniform(random, 0, rarity) == 0 ? std::bit_cast<float>(special.at(kind))
                                            : std::ldexp(normal(random), exponent(random));
  }
}

}  // namespace mgemm::test
