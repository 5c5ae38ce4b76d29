#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

namespace mgemm::cli {

double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double spread(const std::vector<double>& values) {
  const double middle = median(values);
  return middle > 0 ? (quantile(values, 0.75) - quantile(values, 0.25)) / middle : 0;
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return 0;
  // By logarithms: the product of many ratios may leave the range of a double.
  const double sum = std::transform_reduce(values.begin(), values.end(), 0.0, std::plus<>(),
                                           [](double value) { return std::log(value); });
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace mgemm::cli
