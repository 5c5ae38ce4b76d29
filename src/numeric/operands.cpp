#include "numeric/operands.hpp"

#include <limits>

#include "base/error.hpp"
#include "numeric/overlap.hpp"

namespace mgemm {
namespace {

ByteRows byte_rows(std::uint64_t address, const Layout& layout) {
  const std::int64_t size = size_of(layout.type);
  return {address, layout.columns == 0 ? 0 : layout.rows, layout.leading * size, layout.columns * size};
}

void check_address(const char* name, std::uint64_t address, const Layout& layout) {
  const std::int64_t span = span_bytes(layout);
  if (address == 0) {
    if (span != 0) invalid("operands.{} is 0; it must be the address of {} bytes", name, span);
    return;
  }
  if (address % static_cast<std::uint64_t>(size_of(layout.type)) != 0) {
    invalid("operands.{} is {:#x}; it must be a multiple of its element size, {}", name, address, size_of(layout.type));
  }
  constexpr std::uint64_t limit = std::numeric_limits<std::int64_t>::max();
  if (address > limit || static_cast<std::uint64_t>(span) > limit - address) {
    invalid("operands.{} at {:#x} spans {} bytes, past the end of the address space", name, address, span);
  }
}

void check_apart(const char* name, std::uint64_t address, const Layout& layout, std::uint64_t out,
                 const Layout& out_layout) {
  if (!share_a_byte(byte_rows(address, layout), byte_rows(out, out_layout))) return;
  invalid(
      "operands.out at [{:#x}, {:#x}) shares elements with operands.{} at [{:#x}, {:#x}); the output must not overlap "
      "an "
      "input",
      out, out + static_cast<std::uint64_t>(span_bytes(out_layout)), name, address,
      address + static_cast<std::uint64_t>(span_bytes(layout)));
}

}  // namespace

void check_inputs(const Problem& problem, const mgemm_operands& operands) {
  for (const std::uint64_t word : operands.reserved) {
    if (word != 0) invalid("operands.reserved must be zero");
  }
  if (!problem.bias && operands.bias != 0) {
    invalid("operands.bias is {:#x}; it must be 0, the problem has no bias", operands.bias);
  }
  const auto inputs = inputs_of(problem);
  const auto addresses = input_addresses(operands);
  for (size_t i = 0; i < inputs.size(); ++i) check_address(inputs.at(i).name, addresses.at(i), inputs.at(i).layout);
}

void check_output(const Problem& problem, const mgemm_operands& operands) {
  const Layout out = layout_out(problem);
  check_address("out", operands.out, out);
  const auto inputs = inputs_of(problem);
  const auto addresses = input_addresses(operands);
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_apart(inputs.at(i).name, addresses.at(i), inputs.at(i).layout, operands.out, out);
  }
}

void check_operands(const Problem& problem, const mgemm_operands& operands) {
  check_inputs(problem, operands);
  check_output(problem, operands);
}

std::int32_t alignment_of(const Problem& problem, const mgemm_operands& operands) {
  const auto row_step = [](const Layout& layout) {
    return static_cast<std::uint64_t>(layout.leading * size_of(layout.type));
  };
  constexpr std::uint64_t most = 256;
  const std::uint64_t all = operands.a | operands.b | row_step(layout_a(problem)) | row_step(layout_b(problem)) | most;
  return static_cast<std::int32_t>(all & (~all + 1U));
}

}  // namespace mgemm
