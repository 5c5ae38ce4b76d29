#pragma once
#include <span>
#include <string_view>

namespace mgemm {

/// A CUDA source carried inside the library.
struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

/// All of them, sorted by name. Defined in a file generated from cuda_src/ at build time.
std::span<const EmbeddedFile> embedded_files();

}  // namespace mgemm
