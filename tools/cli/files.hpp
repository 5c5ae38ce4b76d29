#pragma once
#include <string>

#include "operands.hpp"

namespace mgemm::cli {

/// A product of NumPy files, as the options of `run` say it. Empty is not given.
struct FileOptions {
  std::string x, w, bias, old, out;
  std::string op, alpha, beta;

  /// Whether any of them is given.
  bool any() const;
};

/// Reads and checks everything; BadInput says what does not fit.
HostOperands read_operands(const FileOptions& options);

/// Writes the output matrix of a product.
void write_output(const FileOptions& options, const HostOperands& operands, const Array& values);

}  // namespace mgemm::cli
