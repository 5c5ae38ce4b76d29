// Tensor-core arithmetic: single steps with known results, and evaluate() against evaluate_element(), which computes it
// in another way, bit for bit, over every class of numbers.
#include <cmath>
#include <cstring>
#include <limits>

#include "numeric/element.hpp"
#include "numeric/evaluator.hpp"
#include "support/float_classes.hpp"
#include "support/product.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::array arithmetics{Arithmetic::l16f25, Arithmetic::l8f25, Arithmetic::l8f24, Arithmetic::l4f24};
constexpr std::array in_types{Type::bf16, Type::f16, Type::tf32};

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// An array of a type's elements between guards, whose bytes are compared whole.
class Array {
 public:
  Array() = default;
  Array(Type type, std::int64_t count, std::int64_t shift)
      : type_(type),
        first_((guard + shift) * size_of(type)),
        bytes_(static_cast<size_t>((count + shift + 2 * guard) * size_of(type))) {
    // 0xffa5: a NaN in every half type, and twice in an f32.
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i % 2 == 0 ? 0xa5 : 0xff);
  }
  void* data() { return bytes_.data() + first_; }
  void set(std::int64_t index, std::uint32_t bits) {
    std::memcpy(bytes_.data() + first_ + index * size_of(type_), &bits, static_cast<size_t>(size_of(type_)));
  }
  void set_value(std::int64_t index, float value) {
    set(index, is_half(type_) ? to_half(type_, value) : bits_of(value));
  }
  bool operator==(const Array& other) const { return bytes_ == other.bytes_; }

 private:
  static constexpr std::int64_t guard = 16;
  Type type_ = Type::f32;
  std::int64_t first_ = 0;
  std::vector<std::byte> bytes_;
};

struct TypedProduct {
  EvaluatorInput input;
  Array a, b, out;
  std::vector<float> bias;
};

TypedProduct some_product(Random& random, Type type, Arithmetic arithmetic, const NumberClass& from) {
  TypedProduct product;
  EvaluatorInput& in = product.input;
  in.in_type = type;
  in.out_type = uniform(random, 0, 1) == 0 && is_half(type) ? type : Type::f32;
  in.arithmetic = arithmetic;
  in.rows = uniform(random, 1, 13);
  in.columns = uniform(random, 1, 21);
  in.reduction = uniform(random, 0, 3) == 0 ? uniform(random, 0, 700) : uniform(random, 0, 70);
  const auto strides = [&](std::int64_t rows, std::int64_t columns) {
    const std::int64_t gap = uniform(random, 0, 5);
    return uniform(random, 0, 1) == 0 ? Strides{columns + gap, 1} : Strides{1, rows + gap};
  };
  in.a_strides = strides(in.rows, in.reduction);
  in.b_strides = strides(in.reduction, in.columns);
  in.out_leading = in.columns + uniform(random, 0, 5);
  constexpr std::array<float, 4> factors{1.0F, -1.0F, 0.37F, 1e-30F};
  in.alpha = factors.at(static_cast<size_t>(uniform(random, 0, 3)));
  in.beta = uniform(random, 0, 1) == 0 ? 0.0F : factors.at(static_cast<size_t>(uniform(random, 0, 3)));
  in.slices = cut(in.reduction, uniform(random, 1, 3));

  const auto filled = [&](std::int64_t rows, std::int64_t columns, const Strides& at) {
    const std::int64_t count = (rows - 1) * at.row + (columns - 1) * at.column + 1;
    Array array(type, std::max<std::int64_t>(count, 0), uniform(random, 0, 7));
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) array.set(i * at.row + j * at.column, draw(random, type, from));
    }
    return array;
  };
  product.a = filled(in.rows, in.reduction, in.a_strides);
  product.b = filled(in.reduction, in.columns, in.b_strides);
  product.out = Array(in.out_type, in.rows * in.out_leading, uniform(random, 0, 7));
  std::normal_distribution<float> normal;
  if (in.beta != 0) {
    for (std::int64_t i = 0; i < in.rows * in.out_leading; ++i) {
      product.out.set_value(i, normal(random) * from.accumulator);
    }
  }
  if (uniform(random, 0, 1) == 0) {
    product.bias.resize(static_cast<size_t>(in.columns));
    fill_normal(random, product.bias);
  }
  return product;
}

