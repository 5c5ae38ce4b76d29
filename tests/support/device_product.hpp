// A product with everything round it that must not change, run on any device through the public interface.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "mamba_gemm/mamba_gemm.hpp"
#include "support/random.hpp"
#include "support/test.hpp"

namespace mgemm::test {

/// A matrix in memory: guard elements, a shift that sets the alignment, rows with their gaps, guard elements; as 32-bit
/// words, the last of which may be half an element's guard.
struct GuardedMatrix {
  static constexpr std::int64_t guard = 64;
  std::int32_t type = MGEMM_TYPE_F32;
  std::int64_t rows = 0, columns = 0, leading = 0, shift = 0;
  std::vector<std::uint32_t> words;

  GuardedMatrix() = default;
  /// Random words everywhere; what must be numbers is filled in afterwards.
  GuardedMatrix(Random& random, std::int32_t t, std::int64_t r, std::int64_t c, std::int64_t ld, std::int64_t s)
      : type(t), rows(r), columns(c), leading(ld), shift(s) {
    const std::int64_t span = rows == 0 || columns == 0 ? 0 : (rows - 1) * leading + columns;
    words.resize(static_cast<size_t>(((2 * guard + shift + span) * element_size() + 3) / 4));
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
  }

  std::int64_t element_size() const { return mamba_gemm::element_bytes(type); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(words.size()) * 4; }
  /// Of element (0, 0), in bytes.
  std::int64_t first() const { return (guard + shift) * element_size(); }
  const void* data() const { return place(0, 0); }
  std::uint32_t bits(std::int64_t i, std::int64_t j) const {
    std::uint32_t value = 0;
    std::memcpy(&value, place(i, j), static_cast<size_t>(element_size()));
    return value;
  }
  void set_bits(std::int64_t i, std::int64_t j, std::uint32_t value) {
    std::memcpy(const_cast<std::byte*>(place(i, j)), &value, static_cast<size_t>(element_size()));
  }
  float at(std::int64_t i, std::int64_t j) const {
    return mamba_gemm::is_half(type) ? mamba_gemm::from_half(type, static_cast<std::uint16_t>(bits(i, j)))
                                     : std::bit_cast<float>(bits(i, j));
  }
  void set(std::int64_t i, std::int64_t j, float value) {
    set_bits(i, j, mamba_gemm::is_half(type) ? mamba_gemm::to_half(type, value) : std::bit_cast<std::uint32_t>(value));
  }
  std::vector<std::uint32_t> row(std::int64_t i) const {
    std::vector<std::uint32_t> result;
    for (std::int64_t j = 0; j < columns; ++j) result.push_back(bits(i, j));
    return result;
  }
  template <typename Value>
  void fill(Value&& value) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) set(i, j, value());
    }
  }

 private:
  const std::byte* place(std::int64_t i, std::int64_t j) const {
    return reinterpret_cast<const std::byte*>(words.data()) + first() + (i * leading + j) * element_size();
  }
};

/// A matrix on a device.
class DeviceMatrix {
 public:
  DeviceMatrix(const mamba_gemm::Context& context, const GuardedMatrix& matrix)
      : buffer_(context, matrix.bytes()), first_(matrix.first()) {
    buffer_.upload(matrix.words.data(), matrix.bytes());
  }
  std::uint64_t address() const { return buffer_.address() + static_cast<std::uint64_t>(first_); }
  void upload(const GuardedMatrix& matrix) { buffer_.upload(matrix.words.data(), matrix.bytes()); }
  std::vector<std::uint32_t> download() const {
    std::vector<std::uint32_t> words(static_cast<size_t>(buffer_.bytes() / 4));
    buffer_.download(words.data(), buffer_.bytes());
    return words;
  }

 private:
  mamba_gemm::Buffer buffer_;
  std::int64_t first_;
};

struct DeviceProduct {
  mgemm_problem problem{};
  GuardedMatrix a, b, bias, out;
};

/// Operands on a device, and the check that nothing but the output has changed.
class BoundProduct {
 public:
  BoundProduct(const mamba_gemm::Context& context, const DeviceProduct& product)
      : product_(product),
        a_(context, product.a),
        b_(context, product.b),
        bias_(context, product.bias),
        out_(context, product.out) {}

  mgemm_operands operands() const {
    return mamba_gemm::operands(a_.address(), b_.address(), out_.address(),
                                product_.problem.bias == 1 ? bias_.address() : 0);
  }
  /// The output and what is round it as they were at first.
  void poison() { out_.upload(product_.out); }
  /// Everything in and round the output.
  std::vector<std::uint32_t> output() const { return out_.download(); }
  /// The same; requires inputs and their surroundings to be untouched.
  std::vector<std::uint32_t> result() const {
    REQUIRE(a_.download() == product_.a.words);
    REQUIRE(b_.download() == product_.b.words);
    REQUIRE(bias_.download() == product_.bias.words);
    return out_.download();
  }

