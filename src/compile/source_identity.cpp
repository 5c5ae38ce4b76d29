#include "compile/source_identity.hpp"

#include <fmt/core.h>

#include "catalogue/embedded.hpp"
#include "compile/module_text.hpp"

namespace mgemm {

Digest embedded_digest() {
  Identity identity("mamba-gemm embedded sources", 1);
  for (const EmbeddedFile& file : embedded_files()) identity.add(file.name, std::string(file.text));
  return identity.digest();
}

Identity source_identity(std::string_view module) {
  Identity identity("mamba-gemm source", 2);
  identity.add("module", std::string(module)).add("text", sha256(module_text(module)));
  for (const EmbeddedFile& file : embedded_files()) {
    identity.add(fmt::format("include {}", file.name), sha256(file.text));
  }
  return identity;
}

}  // namespace mgemm
