#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mgemm::cli::bench {

/// Input and output features of a layer.
struct Layer {
  std::int64_t k = 0, n = 0;
};

/// A named set of problems: every combination of what it lists.
struct Suite {
  std::string_view name, what;
  std::span<const std::string_view> types, ops;
  std::span<const Layer> layers;
  std::span<const std::int64_t> rows;         // empty: of each layer as many as it has input features
  std::span<const std::string_view> outputs;  // output types; "" is the default one
};

std::span<const Suite> suites();

/// What of the suites is wanted; an empty list is everything.
struct Filter {
  std::vector<std::string> types, ops;
  std::vector<std::int64_t> rows;

  bool empty() const { return types.empty() && ops.empty() && rows.empty(); }
};

/// Reads lists with commas, as --type, --op and --rows take them. BadInput names the option and the word.
Filter parse_filter(const std::string& types, const std::string& ops, const std::string& rows);

/// Problem strings of a suite, by type, op, layer and rows.
std::vector<std::string> expand(const Suite& suite, const Filter& filter);

/// The cells that words name, each once and in their order: a word with a colon is a problem string, which no filter
/// touches and which is not read here, any other must be a suite. BadInput if there is none.
std::vector<std::string> cells_of(const std::vector<std::string>& words, const Filter& filter);

}  // namespace mgemm::cli::bench
