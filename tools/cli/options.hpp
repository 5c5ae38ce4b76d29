#pragma once
#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "report.hpp"

namespace mgemm::cli {

/// What `run` and `verify` have in common.
struct ProductOptions {
  std::string device = "auto";
  std::string seed_text = "0";
  std::int64_t samples = 4096;
  std::int32_t threads = 0;
  bool json = false;

  /// BadInput unless it is 0 .. 2^64 - 1 in decimal. Not left to the parser, releases of which let -1 wrap round.
  std::uint64_t seed() const;
};

void add_product_options(CLI::App& command, ProductOptions& options);

/// The one thing a command writes to stdout.
void print(const std::string& text);

}  // namespace mgemm::cli