Array expected(TypedProduct product) {
  EvaluatorInput in = product.input;
  in.a = product.a.data();
  in.b = product.b.data();
  in.bias = product.bias.empty() ? nullptr : product.bias.data();
  in.out = product.out.data();
  Array result = product.out;
  for (std::int64_t i = 0; i < in.rows; ++i) {
    for (std::int64_t j = 0; j < in.columns; ++j) {
      result.set_value(i * in.out_leading + j, evaluate_element(in, i, j));
    }
  }
  return result;
}

Array evaluated(TypedProduct product, Isa isa, int threads) {
  EvaluatorInput in = product.input;
  in.a = product.a.data();
  in.b = product.b.data();
  in.bias = product.bias.empty() ? nullptr : product.bias.data();
  in.out = product.out.data();
  evaluate(in, isa, threads);
  return product.out;
}

TEST_CASE("fused sums: every instruction set gives the bits of single elements") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  for (const NumberClass& from : number_classes) {
    for (const Type type : in_types) {
      for (const Arithmetic arithmetic : arithmetics) {
        // The group of tf32 is 8.
        if (type == Type::tf32 && arithmetic == Arithmetic::l16f25) continue;
        for (int repeat = 0; repeat < 12; ++repeat) {
          const TypedProduct product = some_product(random, type, arithmetic, from);
          const EvaluatorInput& in = product.input;
          CAPTURE(from.name, name_of(type), static_cast<int>(arithmetic), in.rows, in.columns, in.reduction, in.alpha,
                  in.beta, in.slices.count, name_of(in.out_type));
          const Array wanted = expected(product);
          for (const Isa isa : supported_isas()) {
            CAPTURE(name_of(isa));
            REQUIRE(evaluated(product, isa, 1) == wanted);
          }
        }
      }
    }
  }
}

TEST_CASE("fused sums: threads and blocks do not change a bit") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  TypedProduct product = some_product(random, Type::bf16, Arithmetic::l16f25, number_classes[1]);
  EvaluatorInput& in = product.input;
  // More than one block in every direction.
  in.rows = 203;
  in.columns = 403;
  in.reduction = 523;
  in.a_strides = {in.reduction, 1};
  in.b_strides = {in.columns, 1};
  in.out_leading = in.columns;
  in.slices = cut(in.reduction, 2);
  product.a = Array(Type::bf16, in.rows * in.reduction, 1);
  product.b = Array(Type::bf16, in.columns * in.reduction, 3);
  product.out = Array(in.out_type, in.rows * in.columns, 5);
  in.beta = 0;
  product.bias.clear();
  for (std::int64_t i = 0; i < in.rows * in.reduction; ++i)
    product.a.set(i, draw(random, Type::bf16, number_classes[1]));
  for (std::int64_t i = 0; i < in.columns * in.reduction; ++i)
    product.b.set(i, draw(random, Type::bf16, number_classes[1]));
  const Array wanted = evaluated(product, Isa::generic, 1);
  for (const Isa isa : supported_isas()) {
    for (const int threads : {1, 3}) REQUIRE(evaluated(product, isa, threads) == wanted);
  }
}

/// One element of a bf16 product whose factors b are 1, but for what is given; the bits all evaluators agree on.
std::uint32_t sum_of(std::vector<float> a, std::vector<float> b = {}, Arithmetic arithmetic = Arithmetic::l16f25,
                     Type type = Type::bf16) {
  const auto steps = static_cast<std::int64_t>(a.size());
  b.resize(a.size(), 1.0F);
  TypedProduct product;
  product.a = Array(type, steps, 0);
  product.b = Array(type, steps, 0);
  product.out = Array(Type::f32, 1, 0);
  for (std::int64_t i = 0; i < steps; ++i) {
    product.a.set_value(i, a[static_cast<size_t>(i)]);
    product.b.set_value(i, b[static_cast<size_t>(i)]);
  }
  product.input = {.in_type = type,
                   .arithmetic = arithmetic,
                   .rows = 1,
                   .columns = 1,
                   .reduction = steps,
                   .a = product.a.data(),
                   .a_strides = {steps, 1},
                   .b = product.b.data(),
                   .b_strides = {1, 1},
                   .out_leading = 1,
                   .slices = cut(steps, 1)};
  const float element = evaluate_element(product.input, 0, 0);
  for (const Isa isa : supported_isas()) {
    float out = 0;
    product.input.out = &out;
    evaluate(product.input, isa, 1);
    CAPTURE(name_of(isa));
    REQUIRE(bits_of(out) == bits_of(element));
  }
  return bits_of(element);
}

std::vector<float> chain(std::initializer_list<float> first, std::int64_t length = 16) {
  std::vector<float> values(first);
  values.resize(static_cast<size_t>(length), 0.0F);
  return values;
}

