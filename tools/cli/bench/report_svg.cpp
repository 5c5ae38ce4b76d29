#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "bench/report.hpp"

namespace mgemm::cli::bench {
namespace {

// The plot within the picture, in pixels.
constexpr double width = 900, height = 600;
constexpr double left = 80, right = 870, top = 70, bottom = 530;

/// "f16" contains no mark-up, but an error text or a device's name might.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      default:
        safe += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
    }
  }
  return safe;
}

/// A logarithmic axis from one power of ten to another, and where it lies in the picture.
struct Axis {
  int first = 0, last = 1;  // exponents
  double from = 0, to = 0;  // pixels

  double place(double value) const { return from + (to - from) * (std::log10(value) - first) / (last - first); }
  double lowest() const { return std::pow(10.0, first); }
  double highest() const { return std::pow(10.0, last); }
};

/// Around all values, at least one decade; `from` and `to` as in Axis.
Axis axis_round(const std::vector<double>& values, double from, double to) {
  Axis axis{0, 1, from, to};
  if (values.empty()) return axis;
  const auto [low, high] = std::ranges::minmax(values);
  axis.first = static_cast<int>(std::floor(std::log10(low)));
  axis.last = std::max(axis.first + 1, static_cast<int>(std::ceil(std::log10(high))));
  return axis;
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, style);
}

std::string label(double x, double y, const std::string& text, const char* style = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, style, escaped(text));
}

constexpr auto grid_style = R"(stroke="#dddddd")";
constexpr auto fine_style = R"(stroke="#f2f2f2")";
constexpr auto frame_style = R"(stroke="#333333")";
constexpr auto roof_style = R"(stroke="#666666" stroke-width="1.5" stroke-dasharray="6 3")";
constexpr auto middle = R"(text-anchor="middle")";
constexpr auto at_end = R"(text-anchor="end")";

/// Grid lines at 1, 2, ... 9 times each power of ten, with a tick and a number at the power; `draw(place, style)`.
template <typename Draw>
std::string grid_lines(const Axis& axis, const Draw& draw) {
  std::string text;
  for (int exponent = axis.first; exponent <= axis.last; ++exponent) {
    const int steps = exponent == axis.last ? 1 : 9;
    for (int step = 1; step <= steps; ++step)
      text += draw(axis.place(step * std::pow(10.0, exponent)), step == 1 ? grid_style : fine_style);
  }
  return text;
}

std::string grid(const Axis& x, const Axis& y) {
  constexpr double tick = 6;
  std::string text = grid_lines(x, [](double at, const char* style) { return line(at, top, at, bottom, style); });
  text += grid_lines(y, [](double at, const char* style) { return line(left, at, right, at, style); });
  text += line(left, bottom, right, bottom, frame_style) + line(left, top, left, bottom, frame_style);
  for (int exponent = x.first; exponent <= x.last; ++exponent) {
    const double value = std::pow(10.0, exponent);
    text += line(x.place(value), bottom, x.place(value), bottom + tick, frame_style);
    text += label(x.place(value), bottom + 20, fmt::format("{:g}", value), middle);
  }
  for (int exponent = y.first; exponent <= y.last; ++exponent) {
    const double value = std::pow(10.0, exponent);
    text += line(left - tick, y.place(value), left, y.place(value), frame_style);
    text += label(left - 10, y.place(value) + 4, fmt::format("{:g}", value), at_end);
  }
  text += label((left + right) / 2, height - 25, "arithmetic intensity, flop / byte", middle);
  text += label(22, (top + bottom) / 2, "TFLOP/s", R"-(text-anchor="middle" transform="rotate(-90 22 300)")-");
  return text;
}

/// TFLOP/s that memory allows at an intensity.
double memory_bound(const Roofs& roofs, double intensity) { return intensity * roofs.gbytes * 1e-3; }

std::string roof_lines(const Roofs& roofs, const Axis& x, const Axis& y) {
  if (!roofs.known()) return "";
  std::string text;
  double highest = 0;
  for (const Roof& roof : roofs.flat) {
    highest = std::max(highest, roof.tflops);
    const double ridge = std::clamp(roof.tflops / memory_bound(roofs, 1), x.lowest(), x.highest());
    text += line(x.place(ridge), y.place(roof.tflops), right, y.place(roof.tflops), roof_style);
    text += label(right - 4, y.place(roof.tflops) - 5, fmt::format("{}: {:g} TFLOP/s", roof.name, roof.tflops), at_end);
  }
  // The slope, as far as it lies in the plot and below the highest roof.
  const double start = std::max(x.lowest(), y.lowest() / memory_bound(roofs, 1));
  const double end = std::min(x.highest(), highest / memory_bound(roofs, 1));
  if (start >= end) return text;
  text += line(x.place(start), y.place(memory_bound(roofs, start)), x.place(end), y.place(memory_bound(roofs, end)),
               roof_style);
  const double half_way = std::sqrt(start * end);
  return text + label(x.place(half_way) - 8, y.place(memory_bound(roofs, half_way)) - 4,
                      fmt::format("{:g} GB/s", roofs.gbytes), at_end);
}

std::string our_mark(double x, double y, const std::string& title) {
  return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#1f5fbf\"><title>{}</title></circle>\n", x, y,
                     escaped(title));
}

std::string cublas_mark(double x, double y, const std::string& title) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"8\" height=\"8\" fill=\"none\" stroke=\"#c45500\" "
      "stroke-width=\"1.5\"><title>{}</title></rect>\n",
      x - 4, y - 4, escaped(title));
}

std::string marks(const BenchReport& report, const Axis& x, const Axis& y) {
  std::string text;
  for (const Cell& cell : report.cells) {
    const double at = cell.ours ? x.place(cell.flops / cell.bytes) : 0;
    const auto title = [&](const char* side, const Timing& timing) {
      return fmt::format("{}, {}: {:.2f} us, {:.1f} TFLOP/s", cell.problem, side, timing.us(), cell.tflops(timing));
    };
    if (cell.ours) text += our_mark(at, y.place(cell.tflops(*cell.ours)), title("mamba-gemm", *cell.ours));
    if (cell.ours && cell.cublas)
      text += cublas_mark(at, y.place(cell.tflops(*cell.cublas)), title("cuBLAS", *cell.cublas));
  }
  return text;
}

std::string legend(const BenchReport& report) {
  std::string text = our_mark(left + 20, top - 16, "mamba-gemm") + label(left + 32, top - 12, "mamba-gemm");
  if (report.versus()) text += cublas_mark(left + 140, top - 16, "cuBLAS") + label(left + 152, top - 12, "cuBLAS");
  return text;
}

}  // namespace

std::string bench_svg(const BenchReport& report, const Roofs& roofs) {
  std::vector<double> intensities;
  std::vector<double> rates;
  for (const Cell& cell : report.cells) {
    if (!cell.ours) continue;
    intensities.push_back(cell.flops / cell.bytes);
    rates.push_back(cell.tflops(*cell.ours));
    if (cell.cublas) rates.push_back(cell.tflops(*cell.cublas));
  }
  if (roofs.known())
    for (const Roof& roof : roofs.flat) rates.push_back(roof.tflops);
  const Axis x = axis_round(intensities, left, right);
  const Axis y = axis_round(rates, bottom, top);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"13\" fill=\"#222222\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      width, height);
  text += label(width / 2, 28, report.header.device, R"(text-anchor="middle" font-size="16")");
  return text + grid(x, y) + roof_lines(roofs, x, y) + marks(report, x, y) + legend(report) + "</svg>\n";
}

}  // namespace mgemm::cli::bench
