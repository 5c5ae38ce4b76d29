// The reports of `mamba-gemm bench`, from made-up measurements.
#include "bench/report.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "support/test.hpp"
#include "temp_folder.hpp"

using namespace mgemm::cli::bench;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Timing timing(std::vector<double> windows) { return {std::move(windows), 10, 0}; }

Cell cell(const char* problem, double ours, double cublas, double best) {
  Cell made;
  made.problem = problem;
  made.kernel = "mgemm_" + std::string(problem).substr(0, 2);
  made.flops = 1e9;
  made.bytes = 1e7;
  made.ours = timing({ours, ours, ours});
  made.cublas = timing({cublas, cublas, cublas});
  made.best = timing({best, best, best});
  made.heuristics = 8;
  return made;
}

BenchReport report() {
  BenchReport made;
  made.header = {.command_line = "mamba-gemm bench head --vs cublas",
                 .device = "cuda:0, NVIDIA H200",
                 .driver = "580.1 (CUDA 13.0)",
                 .library = "0.1.0",
                 .cublas = "13.0.2 (/lib/libcublasLt.so.13)",
                 .node_us = 1.234,
                 .power_limit_w = 700,
                 .windows = 3};
  made.cells = {cell("nn:bf16:2048x768x50280", 10, 20, 15), cell("nn:bf16:2048x768x50280:out=f32", 10, 5, 5),
                cell("tn:tf32:1x2x3", 4, 4, 4)};
  made.cells[0].ours = timing({12, 8, 10, 9, 11});
  made.cells[0].sm_mhz = 1980;
  made.cells[1].sm_mhz = 1755;
  return made;
}

BenchReport without_cublas() {
  BenchReport made = report();
  made.header.cublas.clear();
  for (Cell& of : made.cells) of.cublas = of.best = std::nullopt;
  return made;
}

BenchReport with_error() {
  BenchReport made = report();
  Cell wrong;
  wrong.problem = "tn:tf32:4x5x6";
  wrong.error = "ours & cuBLAS's differ | by\n<1.4>";
  made.cells.push_back(wrong);
  return made;
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Whether Python reads it as XML.
bool is_xml(const std::string& text) {
  const mgemm::test::TempFolder folder;
  mgemm::test::write_bytes(folder.file("plot.svg"), text);
  const std::string command =
      "python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])' " + folder.file("plot.svg");
  return std::system(command.c_str()) == 0;
}

}  // namespace

// Catches a ratio upside down, a column out of place, a rate in other units, and a section that mixes ops or types.
TEST_CASE("the bench table") {
  const std::string text = bench_markdown(report());
  CAPTURE(text);
  CHECK(contains(text, "- command: `mamba-gemm bench head --vs cublas`\n- device: cuda:0, NVIDIA H200\n"));
  CHECK(contains(text, "- cuBLAS: 13.0.2 (/lib/libcublasLt.so.13)\n"));
  CHECK(contains(text, "SM clock behind the cells 1755 to 1980 MHz, power limit 700 W\n"));
  CHECK(contains(text, "memset takes 1.23 us\n"));
  CHECK(contains(text,
                 "\n## nn bf16\n\n"
                 "| M,K,N | kernel | ours us | spread | cuBLAS us | spread | best of 8 us | cuBLAS / ours | TFLOP/s |\n"
                 "|---|---|---|---|---|---|---|---|---|\n"
                 "| 2048,768,50280 | mgemm_nn | 10.00 | 20.0 % | 20.00 | 0.0 % | 15.00 | 2.000 | 100.0 |\n"
                 "| 2048,768,50280 out=f32 | mgemm_nn | 10.00 | 0.0 % | 5.00 | 0.0 % | 5.00 | 0.500 | 100.0 |\n"
                 "\n2 cells; cuBLAS / ours: geometric mean 1.000, minimum 0.500 at 2048,768,50280 out=f32\n"));
  CHECK(contains(text, "\n## tn tf32\n"));
  CHECK(contains(text, "\n1 cells; cuBLAS / ours: geometric mean 1.000, minimum 1.000 at 1,2,3\n"));
}

// Catches columns of cuBLAS's where it was not timed.
TEST_CASE("the bench table without cuBLAS") {
  const std::string text = bench_markdown(without_cublas());
  CAPTURE(text);
  CHECK_FALSE(contains(text, "cuBLAS"));
  CHECK(contains(text, "| M,K,N | kernel | ours us | spread | TFLOP/s |\n|---|---|---|---|---|\n"));
  CHECK(contains(text, "| 1,2,3 | mgemm_tn | 4.00 | 0.0 % | 250.0 |\n\n1 cells\n"));
}