TEST_CASE("fused sums: what lies below the fraction bits is cut off") {
  // Two halves of the last of 25 bits make the last of 24; two quarters are lost one by one.
  CHECK(sum_of(chain({1, 0x1p-24F, 0x1p-24F})) == bits_of(1 + 0x1p-23F));
  CHECK(sum_of(chain({1, 0x1p-25F, 0x1p-25F, 0x1p-24F})) == bits_of(1 + 0x1p-23F));
  CHECK(sum_of(chain({1, 0x1p-26F, 0x1p-26F, 0x1p-25F, 0x1p-24F})) == bits_of(1));
  // With 24 bits the same is lost one bit earlier.
  CHECK(sum_of(chain({1, 0x1p-24F, 0x1p-24F}), {}, Arithmetic::l8f24) == bits_of(1 + 0x1p-23F));
  CHECK(sum_of(chain({1, 0x1p-25F, 0x1p-25F, 0x1p-24F}), {}, Arithmetic::l8f24) == bits_of(1));
  // Toward zero on both sides, in the sum as well.
  CHECK(sum_of(chain({-1, -0x1p-24F})) == bits_of(-1));
  CHECK(sum_of(chain({1, -0x1p-26F})) == bits_of(1));
  CHECK(sum_of(chain({1, -0x1p-25F})) == bits_of(1 - 0x1p-24F));
}

TEST_CASE("fused sums: the exponent of a product is that of its operands") {
  // 1.5 * 1.5 = 2.25 counts as exponent 0: 25 bits below 1, not below 2.
  CHECK(sum_of(chain({1.5F, 0x1p-25F, 0x1p-25F, -1.5F}), {1.5F, 1, 1, 1.5F}) == bits_of(0x1p-24F));
  // A product with a zero has no exponent.
  CHECK(sum_of(chain({0x1p100F, 0x1p-100F}), {0.0F, 1.0F}) == bits_of(0x1p-100F));
}

TEST_CASE("fused sums: steps of 16 and of 8 are different arithmetic") {
  // Four quarters of the last bit: together they make it, in two steps both parts are lost.
  std::vector<float> values = chain({1, 0x1p-25F});
  for (const size_t late : {8, 9, 10}) values.at(late) = 0x1p-25F;
  CHECK(sum_of(values) == bits_of(1 + 0x1p-23F));
  CHECK(sum_of(values, {}, Arithmetic::l8f25) == bits_of(1));
  CHECK(sum_of(values, {}, Arithmetic::l4f24) == bits_of(1));
}

// Catches sums that are aligned to an exponent below -133. What an H200 gave (wgmma, TF32) for these operands: the
// exact sum is -34584.9995 times 2^-149, and what is cut off below 2^-158 makes it -34585.
TEST_CASE("fused sums: nothing is aligned to an exponent below -133") {
  const std::array<std::uint32_t, 8> a{0x1cab6000, 0x00000000, 0x9b81c000, 0x208e0000,
                                       0x9bd5a000, 0x1d7fc000, 0x1b912000, 0x9b8dc000};
  const std::array<std::uint32_t, 8> b{0x1eef8000, 0x9e272000, 0x1d326000, 0x00000000,
                                       0x9e1ee000, 0x9f07a000, 0x1f528000, 0x9f096000};
  const auto floats = [](const std::array<std::uint32_t, 8>& bits) {
    std::vector<float> values;
    for (const std::uint32_t word : bits) values.push_back(std::bit_cast<float>(word));
    return values;
  };
  CHECK(sum_of(floats(a), floats(b), Arithmetic::l8f25, Type::tf32) == 0x80008719U);
}

/// One fused sum of normal numbers, straight from the contract's words, in doubles that hold all of it.
double simple_sum(double sum, const float* a, const float* b, int terms, int fraction) {
  int largest = sum == 0 ? -1000 : std::ilogb(sum);
  for (int i = 0; i < terms; ++i) largest = std::max(largest, std::ilogb(a[i]) + std::ilogb(b[i]));
  const auto cut = [&](double value) { return std::trunc(std::ldexp(value, fraction - largest)); };
  double total = cut(sum);
  for (int i = 0; i < terms; ++i) total += cut(double{a[i]} * double{b[i]});
  int exponent = 0;
  const double significand = std::frexp(total, &exponent);
  return std::ldexp(std::trunc(std::ldexp(significand, 24)), exponent - 24 + largest - fraction);
}