 private:
  const DeviceProduct& product_;
  DeviceMatrix a_, b_, bias_, out_;
};

inline std::vector<std::uint32_t> run_on(const mamba_gemm::Context& context, const DeviceProduct& product) {
  const BoundProduct bound(context, product);
  mamba_gemm::Launch launch(context, product.problem, bound.operands());
  launch.run();
  return bound.result();
}

struct ProductOptions {
  std::int64_t most_gap = 9;         // elements between rows
  std::int64_t most_shift = 7;       // elements by which a base is off 256-byte alignment
  std::int64_t row_alignment = 1;    // elements that addresses and leading dimensions of a and b are multiples of
  std::int64_t a_alignment = 1;      // the same of a alone
  std::int64_t b_alignment = 1;      // and of b
  std::int64_t out_alignment = 1;    // the same of the output
  bool exceptional = false;          // infinities, NaNs, -0 and subnormals among the inputs
  const GuardedMatrix* b = nullptr;  // taken instead of a fresh one
};

inline float exceptional_value(Random& random) {
  switch (uniform(random, 0, 9)) {
    case 0:
      return std::numeric_limits<float>::infinity();
    case 1:
      return -std::numeric_limits<float>::infinity();
    case 2:
      return std::numeric_limits<float>::signaling_NaN();
    case 3:
      return -0.0F;
    case 4:
      return std::numeric_limits<float>::denorm_min() * static_cast<float>(uniform(random, -9, 9));
    case 5:
      return std::numeric_limits<float>::max();
    case 6:
      return std::numeric_limits<float>::min();
    default:
      return static_cast<float>(uniform(random, -3, 3));
  }
}

/// Random operands for a problem; leading dimensions and alignment are drawn. Outputs are poisoned unless beta reads
/// them.
inline DeviceProduct make_device_product(Random& random, mgemm_problem problem, const ProductOptions& options) {
  const auto gap = [&] {
    return options.most_gap == 0 ? 0 : uniform(random, 0, 1) * uniform(random, 1, options.most_gap);
  };
  const auto shift = [&] { return uniform(random, 0, 1) * uniform(random, 0, options.most_shift); };
  const auto multiple = [](std::int64_t elements, std::int64_t of) { return (elements + of - 1) / of * of; };
  const auto for_a = [&](std::int64_t elements) {
    return multiple(elements, std::max(options.row_alignment, options.a_alignment));
  };
  const auto for_b = [&](std::int64_t elements) {
    return multiple(elements, std::max(options.row_alignment, options.b_alignment));
  };
  const bool nt = problem.op == MGEMM_OP_NT;
  const bool tn = problem.op == MGEMM_OP_TN;
  const std::int64_t a_columns = nt ? problem.n : problem.k;
  const std::int64_t b_rows = tn ? problem.m : problem.k;
  const std::int64_t out_rows = tn ? problem.k : problem.m;
  const std::int64_t out_columns = nt ? problem.k : problem.n;
  problem.lda = for_a(a_columns + gap());
  problem.ldb = options.b != nullptr ? options.b->leading : for_b(problem.n + gap());
  problem.ldout = multiple(out_columns + gap(), options.out_alignment);

  DeviceProduct product;
  product.problem = problem;
  product.a = GuardedMatrix(random, problem.in_type, problem.m, a_columns, problem.lda, for_a(shift()));
  product.b = options.b != nullptr
                  ? *options.b
                  : GuardedMatrix(random, problem.in_type, b_rows, problem.n, problem.ldb, for_b(shift()));
  product.bias = GuardedMatrix(random, MGEMM_TYPE_F32, problem.bias, problem.n, problem.n, shift());
  product.out = GuardedMatrix(random, problem.out_type, out_rows, out_columns, problem.ldout,
                              multiple(shift(), options.out_alignment));
  std::normal_distribution<float> normal;
  const auto value = [&] {
    return options.exceptional && uniform(random, 0, 40) == 0 ? exceptional_value(random) : normal(random);
  };
  product.a.fill(value);
  if (options.b == nullptr) product.b.fill(value);
  product.bias.fill(value);
  if (problem.beta != 0) {
    product.out.fill(value);
  } else {
    // In every type a NaN that no product gives.
    constexpr std::uint32_t poison = 0xffa5ffa5U;
    for (std::int64_t i = 0; i < out_rows; ++i) {
      for (std::int64_t j = 0; j < out_columns; ++j) product.out.set_bits(i, j, poison);
    }
  }
  return product;
}

/// A scalar of the epilogue: 0, 1 and others.
inline float random_scalar(Random& random, bool exceptional) {
  const std::int64_t kind = uniform(random, 0, exceptional ? 4 : 3);
  if (kind == 4) return exceptional_value(random);
  return kind == 0 ? 0.0F : kind == 1 ? 1.0F : std::normal_distribution<float>()(random);
}

}  // namespace mgemm::test
