#include "bench/operand_sets.hpp"

#include <algorithm>

#include "bench/sizes.hpp"

namespace mgemm::cli::bench {
namespace {

constexpr std::int64_t alignment = 256;

std::int64_t rounded(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::int64_t bytes_of_matrix(std::int32_t type, const Matrix& matrix) {
  return matrix.with_gaps() * mamba_gemm::element_bytes(type);
}

/// The pool from its beginning, over and over.
std::vector<std::byte> repeated(std::span<const std::byte> pool, std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t at = 0; at < bytes; at += pool.size())
    std::ranges::copy(pool.first(std::min(pool.size(), bytes - at)), all.begin() + static_cast<std::ptrdiff_t>(at));
  return all;
}

}  // namespace

OperandSets::OperandSets(const mamba_gemm::Context& context, const mgemm_problem& problem, const Pool& inputs,
                         const Pool& outputs)
    : context_(context),
      layouts_(layouts_of(problem)),
      a_bytes_(bytes_of_matrix(problem.in_type, layouts_.a)),
      b_bytes_(bytes_of_matrix(problem.in_type, layouts_.b)),
      out_bytes_(bytes_of_matrix(problem.out_type, layouts_.out)),
      set_bytes_(rounded(a_bytes_) + rounded(b_bytes_) + rounded(out_bytes_)),
      count_(sets_for(set_bytes_)),
      memory_(context, set_bytes_ * count_) {
  const auto out_size = static_cast<std::size_t>(out_bytes_);
  constexpr auto nan_byte = std::byte{0xff};  // in any type, if all bytes are
  first_output_ = problem.beta == 0 ? std::vector<std::byte>(out_size, nan_byte) : repeated(outputs.bytes(), out_size);
  for (std::int64_t i = 0; i < count_; ++i) {
    const mgemm_operands set = operands(i);
    fill(set.a, a_bytes_, inputs);
    fill(set.b, b_bytes_, inputs);
    upload(set.out, first_output_);
  }
}

mgemm_operands OperandSets::operands(std::int64_t index) const {
  const std::uint64_t first = memory_.address() + static_cast<std::uint64_t>(index % count_ * set_bytes_);
  const std::uint64_t b = first + static_cast<std::uint64_t>(rounded(a_bytes_));
  return mamba_gemm::operands(first, b, b + static_cast<std::uint64_t>(rounded(b_bytes_)));
}

void OperandSets::reset_output() { upload(operands(0).out, first_output_); }

std::vector<std::byte> OperandSets::output() const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(out_bytes_));
  mamba_gemm::check(mgemm_download(context_.handle(), bytes.data(), operands(0).out, out_bytes_));
  return bytes;
}

void OperandSets::upload(std::uint64_t address, std::span<const std::byte> bytes) const {
  mamba_gemm::check(mgemm_upload(context_.handle(), address, bytes.data(), static_cast<std::int64_t>(bytes.size())));
}

void OperandSets::fill(std::uint64_t address, std::int64_t bytes, const Pool& pool) {
  for (auto left = static_cast<std::size_t>(bytes); left != 0;) {
    if (cursor_ >= pool.bytes().size()) cursor_ = 0;
    const std::size_t piece = std::min(left, pool.bytes().size() - cursor_);
    upload(address, pool.bytes().subspan(cursor_, piece));
    cursor_ += piece;
    address += piece;
    left -= piece;
  }
}

}  // namespace mgemm::cli::bench
