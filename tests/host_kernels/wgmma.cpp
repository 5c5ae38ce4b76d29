// Each warp of a group computes its 16 rows when its time has come, with the evaluator's inner loop.
#include "host_kernels/wgmma.hpp"

#include <array>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "host_kernels/running.hpp"
#include "numeric/encoding.hpp"
#include "numeric/evaluator.hpp"
#include "numeric/micro_kernel.hpp"

namespace mgemm::host {
namespace {

constexpr int most_steps = 16;  // of a product
constexpr int warp_rows = 16;   // of a product's 64
constexpr int most_columns = 256;
constexpr int chunk_bytes = 16;  // that lie together, whatever the permutation

int size_in_bytes(Type type) { return is_half(type) ? 2 : 4; }
int steps_of(Type type) { return is_half(type) ? 16 : 8; }

/// What lies where (PTX ISA, "wgmma", the canonical layouts). `lanes` are a's rows or b's columns.
class Operand {
 public:
  Operand(std::uint64_t descriptor, Type of_type, bool transposed)
      : type(of_type),
        start_(16 * field(descriptor, 0)),
        leading_(16 * field(descriptor, 16)),
        stride_(16 * field(descriptor, 32)),
        line_bytes_(line_of(descriptor)),
        transposed_(transposed) {
    constexpr std::uint64_t others = ~((3ULL << 62U) | (0x3fffULL << 32U) | (0x3fffULL << 16U) | 0x3fffULL);
    if ((descriptor & others) != 0) throw std::logic_error("a descriptor with a bit that is not known");
  }

  Type type;

  bool transposed() const { return transposed_; }
  /// The address of a chunk: of steps of one lane, or if transposed of lanes at one step.
  std::uint32_t address(std::uint32_t lane, std::uint32_t step) const {
    const auto size = static_cast<std::uint32_t>(size_in_bytes(type));
    const std::uint32_t lanes_a_line = line_bytes_ / size;
    const std::uint32_t linear = transposed_ ? start_ + lane / lanes_a_line * leading_ + step / 8 * stride_ +
                                                   step % 8 * line_bytes_ + size * (lane % lanes_a_line)
                                             : start_ + lane / 8 * stride_ + lane % 8 * line_bytes_ + size * step;
    return linear ^ (linear >> 7U) % (line_bytes_ / 16) << 4U;
  }

 private:
  static std::uint32_t field(std::uint64_t descriptor, unsigned first) {
    return static_cast<std::uint32_t>(descriptor >> first & 0x3fffU);
  }
  static std::uint32_t line_of(std::uint64_t descriptor) {
    const auto permutation = static_cast<std::uint32_t>(descriptor >> 62U);
    if (permutation == 0) throw std::logic_error("an operand whose lines are not permuted");
    return 256U >> permutation;
  }

  std::uint32_t start_, leading_, stride_, line_bytes_;
  bool transposed_;
};

/// The word of a fused sum for each of a half type's bits.
template <Type type, Side side>
const std::uint32_t* words_of() {
  static const std::vector<std::uint32_t> words = [] {
    std::vector<std::uint32_t> made(std::size_t{1} << 16U);
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = Encoding<type, side>::encode(static_cast<std::uint16_t>(i));
    }
    return made;
  }();
  return words.data();
}

/// The word of an element's bits; tensor cores take words as they are, so TF32's must have been rounded.
template <Side side>
std::uint32_t word_of(Type type, std::uint32_t bits) {
  if (type == Type::bf16) return words_of<Type::bf16, side>()[bits];
  if (type == Type::f16) return words_of<Type::f16, side>()[bits];
  if (type != Type::tf32) throw std::logic_error("a product of a type that it does not exist for");
  if ((bits & 0x1fffU) != 0) throw std::logic_error("a word that has not been rounded to TF32");
  return Encoding<Type::tf32, side>::encode(bits);
}

/// Where an element lies in panels of so many lanes, step by step.
int place_in_panels(int lane, int step, int width, int steps) {
  return lane / width * width * steps + step * width + lane % width;
}

/// Reads lanes [first, first + count) into panels of so many lanes.
template <Side side>
void pack(const Operand& from, int first, int count, int width, std::uint32_t* panels) {
  const int size = size_in_bytes(from.type);
  const int steps = steps_of(from.type);
  const int chunk = chunk_bytes / size;
  const int lanes_a_chunk = from.transposed() ? chunk : 1;
  const int steps_a_chunk = from.transposed() ? 1 : chunk;
  for (int step = 0; step < steps; step += steps_a_chunk) {
    for (int lane = 0; lane < count; lane += lanes_a_chunk) {
      const std::uint32_t address =
          from.address(static_cast<std::uint32_t>(first + lane), static_cast<std::uint32_t>(step));
      std::array<std::byte, chunk_bytes> bytes{};
      read_shared(address, bytes.data(), sizeof bytes);
      for (int i = 0; i < chunk; ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, bytes.data() + i * size, static_cast<std::size_t>(size));
        const int at = from.transposed() ? place_in_panels(lane + i, step, width, steps)
                                         : place_in_panels(lane, step + i, width, steps);
        panels[at] = word_of<side>(from.type, bits);
      }
    }
  }
}