// Catches an evaluator whose groups of 16 (tf32: 8) are not the two sums one after the other that tensor cores of sm_80
// make of them, in any of its loops.
TEST_CASE("fused sums: where sums have half the terms, a group is two of them") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  for (const Type type : {Type::bf16, Type::f16, Type::tf32}) {
    const int terms = type == Type::tf32 ? 4 : 8;
    const Arithmetic arithmetic = type == Type::tf32 ? sm80_set.tf32.arithmetic : sm80_set.halves.arithmetic;
    int different = 0;
    for (int repeat = 0; repeat < 200; ++repeat) {
      const std::int64_t steps = group_of(type) * uniform(random, 1, 3);
      const auto draw_some = [&] {
        std::vector<float> values;
        for (std::int64_t i = 0; i < steps; ++i) {
          const auto whole = static_cast<float>(uniform(random, 128, 255) * (uniform(random, 0, 1) == 0 ? 1 : -1));
          values.push_back(std::ldexp(whole, static_cast<int>(uniform(random, -12, -5))));
        }
        return values;
      };
      const std::vector<float> a = draw_some();
      const std::vector<float> b = draw_some();
      double wanted = 0;
      for (std::int64_t r = 0; r < steps; r += terms)
        wanted = simple_sum(wanted, &a[static_cast<size_t>(r)], &b[static_cast<size_t>(r)], terms, 24);
      CAPTURE(name_of(type), repeat, steps);
      REQUIRE(sum_of(a, b, arithmetic, type) == bits_of(static_cast<float>(wanted)));
      const Arithmetic other = type == Type::tf32 ? sm90_set.tf32.arithmetic : sm90_set.halves.arithmetic;
      different += sum_of(a, b, other, type) != bits_of(static_cast<float>(wanted)) ? 1 : 0;
    }
    CHECK(different > 20);
  }
}

TEST_CASE("fused sums: zeros, subnormals, overflow and exceptions") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(sum_of(chain({-0.0F, -0.0F})) == bits_of(0.0F));
  CHECK(sum_of(chain({1, -1})) == bits_of(0.0F));
  // 2^-149 stays; half of it is cut off and leaves +0.
  CHECK(sum_of(chain({0x1p-75F}), {0x1p-74F}) == bits_of(0x1p-149F));
  CHECK(sum_of(chain({0x1p-75F}), {0x1p-75F}) == bits_of(0.0F));
  CHECK(sum_of(chain({-0x1p-75F}), {0x1p-75F}) == bits_of(0.0F));
  CHECK(sum_of(chain({0x1p-100F, 0x1p-101F}), {0x1p-49F, 0x1p-49F}) == bits_of(0x1p-149F));
  // A subnormal operand keeps the smallest exponent, so that less is lost beside it.
  CHECK(sum_of(chain({0x1p-133F}), {0x1p100F}) == bits_of(0x1p-33F));
  CHECK(sum_of(chain({0x1p64F}), {0x1p64F}) == bits_of(infinity));
  CHECK(sum_of(chain({-0x1p127F, -0x1p127F})) == bits_of(-infinity));
  CHECK(sum_of(chain({0x1p127F, 0x1p127F, -0x1p127F})) == bits_of(0x1p127F));
  CHECK(sum_of(chain({infinity, 1})) == bits_of(infinity));
  CHECK(sum_of(chain({infinity, 1}), {-1.0F}) == bits_of(-infinity));
  CHECK(sum_of(chain({infinity, -infinity})) == canonical_nan_bits);
  CHECK(sum_of(chain({infinity}), {0.0F}) == canonical_nan_bits);
  CHECK(sum_of(chain({nan})) == canonical_nan_bits);
  // Later steps keep what an earlier one has become.
  std::vector<float> late(40, 1.0F);
  late[3] = infinity;
  CHECK(sum_of(late) == bits_of(infinity));
  late[37] = -infinity;
  CHECK(sum_of(late) == canonical_nan_bits);
}

TEST_CASE("tf32 rounds its operands to nearest even first") {
  const auto one = [](float a) { return sum_of(chain({a}, 8), {}, Arithmetic::l8f25, Type::tf32); };
  CHECK(one(1 + 0x1p-11F) == bits_of(1));
  CHECK(one(1 + 3 * 0x1p-11F) == bits_of(1 + 0x1p-9F));
  CHECK(one(1 + 0x1p-11F + 0x1p-23F) == bits_of(1 + 0x1p-10F));
  CHECK(one(std::numeric_limits<float>::max()) == bits_of(infinity));
}

}  // namespace
