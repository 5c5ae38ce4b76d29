#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/data.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "operands.hpp"

namespace mgemm::cli::bench {

/// Random operands of one problem on the device, as many sets as keep the cache from serving them.
class OperandSets {
 public:
  OperandSets(const mamba_gemm::Context& context, const mgemm_problem& problem, const Pool& inputs,
              const Pool& outputs);

  std::int64_t count() const { return count_; }
  /// Of set `index` modulo their number.
  mgemm_operands operands(std::int64_t index) const;
  const Matrix& out_matrix() const { return layouts_.out; }

  /// Puts the first set's output into its first state: random if it counts, and else NaN, which shows what is not
  /// written.
  void reset_output();
  /// The first set's output.
  std::vector<std::byte> output() const;

 private:
  void upload(std::uint64_t address, std::span<const std::byte> bytes) const;
  void fill(std::uint64_t address, std::int64_t bytes, const Pool& pool);

  const mamba_gemm::Context& context_;
  Layouts layouts_;
  std::int64_t a_bytes_, b_bytes_, out_bytes_;
  std::int64_t set_bytes_, count_;
  mamba_gemm::Buffer memory_;
  std::size_t cursor_ = 0;  // in the pool
  std::vector<std::byte> first_output_;
};

}  // namespace mgemm::cli::bench
