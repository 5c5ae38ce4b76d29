#pragma once
#include <span>
#include <vector>

namespace mgemm::cli {

/// The value below which a fraction of the values lies, interpolated linearly between neighbours; 0 of no values.
double quantile(std::vector<double> values, double fraction);

double median(std::vector<double> values);

/// (75th - 25th percentile) / median: how far half of the values lie apart. 0 if the median is not positive.
double spread(const std::vector<double>& values);

/// Of positive values; 0 of none.
double geometric_mean(std::span<const double> values);

}  // namespace mgemm::cli
