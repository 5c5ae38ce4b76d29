// The products of Hopper's tensor cores, for kernels on the host.
#pragma once
#include <cstdint>

#include "numeric/problem.hpp"

namespace mgemm::host {

/// Of a warp group: 64 rows and so many columns.
struct ProductShape {
  Type type;
  int columns;
  bool a_transposed, b_transposed;
  bool a_in_registers = false;

  bool operator==(const ProductShape&) const = default;
};

/// When a warp's part of a product is computed, operands read and sums written: as soon as all its lanes have asked for
/// it, as late as a wait allows, or either.
enum class ProductTime : std::uint32_t { early, late, any };

// On behalf of the thread that runs. A product needs a fence since the latest wait.
void fence_products();
/// Lets the warp's part of a product be added to `sums`, `columns / 2` a lane. The operands' descriptors are the
/// hardware's.
void start_product(const ProductShape& shape, std::uint64_t a, std::uint64_t b, float* sums);
/// The same with a in registers, four words a lane (PTX ISA, "wgmma", ".tf32").
void start_product(const ProductShape& shape, const unsigned (&a)[4], std::uint64_t b, float* sums);
void commit_products();
/// Until all but the newest `pending` committed groups of products are done.
void wait_for_products(int pending);

}  // namespace mgemm::host
