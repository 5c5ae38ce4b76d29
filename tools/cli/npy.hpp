#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace mgemm::cli {

/// A C-ordered array of f32.
struct NpyArray {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// Reads a NumPy file of format 1.0, 2.0 or 3.0 that holds '<f4' in C order with `dimensions` dimensions. The file must
/// be exactly as long as its header says. Throws BadInput naming file and, as far as they were read, dtype and shape.
NpyArray read_npy(const std::filesystem::path& path, std::size_t dimensions);

/// Writes format 1.0 to a new file beside `path` and renames it, so that `path` is at no time half written. Throws
/// BadInput; then `path` is as it was.
void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape, std::span<const float> values);

}  // namespace mgemm::cli
