#include "numeric/evaluator.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <new>
#include <vector>

#include "base/error.hpp"
#include "base/thread_pool.hpp"
#include "numeric/element.hpp"
#include "numeric/float_environment.hpp"
#include "numeric/micro_kernel.hpp"
#include "numeric/packing.hpp"

namespace mgemm {
namespace {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) { return ceil_div(value, unit) * unit; }

const void* element_at(Type type, const void* array, std::int64_t index) {
  return static_cast<const std::byte*>(array) + index * size_of(type);
}

// ---- Blocking: none of it enters the bits, since chains are kept in memory between parts ----

/// How much of the output one task takes, in whole tiles of the micro-kernel, and how many steps are packed at once.
struct Blocking {
  std::int64_t rows, columns, steps;
};

/// `extent` cut into as few blocks of about the same size as the limit allows.
std::int64_t even_block(std::int64_t extent, std::int64_t limit, std::int64_t unit) {
  return round_up(ceil_div(extent, ceil_div(extent, limit)), unit);
}

Blocking choose_blocking(const EvaluatorInput& in, const MicroKernel& kernel, int threads) {
  // Packed operands and chains of a block stay in a second-level cache.
  constexpr std::int64_t most_rows = 192;
  constexpr std::int64_t most_columns = 384;
  constexpr std::int64_t most_steps = 256;
  // With fewer tiles a block, packing would cost more than the product.
  const std::int64_t least_rows = 4 * std::int64_t{kernel.rows};
  const std::int64_t least_columns = 4 * std::int64_t{kernel.columns};

  std::int64_t rows = most_rows;
  std::int64_t columns = most_columns;
  if (threads != 1) {
    const std::int64_t wanted = 2 * static_cast<std::int64_t>(threads > 0 ? threads : default_threads());
    const auto too_few = [&] {
      return ceil_div(in.rows, rows) < wanted && ceil_div(in.columns, columns) < wanted &&
             ceil_div(in.rows, rows) * ceil_div(in.columns, columns) < wanted;
    };
    while (columns / 2 >= least_columns && too_few()) columns /= 2;
    while (rows / 2 >= least_rows && too_few()) rows /= 2;
  }
  return {even_block(in.rows, rows, kernel.rows), even_block(in.columns, columns, kernel.columns),
          round_up(std::clamp<std::int64_t>(in.reduction, 1, most_steps), group_of(in.in_type))};
}

// ---- Scratch memory ----

struct AlignedDelete {
  void operator()(void* memory) const { ::operator delete (memory, std::align_val_t{64}); }
};
template <typename T>
using Aligned = std::unique_ptr<T[], AlignedDelete>;

template <typename T>
Aligned<T> make_aligned(std::int64_t count) {
  const auto bytes = static_cast<size_t>(count) * sizeof(T);
  return Aligned<T>(static_cast<T*>(::operator new (bytes, std::align_val_t{64})));
}

/// One thread's, for as many blocks as it takes. A few MB at most, however large the product.
struct Workspace {
  Aligned<std::uint32_t> a, b;  // packed
  Aligned<float> chains;        // a block of output, tile by tile: the running chain of each element
  Aligned<float> total_f32;     // what the slices so far add up to; only if there are several
  Aligned<double> total_f64;
};

Workspace make_workspace(const EvaluatorInput& in, const Blocking& blocking) {
  const std::int64_t elements = blocking.rows * blocking.columns;
  Workspace scratch;
  scratch.a = make_aligned<std::uint32_t>(blocking.rows * blocking.steps);
  scratch.b = make_aligned<std::uint32_t>(blocking.columns * blocking.steps);
  scratch.chains = make_aligned<float>(elements);
  if (in.slices.count > 1 && in.fold == Fold::f32) scratch.total_f32 = make_aligned<float>(elements);
  if (in.slices.count > 1 && in.fold == Fold::f64) scratch.total_f64 = make_aligned<double>(elements);
  return scratch;
}

// ---- One block of output ----

/// The block's place in the output, and its size in tiles, the last of which may stick out.
struct Block {
  std::int64_t row, column, rows, columns;
  std::int64_t tile_rows, tile_columns;
};

Block make_block(const EvaluatorInput& in, const MicroKernel& kernel, std::int64_t row, std::int64_t column,
                 const Blocking& blocking) {
  const std::int64_t rows = std::min(blocking.rows, in.rows - row);
  const std::int64_t columns = std::min(blocking.columns, in.columns - column);
  return {row,
          column,
          rows,
          columns,
          ceil_div<std::int64_t>(rows, kernel.rows),
          ceil_div<std::int64_t>(columns, kernel.columns)};
}

std::int64_t elements_of(const Block& block, const MicroKernel& kernel) {
  return block.tile_rows * kernel.rows * block.tile_columns * kernel.columns;
}

/// Continues all chains of the block over steps [begin, end), which fit the packing buffers.
void continue_chains(const EvaluatorInput& in, const MicroKernel& kernel, const Block& block, std::int64_t begin,
                     std::int64_t end, Workspace& scratch) {
  const void* a = element_at(in.in_type, in.a, block.row * in.a_strides.row + begin * in.a_strides.column);
  const void* b = element_at(in.in_type, in.b, begin * in.b_strides.row + block.column * in.b_strides.column);
  pack({a, in.in_type, block.rows, in.a_strides.row, end - begin, in.a_strides.column}, Side::a, kernel.rows,
       scratch.a.get());
  pack({b, in.in_type, block.columns, in.b_strides.column, end - begin, in.b_strides.row}, Side::b, kernel.columns,
       scratch.b.get());

  const std::int64_t steps = round_up(end - begin, group_of(in.in_type));
  float* tile = scratch.chains.get();
  for (std::int64_t j = 0; j < block.tile_columns; ++j) {
    for (std::int64_t i = 0; i < block.tile_rows; ++i, tile += std::int64_t{kernel.rows} * kernel.columns) {
      kernel.run(steps, scratch.a.get() + i * kernel.rows * steps, scratch.b.get() + j * kernel.columns * steps, tile);
    }
  }
}

/// The chains of one slice from their start at +0 to their end.
void run_slice(const EvaluatorInput& in, const MicroKernel& kernel, const Block& block, std::int64_t slice,
               std::int64_t steps_at_once, Workspace& scratch) {
  std::fill_n(scratch.chains.get(), elements_of(block, kernel), 0.0F);
  std::int64_t begin = slice * in.slices.length;
  const std::int64_t slice_end = slice + 1 == in.slices.count ? in.reduction : begin + in.slices.length;
  while (begin < slice_end) {
    const std::int64_t end = begin + std::min(steps_at_once, slice_end - begin);
    continue_chains(in, kernel, block, begin, end, scratch);
    begin = end;
  }
}

/// Runs the slices in ascending order and leaves their sum, rounded to f32, in the place of the chains.
template <typename Sum>
void fold_slices(const EvaluatorInput& in, const MicroKernel& kernel, const Block& block, std::int64_t steps_at_once,
                 Workspace& scratch, Sum* total) {
  const std::int64_t elements = elements_of(block, kernel);
  float* chains = scratch.chains.get();
  for (std::int64_t slice = 0; slice < in.slices.count; ++slice) {
    run_slice(in, kernel, block, slice, steps_at_once, scratch);
    // The first is taken as it is: adding it to +0 would turn -0 into +0.
    if (slice == 0) {
      for (std::int64_t i = 0; i < elements; ++i) total[i] = chains[i];
    } else {
      for (std::int64_t i = 0; i < elements; ++i) total[i] += static_cast<Sum>(chains[i]);
    }
  }
  for (std::int64_t i = 0; i < elements; ++i) chains[i] = static_cast<float>(total[i]);
}

/// Takes the chain of an output element to its end and stores it as element `index` of out.
template <typename Out>
void finish(const EvaluatorInput& in, Out, float value, std::int64_t column, std::int64_t index) {
  if (in.alpha != 1) value = in.alpha * value;
  if (in.bias != nullptr) value += in.bias[column];
  if (in.beta != 0) value = std::fma(in.beta, Out::load(in.out, index), value);
  Out::store(in.out, index, std::isnan(value) ? std::bit_cast<float>(canonical_nan_bits) : value);
}

template <typename Out>
void write_block(const EvaluatorInput& in, const MicroKernel& kernel, const Block& block, const float* chains,
                 Out type) {
  const std::int64_t tile_elements = std::int64_t{kernel.rows} * kernel.columns;
  for (std::int64_t i = 0; i < block.rows; ++i) {
    const float* row_of_tile = chains + i / kernel.rows * tile_elements + i % kernel.rows * kernel.columns;
    const std::int64_t first = (block.row + i) * in.out_leading + block.column;
    for (std::int64_t j = 0; j < block.columns; ++j) {
      const float* tile_row = row_of_tile + j / kernel.columns * block.tile_rows * tile_elements;
      finish(in, type, tile_row[j % kernel.columns], block.column + j, first + j);
    }
  }
}

// Not inlined: the arithmetic must stay where the floating-point environment is set.
[[gnu::noinline]] void evaluate_block(const EvaluatorInput& in, const MicroKernel& kernel, const Block& block,
                                      std::int64_t steps_at_once, Workspace& scratch) {
  if (in.slices.count <= 1) {
    run_slice(in, kernel, block, 0, steps_at_once, scratch);
  } else if (in.fold == Fold::f32) {
    fold_slices(in, kernel, block, steps_at_once, scratch, scratch.total_f32.get());
  } else {
    fold_slices(in, kernel, block, steps_at_once, scratch, scratch.total_f64.get());
  }
  with_elements(in.out_type, [&](auto type) { write_block(in, kernel, block, scratch.chains.get(), type); });
}

const MicroKernel& micro_kernel(Isa isa, Arithmetic arithmetic) {
  if (!is_supported(isa))
    fail(MGEMM_UNSUPPORTED, "the evaluator's {} loops do not run on this processor", name_of(isa));
  switch (isa) {
    case Isa::avx512:
      return *avx512_micro_kernel(arithmetic);
    case Isa::avx2:
      return *avx2_micro_kernel(arithmetic);
    case Isa::generic:
      break;
  }
  return *generic_micro_kernel(arithmetic);
}

template <typename T>
T* at_address(std::uint64_t address) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

EvaluatorInput evaluator_input(const Problem& problem, const Contract& contract) {
  return {.in_type = problem.in_type,
          .out_type = problem.out_type,
          .arithmetic = contract.arithmetic,
          .rows = output_rows(problem),
          .columns = output_columns(problem),
          .reduction = reduction(problem),
          .alpha = problem.alpha,
          .beta = problem.beta,
          .slices = contract.slices,
          .fold = contract.fold};
}

EvaluatorInput evaluator_input(const Problem& problem, const Contract& contract, const mgemm_operands& operands) {
  EvaluatorInput input = evaluator_input(problem, contract);
  input.a = at_address<const void>(operands.a);
  input.a_strides = strides_a(problem);
  input.b = at_address<const void>(operands.b);
  input.b_strides = strides_b(problem);
  input.bias = problem.bias ? at_address<const float>(operands.bias) : nullptr;
  input.out = at_address<void>(operands.out);
  input.out_leading = problem.ldout;
  return input;
}

void evaluate(const EvaluatorInput& input, Isa isa, int threads) {
  const MicroKernel& kernel = micro_kernel(isa, input.arithmetic);
  if (input.rows <= 0 || input.columns <= 0) return;
  const Blocking blocking = choose_blocking(input, kernel, threads);
  const std::int64_t block_rows = ceil_div(input.rows, blocking.rows);
  const std::int64_t tasks = block_rows * ceil_div(input.columns, blocking.columns);

  // Made by the thread that uses it, so that its pages lie near that thread.
  std::vector<std::unique_ptr<Workspace>> scratch(static_cast<size_t>(parallel_slots(tasks, threads)));
  run_parallel(tasks, threads, [&](std::int64_t task, int slot) {
    const FloatEnvironment environment;
    std::unique_ptr<Workspace>& mine = scratch[static_cast<size_t>(slot)];
    if (!mine) mine = std::make_unique<Workspace>(make_workspace(input, blocking));
    const std::int64_t row = task % block_rows * blocking.rows;
    const std::int64_t column = task / block_rows * blocking.columns;
    evaluate_block(input, kernel, make_block(input, kernel, row, column, blocking), blocking.steps, *mine);
  });
}

}  // namespace mgemm
