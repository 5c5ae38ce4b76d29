#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mgemm::cli {

/// The dictionary of a .npy file.
struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads the Python dict literal of a .npy header. Strict: exactly the keys descr, fortran_order and shape, each once,
/// plain strings, decimal sizes, nothing but white space behind it. Any bytes are safe. Throws BadInput saying what is
/// wrong at which byte.
NpyHeader parse_header(std::string_view text);

/// The bytes of a version 1.0 file before its data: '<f4', C order, padded to a multiple of 64 as NumPy writes it.
std::string make_npy_preamble(std::span<const std::int64_t> shape);

/// "(3, 4)", "(3,)", "()".
std::string shape_text(std::span<const std::int64_t> shape);

/// 'text' with anything unprintable as \xNN, cut to a length fit for a message.
std::string in_quotes(std::string_view text);

}  // namespace mgemm::cli
