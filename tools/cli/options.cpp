#include "options.hpp"

#include <charconv>
#include <cstdio>
#include <limits>
#include <system_error>

#include "failure.hpp"

namespace mgemm::cli {

std::uint64_t ProductOptions::seed() const {
  std::uint64_t value = 0;
  const char* const end = seed_text.data() + seed_text.size();
  const std::from_chars_result result = std::from_chars(seed_text.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end) bad_input("--seed {}: must be 0 to 2^64 - 1", seed_text);
  return value;
}

void add_product_options(CLI::App& command, ProductOptions& options) {
  constexpr std::int32_t most_threads = 1024;  // as the library has it
  command.add_option(
      "--device", options.device,
      "auto (the first GPU, else the reference device), cuda, cuda:N, reference, or reference:sm80 with the "
      "contracts of those tensor cores");
  command.add_option("--seed", options.seed_text, "Of the data and of the samples; the same everywhere. Default 0");
  command.add_option("--samples", options.samples, "Elements to check where not all are. Default 4096")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
  command.add_option("--threads", options.threads, "Host threads of the evaluator. Default 0: all there are")
      ->check(CLI::Range(0, most_threads));
  command.add_flag("--json", options.json, "Print one JSON object");
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    bad_input("cannot write to standard output");
}

}  // namespace mgemm::cli