/// The same from registers: of a lane rows lane / 4 and 8 further down, at step lane % 4 and 4 later.
void pack_registers(const WarpProduct& product, int width, std::uint32_t* panels) {
  const int steps = steps_of(product.shape.type);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t bits = product.a_words.at(static_cast<std::size_t>(lane)).at(static_cast<std::size_t>(i));
      panels[place_in_panels(lane / 4 + i % 2 * 8, lane % 4 + i / 2 * 4, width, steps)] =
          word_of<Side::a>(product.shape.type, bits);
    }
  }
}

const MicroKernel& micro_kernel(Type type) {
  const Arithmetic arithmetic = is_half(type) ? Arithmetic::l16f25 : Arithmetic::l8f25;
  if (is_supported(Isa::avx2)) return *avx2_micro_kernel(arithmetic);
  return *generic_micro_kernel(arithmetic);
}

/// One of the sums of a warp's product: lane `lane` has it as number `index`.
struct SumPlace {
  std::size_t lane, index;
};
SumPlace place_of_sum(int row, int column) {
  return {static_cast<std::size_t>(row % 8 * 4 + column % 8 / 2),
          static_cast<std::size_t>(column / 8 * 4 + row / 8 * 2 + column % 2)};
}

/// The part of a warp whose first row of the 64 is `first_row`.
void compute(const WarpProduct& product, int first_row) {
  const ProductShape& shape = product.shape;
  const int steps = steps_of(shape.type);
  alignas(64) std::array<std::uint32_t, warp_rows * most_steps> a;
  alignas(64) static std::array<std::uint32_t, most_columns * most_steps> b;
  const MicroKernel& kernel = micro_kernel(shape.type);
  if (shape.a_in_registers) {
    pack_registers(product, kernel.rows, a.data());
  } else {
    pack<Side::a>({product.a, shape.type, shape.a_transposed}, first_row, warp_rows, kernel.rows, a.data());
  }
  pack<Side::b>({product.b, shape.type, shape.b_transposed}, 0, shape.columns, kernel.columns, b.data());
  alignas(64) std::array<float, 128> tile;
  if (kernel.rows * kernel.columns > std::ssize(tile)) throw std::logic_error("a tile has no room");
  for (int row = 0; row < warp_rows; row += kernel.rows) {
    for (int column = 0; column < shape.columns; column += kernel.columns) {
      const auto sum = [&](int i) -> float& {
        const SumPlace place = place_of_sum(row + i / kernel.columns, column + i % kernel.columns);
        return product.sums[place.lane][place.index];
      };
      const int count = kernel.rows * kernel.columns;
      for (int i = 0; i < count; ++i) tile[static_cast<std::size_t>(i)] = sum(i);
      kernel.run(steps, a.data() + row * steps, b.data() + column * steps, tile.data());
      for (int i = 0; i < count; ++i) sum(i) = tile[static_cast<std::size_t>(i)];
    }
  }
}

/// The products of the warp that runs, in their order, until so many are done.
void compute_until(std::size_t count) {
  Warp& warp = running().warp();
  for (; warp.done < count; ++warp.done) {
    const WarpProduct& product = warp.products.front();
    if (product.lanes != 32) throw std::logic_error("lanes of a warp ask for different products");
    compute(product, static_cast<int>(running().index / 32 % 4) * warp_rows);
    warp.products.pop_front();
  }
}

/// `words` are a's in registers, or none.
void start(const ProductShape& shape, std::uint64_t a, const std::array<std::uint32_t, 4>& words, std::uint64_t b,
           float* sums) {
  Cluster& cluster = running();
  Fiber& fiber = cluster.fiber();
  Warp& warp = cluster.warp();
  if (cluster.grid.threads % 128 != 0) throw std::logic_error("a product of less than a warp group");
  if (!fiber.fenced) throw std::logic_error("a product without a fence before it");
  if (fiber.products == warp.done + warp.products.size()) warp.products.push_back({shape, a, b, {}, 0, {}});
  WarpProduct& product = warp.products.at(fiber.products - warp.done);
  if (product.shape != shape || product.a != a || product.b != b) {
    throw std::logic_error("lanes of a warp ask for different products");
  }
  product.sums[cluster.index % 32] = sums;
  product.a_words[cluster.index % 32] = words;
  ++product.lanes;
  ++fiber.products;
  const bool now = cluster.product_time == ProductTime::early ||
                   (cluster.product_time == ProductTime::any && (*cluster.random)() % 4 == 0);
  if (product.lanes == 32 && now) compute_until(fiber.products);
}

}  // namespace

void fence_products() { running().fiber().fenced = true; }

void start_product(const ProductShape& shape, std::uint64_t a, std::uint64_t b, float* sums) {
  start(shape, a, {}, b, sums);
}

void start_product(const ProductShape& shape, const unsigned (&a)[4], std::uint64_t b, float* sums) {
  ProductShape in_registers = shape;
  in_registers.a_in_registers = true;
  start(in_registers, 0, {a[0], a[1], a[2], a[3]}, b, sums);
}

void commit_products() {
  Fiber& fiber = running().fiber();
  fiber.product_groups.push_back(fiber.products);
}

void wait_for_products(int pending) {
  Fiber& fiber = running().fiber();
  const auto newest = static_cast<std::size_t>(pending);
  exchange({});
  if (fiber.product_groups.size() > newest) {
    fiber.awaited_products = *(fiber.product_groups.end() - pending - 1);
    compute_until(fiber.awaited_products);
  }
  fiber.fenced = false;
}

void check_products(const Fiber& fiber) {
  if (fiber.awaited_products != fiber.products) throw std::logic_error("a thread ends before its products");
}

}  // namespace mgemm::host
