// Each warp of a group computes its 16 rows when its time has come, with the evaluator's inner loop.
#include "host_kernels/wgmma.hpp"

#include <array>
#include <stdexcept>
#include <vector>

#include "host_kernels/running.hpp"
#include "numeric/encoding.hpp"
#include "numeric/evaluator.hpp"
#include "numeric/micro_kernel.hpp"

namespace mgemm::host {
namespace {

constexpr int steps = 16;      // of a product
constexpr int warp_rows = 16;  // of a product's 64
constexpr int most_columns = 256;
constexpr int chunk = 8;  // halves that lie together, whatever the permutation

/// What lies where (PTX ISA, "wgmma", the canonical layouts). `lanes` are a's rows or b's columns.
class Operand {
 public:
  Operand(std::uint64_t descriptor, bool transposed)
      : start_(16 * field(descriptor, 0)),
        leading_(16 * field(descriptor, 16)),
        stride_(16 * field(descriptor, 32)),
        line_bytes_(line_of(descriptor)),
        transposed_(transposed) {
    constexpr std::uint64_t others = ~((3ULL << 62U) | (0x3fffULL << 32U) | (0x3fffULL << 16U) | 0x3fffULL);
    if ((descriptor & others) != 0) throw std::logic_error("a descriptor with a bit that is not known");
  }

  bool transposed() const { return transposed_; }
  /// The address of a chunk: of 8 steps of one lane, or if transposed of 8 lanes at one step.
  std::uint32_t address(std::uint32_t lane, std::uint32_t step) const {
    const std::uint32_t lanes_a_line = line_bytes_ / 2;
    const std::uint32_t linear = transposed_ ? start_ + lane / lanes_a_line * leading_ + step / 8 * stride_ +
                                                   step % 8 * line_bytes_ + 2 * (lane % lanes_a_line)
                                             : start_ + lane / 8 * stride_ + lane % 8 * line_bytes_ + 2 * step;
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

template <Side side>
const std::uint32_t* words_of(Type type) {
  if (type == Type::bf16) return words_of<Type::bf16, side>();
  if (type == Type::f16) return words_of<Type::f16, side>();
  throw std::logic_error("a product of a type that it does not exist for");
}

/// Reads lanes [first, first + count) into panels of so many lanes, step by step.
void pack(const Operand& from, const std::uint32_t* words, int first, int count, int width, std::uint32_t* panels) {
  const auto put = [&](int lane, int step, std::uint16_t half) {
    panels[lane / width * width * steps + step * width + lane % width] = words[half];
  };
  const int lanes_a_chunk = from.transposed() ? chunk : 1;
  const int steps_a_chunk = from.transposed() ? 1 : chunk;
  for (int step = 0; step < steps; step += steps_a_chunk) {
    for (int lane = 0; lane < count; lane += lanes_a_chunk) {
      const std::uint32_t address =
          from.address(static_cast<std::uint32_t>(first + lane), static_cast<std::uint32_t>(step));
      std::array<std::uint16_t, chunk> halves{};
      read_shared(address, halves.data(), sizeof halves);
      for (int i = 0; i < chunk; ++i) {
        put(from.transposed() ? lane + i : lane, from.transposed() ? step : step + i,
            halves[static_cast<std::size_t>(i)]);
      }
    }
  }
}

const MicroKernel& micro_kernel() {
  if (is_supported(Isa::avx2)) return *avx2_micro_kernel(Arithmetic::l16f25);
  return *generic_micro_kernel(Arithmetic::l16f25);
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
  alignas(64) std::array<std::uint32_t, warp_rows * steps> a;
  alignas(64) static std::array<std::uint32_t, most_columns * steps> b;
  const MicroKernel& kernel = micro_kernel();
  pack({product.a, shape.a_transposed}, words_of<Side::a>(shape.type), first_row, warp_rows, kernel.rows, a.data());
  pack({product.b, shape.b_transposed}, words_of<Side::b>(shape.type), 0, shape.columns, kernel.columns, b.data());
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

}  // namespace

void fence_products() { running().fiber().fenced = true; }

void start_product(const ProductShape& shape, std::uint64_t a, std::uint64_t b, float* sums) {
  Cluster& cluster = running();
  Fiber& fiber = cluster.fiber();
  Warp& warp = cluster.warp();
  if (cluster.grid.threads % 128 != 0) throw std::logic_error("a product of less than a warp group");
  if (!fiber.fenced) throw std::logic_error("a product without a fence before it");
  if (fiber.products == warp.done + warp.products.size()) warp.products.push_back({shape, a, b, {}, 0});
  WarpProduct& product = warp.products.at(fiber.products - warp.done);
  if (product.shape != shape || product.a != a || product.b != b) {
    throw std::logic_error("lanes of a warp ask for different products");
  }
  product.sums[cluster.index % 32] = sums;
  ++product.lanes;
  ++fiber.products;
  const bool now = cluster.product_time == ProductTime::early ||
                   (cluster.product_time == ProductTime::any && (*cluster.random)() % 4 == 0);
  if (product.lanes == 32 && now) compute_until(fiber.products);
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
