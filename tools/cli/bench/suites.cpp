#include "bench/suites.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include <fmt/core.h>

#include "failure.hpp"
#include "nearest_name.hpp"
#include "word_list.hpp"

namespace mgemm::cli::bench {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array all_types{"bf16"sv, "f16"sv, "tf32"sv, "f32"sv};
constexpr std::array all_ops{"nn"sv, "nt"sv, "tn"sv};
constexpr std::array halves{"bf16"sv, "f16"sv};
constexpr std::array bf16_only{"bf16"sv};
constexpr std::array tf32_only{"tf32"sv};
constexpr std::array bf16_and_tf32{"bf16"sv, "tf32"sv};
constexpr std::array forward{"nn"sv};
constexpr std::array default_output{""sv};
constexpr std::array default_and_f32{""sv, "f32"sv};

// The projections of Mamba models with 768 and 2560 features.
constexpr std::array<Layer, 8> mamba_layers{
    {{768, 3072}, {1536, 80}, {48, 1536}, {1536, 768}, {2560, 10240}, {5120, 192}, {160, 5120}, {5120, 2560}}};
constexpr std::array<Layer, 2> train_layers{{{2560, 10240}, {5120, 2560}}};
constexpr std::array<Layer, 1> head_layers{{{768, 50280}}};
constexpr auto decode_layers = [] {
  std::array<Layer, mamba_layers.size() + head_layers.size()> layers;
  std::ranges::copy(head_layers, std::ranges::copy(mamba_layers, layers.begin()).out);
  return layers;
}();
constexpr std::array<Layer, 4> cubes{{{1024, 1024}, {2048, 2048}, {4096, 4096}, {8192, 8192}}};

constexpr std::array<std::int64_t, 3> mamba_rows{256, 2048, 8192};
constexpr std::array<std::int64_t, 4> decode_rows{1, 4, 16, 64};
constexpr std::array<std::int64_t, 2> train_rows{2048, 8192};
constexpr std::array<std::int64_t, 1> head_rows{2048};

constexpr std::array<Suite, 6> table{{
    {"mamba", "the projections of Mamba models, in halves", halves, all_ops, mamba_layers, mamba_rows, default_output},
    {"tf32", "the same in TF32", tf32_only, all_ops, mamba_layers, mamba_rows, default_output},
    {"square", "cubes of 1024 to 8192", bf16_and_tf32, all_ops, cubes, {}, default_output},
    {"decode", "few rows", bf16_only, forward, decode_layers, decode_rows, default_output},
    {"train", "forward, input and weight gradients", bf16_only, all_ops, train_layers, train_rows, default_output},
    {"head", "to the vocabulary, with half and f32 output", halves, forward, head_layers, head_rows, default_and_f32},
}};

/// Whether a filter lets a value through.
template <typename Values, typename Value>
bool wanted(const Values& filter, const Value& value) {
  return filter.empty() || std::ranges::find(filter, value) != filter.end();
}

std::vector<std::string> names_among(const char* option, const std::string& text,
                                     std::span<const std::string_view> names) {
  std::vector<std::string> words = split(text);
  for (const std::string& word : words)
    if (std::ranges::find(names, word) == names.end())
      bad_input("{} {}: '{}' must be one of {}", option, text, word, listed(names));
  return words;
}

std::vector<std::int64_t> row_counts(const std::string& text) {
  std::vector<std::int64_t> rows;
  for (const std::string& word : split(text)) {
    const char* const end = word.data() + word.size();
    const std::from_chars_result result = std::from_chars(word.data(), end, rows.emplace_back());
    if (result.ec != std::errc{} || result.ptr != end || rows.back() < 1)
      bad_input("--rows {}: '{}' must be a number of rows, at least 1", text, word);
  }
  return rows;
}

std::vector<std::string> suite_names() {
  std::vector<std::string> names(table.size());
  std::ranges::transform(table, names.begin(), [](const Suite& suite) { return std::string(suite.name); });
  return names;
}

const Suite& suite_of(const std::string& word) {
  for (const Suite& suite : table)
    if (suite.name == word) return suite;
  const std::vector<std::string> names = suite_names();
  const std::string meant = nearest_name(word, names);
  bad_input("'{}' is neither a suite ({}) nor a problem string such as nn:bf16:2048x2560x10240{}", word, listed(names),
            meant.empty() ? "" : fmt::format("; did you mean {}?", meant));
}

void add_new(std::vector<std::string>& cells, std::vector<std::string> more) {
  for (std::string& cell : more)
    if (std::ranges::find(cells, cell) == cells.end()) cells.push_back(std::move(cell));
}

void expand_layer(const Suite& suite, const Filter& filter, const std::string& start, const Layer& layer,
                  std::vector<std::string>& cells) {
  const std::array<std::int64_t, 1> cube{layer.k};
  for (const std::int64_t rows : suite.rows.empty() ? std::span<const std::int64_t>(cube) : suite.rows) {
    if (!wanted(filter.rows, rows)) continue;
    for (const std::string_view output : suite.outputs)
      cells.push_back(
          fmt::format("{}:{}x{}x{}{}{}", start, rows, layer.k, layer.n, output.empty() ? "" : ":out=", output));
  }
}

}  // namespace

std::span<const Suite> suites() { return table; }

Filter parse_filter(const std::string& types, const std::string& ops, const std::string& rows) {
  return {names_among("--type", types, all_types), names_among("--op", ops, all_ops), row_counts(rows)};
}

std::vector<std::string> expand(const Suite& suite, const Filter& filter) {
  std::vector<std::string> cells;
  for (const std::string_view type : suite.types) {
    for (const std::string_view op : suite.ops) {
      if (!wanted(filter.types, type) || !wanted(filter.ops, op)) continue;
      for (const Layer& layer : suite.layers) expand_layer(suite, filter, fmt::format("{}:{}", op, type), layer, cells);
    }
  }
  return cells;
}

std::vector<std::string> cells_of(const std::vector<std::string>& words, const Filter& filter) {
  std::vector<std::string> cells;
  bool any_suite = false;
  for (const std::string& word : words) {
    if (word.find(':') != std::string::npos) {
      add_new(cells, {word});
    } else {
      add_new(cells, expand(suite_of(word), filter));
      any_suite = true;
    }
  }
  if (words.empty()) bad_input("bench needs a suite or a problem string; suites are {}", listed(suite_names()));
  if (!filter.empty() && !any_suite) bad_input("--type, --op and --rows choose from a suite, and none is named");
  if (cells.empty()) bad_input("--type, --op and --rows leave nothing of {}", listed(words));
  return cells;
}

}  // namespace mgemm::cli::bench
