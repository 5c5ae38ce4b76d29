#include "module/resources.hpp"

#include <charconv>

#include <fmt/core.h>

namespace mgemm {
namespace {

/// The number right before `unit` in a line such as "ptxas info : Used 32 registers, 16 bytes smem"; 0 if there is
/// none.
std::int32_t number_before(std::string_view line, std::string_view unit) {
  const size_t end = line.find(unit);
  if (end == std::string_view::npos || end == 0) return 0;
  size_t first = end;
  while (first > 0 && line[first - 1] >= '0' && line[first - 1] <= '9') --first;
  std::int32_t number = 0;
  std::from_chars(line.data() + first, line.data() + end, number);
  return number;
}

std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

/// The first name of ours in a line; "" if there is none.
std::string_view symbol_in(std::string_view line) {
  constexpr std::string_view prefix = "mgemm_";
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const size_t start = line.find(prefix);
  if (start == std::string_view::npos) return {};
  return line.substr(start, line.find_first_not_of(letters, start) - start);
}

/// C7508 to C7520: setmaxnreg was ignored, wgmma serialised or a wait put in, which costs most of its speed. (C7509 is
/// serialisation, too; public build logs have it.)
bool is_advisory(std::string_view line) {
  constexpr std::string_view before = "(C";
  constexpr int first = 7508;
  constexpr int last = 7520;
  const size_t start = line.find(before);
  if (start == std::string_view::npos) return false;
  int code = 0;
  std::from_chars(line.data() + start + before.size(), line.data() + line.size(), code);
  return first <= code && code <= last;
}

/// Thread blocks of a kernel that a multiprocessor's registers hold. A warp takes them 256 at a time, and warps come in
/// fours (CUDA's cuda_occupancy.h, for sm_80 and newer).
std::int32_t blocks_by_registers(std::int32_t registers, std::int32_t threads, std::int32_t of_multiprocessor) {
  constexpr std::int32_t unit = 256;
  constexpr std::int32_t warps_at_a_time = 4;
  const std::int32_t of_warp = ceil_div(std::max(registers, 1) * warp_size, unit) * unit;
  const std::int32_t warps = of_multiprocessor / of_warp / warps_at_a_time * warps_at_a_time;
  return warps / ceil_div(threads, warp_size);
}

}  // namespace

LoggedFacts read_assembler_log(std::string_view log) {
  LoggedFacts kernels;
  std::string current;
  while (!log.empty()) {
    const std::string_view line = take_line(log);
    if (const std::string_view symbol = symbol_in(line); !symbol.empty()) current = symbol;
    if (current.empty()) continue;
    ResourceFacts& facts = kernels[current];
    if (is_advisory(line)) facts.advisory = line;
    if (line.find("bytes stack frame") != std::string_view::npos) {
      facts.local_bytes = std::max(facts.local_bytes, number_before(line, " bytes stack frame"));
      facts.local_bytes = std::max(facts.local_bytes, number_before(line, " bytes spill stores"));
    }
    if (line.find("Used ") != std::string_view::npos) {
      facts.registers = number_before(line, " registers");
      facts.static_shared_bytes = number_before(line, " bytes smem");
    }
  }
  return kernels;
}

ResourceFacts read_attributes(const DriverTable& driver, cuda::Function function) {
  const auto attribute = [&](cuda::FunctionAttribute which) {
    int value = 0;
    check(driver.cuFuncGetAttribute(&value, which, function), "cuFuncGetAttribute");
    return value;
  };
  ResourceFacts facts;
  facts.registers = attribute(cuda::FunctionAttribute::NumRegs);
  facts.local_bytes = attribute(cuda::FunctionAttribute::LocalSizeBytes);
  facts.static_shared_bytes = attribute(cuda::FunctionAttribute::SharedSizeBytes);
  facts.max_threads = attribute(cuda::FunctionAttribute::MaxThreadsPerBlock);
  return facts;
}

std::string reason_to_exclude(const KernelRow& row, const ResourceFacts& facts, const ResourceLimits& limits) {
  if (facts.local_bytes != 0) return fmt::format("it spills {} bytes a thread to local memory", facts.local_bytes);
  if (!facts.advisory.empty()) return fmt::format("the assembler says: {}", facts.advisory);
  if (facts.max_threads && *facts.max_threads < row.threads()) {
    return fmt::format("it may run {} threads, {} are needed", *facts.max_threads, row.threads());
  }
  const std::int32_t blocks = blocks_by_registers(facts.registers, row.threads(), limits.registers_per_multiprocessor);
  if (blocks < row.min_blocks) {
    return fmt::format("{} thread blocks of it must be resident, and with {} registers a thread {} are", row.min_blocks,
                       facts.registers, blocks);
  }
  const std::int32_t shared = row.shared_bytes() + facts.static_shared_bytes;
  if (shared > limits.shared_bytes_per_block) {
    return fmt::format("it needs {} bytes of shared memory, there are {}", shared, limits.shared_bytes_per_block);
  }
  return {};
}

std::string reason_to_exclude(const KernelRow& row, const LoggedFacts& logged, const ResourceLimits& limits,
                              ResourceFacts& facts) {
  const auto own = logged.find(row.symbol.view());
  if (own == logged.end()) return missing_symbol;
  facts = own->second;
  return reason_to_exclude(row, facts, limits);
}

}  // namespace mgemm