// Catches an error that is lost, breaks the table, or counts in the mean.
TEST_CASE("a cell that failed stands in the table") {
  const std::string text = bench_markdown(with_error());
  CAPTURE(text);
  CHECK(contains(text, "| 4,5,6 | error: ours & cuBLAS's differ / by <1.4> | - | - | - | - | - | - | - |\n"));
  CHECK(contains(text, "\n2 cells, 1 of them not timed; cuBLAS / ours: geometric mean 1.000, minimum 1.000"));
}

// Catches keys that scripts rely on, numbers as text, and a zero in place of what is not known.
TEST_CASE("the bench report as JSON") {
  const Json json = Json::parse(bench_json(with_error()).dump());
  CAPTURE(json.dump());
  CHECK(json["cublas"] == "13.0.2 (/lib/libcublasLt.so.13)");
  CHECK(json["power_limit_w"] == 700);
  CHECK(json["sm_mhz"]["lowest"] == 1755);
  REQUIRE(json["cells"].size() == 4);
  const Json& first = json["cells"][0];
  CHECK(first["problem"] == "nn:bf16:2048x768x50280");
  CHECK(first["ours"]["us"] == 10);
  CHECK(first["ours"]["windows_us"].size() == 5);
  CHECK(first["cublas"]["us"] == 20);
  CHECK(first["best"]["us"] == 15);
  CHECK(first["ratio"] == 2);
  CHECK(first["error"].is_null());
  CHECK(json["cells"][3]["ours"].is_null());
  CHECK(json["cells"][3]["sm_mhz"].is_null());
  CHECK(json["cells"][3]["error"] == "ours & cuBLAS's differ | by\n<1.4>");
  REQUIRE(json["sections"].size() == 2);
  CHECK(json["sections"][0]["minimum"]["ratio"] == 0.5);
  CHECK(json["sections"][1]["cells"] == 2);
  CHECK(json["sections"][1]["timed"] == 1);
  const Json alone = bench_json(without_cublas());
  CHECK(alone["cublas"].is_null());
  CHECK_FALSE(alone["cells"][0].contains("ratio"));
  CHECK(alone["sections"][0]["geometric_mean"].is_null());
}

// Catches roofs of another board or type, and --peak options that are not heeded.
TEST_CASE("roofs are the board's, or those given") {
  const Roofs known = roofs_of(report(), 0, 0);
  REQUIRE(known.flat.size() == 2);
  CHECK(known.flat[0].name == "bf16");
  CHECK(known.flat[0].tflops == 989);
  CHECK(known.flat[1].tflops == 494);
  CHECK(known.gbytes == 4800);
  const Roofs given = roofs_of(report(), 100, 200);
  REQUIRE(given.flat.size() == 1);
  CHECK(given.flat[0].tflops == 100);
  CHECK(given.gbytes == 200);
  BenchReport other = report();
  other.header.device = "cuda:0, NVIDIA Other";
  CHECK_FALSE(roofs_of(other, 0, 0).known());
  CHECK(roofs_of(other, 100, 200).known());
  BenchReport both = report();
  both.cells.push_back(cell("nn:f16:1x2x3", 1, 1, 1));
  CHECK(roofs_of(both, 0, 0).flat.front().name == "bf16, f16");
}

// Catches text that is no XML, a cell without its two marks, and a picture without legend or roof.
TEST_CASE("the roofline plot is an SVG picture") {
  BenchReport drawn = with_error();
  drawn.header.device = "cuda:0, <H200> & \"co\"";
  const std::string text = bench_svg(drawn, roofs_of(drawn, 0, 0));
  CAPTURE(text);
  CHECK(is_xml(text));
  CHECK(text.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(count_of(text, "<circle") == 3 + 1);
  CHECK(count_of(text, "fill=\"none\"") == 3 + 1);
  CHECK(contains(text, ">mamba-gemm</text>"));
  CHECK(contains(text, ">cuBLAS</text>"));
  CHECK(contains(text, ">4800 GB/s</text>"));
  CHECK(contains(text, ">bf16: 989 TFLOP/s</text>"));
  CHECK(contains(text, "arithmetic intensity"));
  CHECK_FALSE(contains(text, "nan"));
  CHECK_FALSE(contains(text, "inf"));
}

// Catches a plot of nothing, or of one board without known figures, that divides by zero.
TEST_CASE("the roofline plot without roofs, cuBLAS or cells") {
  BenchReport alone = without_cublas();
  for (BenchReport drawn : {alone, BenchReport{}}) {
    const std::string text = bench_svg(drawn, Roofs{});
    CAPTURE(text);
    CHECK(is_xml(text));
    CHECK_FALSE(contains(text, "cuBLAS"));
    CHECK_FALSE(contains(text, "nan"));
    CHECK_FALSE(contains(text, "inf"));
  }
}
