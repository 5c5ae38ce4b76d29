#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "catalogue/catalogue.hpp"
#include "device/cuda_device.hpp"

namespace mgemm {

/// What a compiled kernel needs, as the assembler's log or the driver says it.
struct ResourceFacts {
  std::int32_t registers = 0;                 // a thread
  std::int32_t local_bytes = 0;               // a thread: spills and arrays that are not in registers
  std::int32_t static_shared_bytes = 0;       // a thread block
  std::optional<std::int32_t> max_threads{};  // a thread block; the log does not say
  std::string advisory{};                     // the assembler's, if it gave up something the kernel relies on
};

/// By symbol.
using LoggedFacts = std::map<std::string, ResourceFacts, std::less<>>;

/// Of every kernel that a log of the assembler in verbose mode tells of.
LoggedFacts read_assembler_log(std::string_view log);

/// What the driver says of a kernel that is loaded in the current context.
ResourceFacts read_attributes(const DriverTable& driver, cuda::Function function);

/// Limits of a device or of all devices of a target.
struct ResourceLimits {
  std::int32_t shared_bytes_per_block = 0;  // opt-in
  // Of all targets (CUDA C++ Programming Guide, compute capabilities).
  std::int32_t registers_per_multiprocessor = 65536;
};

/// Why a kernel that its module lacks must not be used.
constexpr const char* missing_symbol = "its module does not have it";

/// Why a kernel must not be used; "" if it may.
std::string reason_to_exclude(const KernelRow& row, const ResourceFacts& facts, const ResourceLimits& limits);

/// The same from its module's log alone, without a device: what is not in there is not in the module. Gives the facts,
/// too.
std::string reason_to_exclude(const KernelRow& row, const LoggedFacts& logged, const ResourceLimits& limits,
                              ResourceFacts& facts);

}  // namespace mgemm
