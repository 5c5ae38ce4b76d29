#include "fake_cuda/fake_calls.hpp"
#include "fake_cuda/fake_state.hpp"
#include "support/tensor_map.hpp"

namespace mgemm::fake::calls {

// ---- Modules and launches -------------------------------------------------------------------------------------------

/// As the driver does: cut at the buffer's size, terminated. Integer options come by value in the pointer's place.
void write_compiler_log(unsigned count, const cuda::JitOption* options, void** values) {
  char* buffer = nullptr;
  std::size_t size = 0;
  bool verbose = false;
  for (unsigned index = 0; index < count; ++index) {
    if (options[index] == cuda::JitOption::InfoLogBuffer) buffer = static_cast<char*>(values[index]);
    if (options[index] == cuda::JitOption::InfoLogBufferSizeBytes) size = reinterpret_cast<std::size_t>(values[index]);
    if (options[index] == cuda::JitOption::LogVerbose) verbose = values[index] != nullptr;
  }
  if (buffer == nullptr || size == 0 || !verbose) return;
  const std::size_t length = std::min(size - 1, state->compiler_log.size());
  std::memcpy(buffer, state->compiler_log.data(), length);
  buffer[length] = '\0';
}

Result module_load(cuda::Module* module, const void* image, unsigned count, cuda::JitOption* options, void** values) {
  return context_call("cuModuleLoadDataEx", [&] {
    const bool is_ptx = std::string_view(static_cast<const char*>(image)).find("\177ELF") != 0;
    if (is_ptx) write_compiler_log(count, options, values);
    const std::vector<Entry> entries = entries_in(static_cast<const char*>(image));
    if (entries.empty()) return Result::InvalidImage;
    auto made = std::make_unique<CUmod_st>();
    made->context = current();
    for (const Entry& entry : entries) {
      auto function = std::make_unique<CUfunc_st>();
      function->name = entry.name;
      function->parameters = entry.parameters;
      function->attributes = {{cuda::FunctionAttribute::NumRegs, 32},
                              {cuda::FunctionAttribute::MaxThreadsPerBlock, 1024},
                              {cuda::FunctionAttribute::MaxDynamicSharedSizeBytes, 49152}};
      for (const auto& [attribute, value] : state->function_attributes[entry.name]) {
        function->attributes[attribute] = value;
      }
      made->functions.push_back(std::move(function));
    }
    *module = made.get();
    state->modules.emplace(made.get(), std::move(made));
    return Result::Success;
  });
}

Result module_unload(cuda::Module module) {
  return context_call("cuModuleUnload",
                      [&] { return state->modules.erase(module) == 1 ? Result::Success : Result::InvalidHandle; });
}

Result module_get_function(cuda::Function* function, cuda::Module module, const char* name) {
  return context_call("cuModuleGetFunction", [&] {
    const auto found = state->modules.find(module);
    if (found == state->modules.end()) return Result::InvalidHandle;
    for (const auto& known : found->second->functions) {
      if (known->name != name) continue;
      *function = known.get();
      return Result::Success;
    }
    return Result::NotFound;
  });
}

Result func_get_attribute(int* value, cuda::FunctionAttribute attribute, cuda::Function function) {
  return context_call("cuFuncGetAttribute", [&] {
    CUfunc_st* const known = function_of(function);
    if (known == nullptr) return Result::InvalidHandle;
    *value = known->attributes[attribute];
    return Result::Success;
  });
}

Result func_set_attribute(cuda::Function function, cuda::FunctionAttribute attribute, int value) {
  return context_call("cuFuncSetAttribute", [&] {
    CUfunc_st* const known = function_of(function);
    if (known == nullptr) return Result::InvalidHandle;
    const int optin = fact(current()->device, cuda::DeviceAttribute::MaxSharedMemoryPerBlockOptin);
    const bool shared = attribute == cuda::FunctionAttribute::MaxDynamicSharedSizeBytes;
    if (!shared && attribute != cuda::FunctionAttribute::PreferredSharedMemoryCarveout) return Result::InvalidValue;
    if (shared && (value < 0 || value > optin - known->attributes[cuda::FunctionAttribute::SharedSizeBytes])) {
      return Result::InvalidValue;
    }
    known->attributes[attribute] = value;
    return Result::Success;
  });
}

std::vector<std::byte> packed(const CUfunc_st& function, void** parameters) {
  std::vector<std::byte> bytes;
  for (std::size_t index = 0; index < function.parameters.size(); ++index) {
    const Parameter& parameter = function.parameters[index];
    bytes.resize((bytes.size() + parameter.alignment - 1) / parameter.alignment * parameter.alignment);
    const auto* const from = static_cast<const std::byte*>(parameters[index]);
    bytes.insert(bytes.end(), from, from + parameter.bytes);
  }
  return bytes;
}

std::vector<std::byte> from_extra(void** extra) {
  const std::byte* from = nullptr;
  std::size_t size = 0;
  for (; reinterpret_cast<std::uintptr_t>(extra[0]) != cuda::launch_param_end; extra += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(extra[0]);
    if (key == cuda::launch_param_buffer_pointer) from = static_cast<const std::byte*>(extra[1]);
    if (key == cuda::launch_param_buffer_size) size = *static_cast<const std::size_t*>(extra[1]);
  }
  return {from, from + size};
}

bool fits(const std::array<unsigned, 3>& grid, const std::array<unsigned, 3>& block) {
  const auto zero = [](unsigned extent) { return extent == 0; };
  if (std::ranges::any_of(grid, zero) || std::ranges::any_of(block, zero)) return false;
  const cuda::Device device = current()->device;
  const std::uint64_t threads = std::uint64_t{block[0]} * block[1] * block[2];
  return grid[0] <= static_cast<unsigned>(fact(device, cuda::DeviceAttribute::MaxGridDimX)) &&
         grid[1] <= static_cast<unsigned>(fact(device, cuda::DeviceAttribute::MaxGridDimY)) &&
         grid[2] <= static_cast<unsigned>(fact(device, cuda::DeviceAttribute::MaxGridDimZ)) &&
         threads <= static_cast<std::uint64_t>(fact(device, cuda::DeviceAttribute::MaxThreadsPerBlock));
}

namespace {

/// What both ways to launch come to.
Result launch(const char* call, const cuda::LaunchConfig& config, cuda::Function function, void** parameters,
              void** extra) {
  Launch launch;
  std::function<void(const Launch&)> hook;
  const Result result = context_call(call, [&] {
    CUfunc_st* const known = function_of(function);
    if (known == nullptr || !is_stream(config.stream)) return Result::InvalidHandle;
    if (config.stream != nullptr && config.stream->context != current()) return Result::InvalidHandle;
    launch = {known->name,
              {config.grid_x, config.grid_y, config.grid_z},
              {config.block_x, config.block_y, config.block_z},
              config.shared_bytes,
              config.stream,
              current(),
              {}};
    const int most_shared = known->attributes[cuda::FunctionAttribute::MaxDynamicSharedSizeBytes];
    if (!fits(launch.grid, launch.block) || config.shared_bytes > static_cast<unsigned>(most_shared)) {
      return Result::InvalidValue;
    }
    for (unsigned i = 0; i < config.attribute_count; ++i) {
      const cuda::LaunchAttribute& attribute = config.attributes[i];
      if (attribute.id != cuda::LaunchAttributeId::ClusterDimension) return Result::NotSupported;
      // Portable clusters have no more than 8 blocks, and a grid is made of whole ones.
      const unsigned blocks = attribute.value.cluster[0];
      if (blocks == 0 || blocks > 8 || config.grid_x % blocks != 0) return Result::InvalidClusterSize;
    }
    if ((parameters == nullptr) == (extra == nullptr) && !known->parameters.empty()) return Result::InvalidValue;
    if (extra != nullptr) launch.arguments = from_extra(extra);
    if (parameters != nullptr) launch.arguments = packed(*known, parameters);
    state->launches.push_back(launch);
    hook = state->hook;
    return Result::Success;
  });
  if (result == Result::Success && hook) hook(launch);
  return result;
}

}  // namespace

Result launch_kernel(cuda::Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                     unsigned block_y, unsigned block_z, unsigned shared_bytes, cuda::Stream stream, void** parameters,
                     void** extra) {
  return launch("cuLaunchKernel", {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, nullptr, 0},
                function, parameters, extra);
}

Result launch_kernel_ex(const cuda::LaunchConfig* config, cuda::Function function, void** parameters, void** extra) {
  return launch("cuLaunchKernelEx", *config, function, parameters, extra);
}

Result tensor_map_encode(cuda::TensorMap* map, cuda::TensorMapDataType type, std::uint32_t rank, void* address,
                         const std::uint64_t* extents, const std::uint64_t* strides, const std::uint32_t* box,
                         const std::uint32_t* element_strides, cuda::TensorMapInterleave interleave,
                         cuda::TensorMapSwizzle swizzle, cuda::TensorMapL2Promotion promotion,
                         cuda::TensorMapFill fill) {
  return context_call("cuTensorMapEncodeTiled", [&] {
    return test::encode_on_host(map, type, rank, address, extents, strides, box, element_strides, interleave, swizzle,
                                promotion, fill);
  });
}

Result occupancy(int* blocks, cuda::Function function, int threads, std::size_t shared_bytes) {
  return context_call("cuOccupancyMaxActiveBlocksPerMultiprocessor", [&] {
    if (function_of(function) == nullptr) return Result::InvalidHandle;
    if (threads <= 0) return Result::InvalidValue;
    const cuda::Device device = current()->device;
    const int by_threads = fact(device, cuda::DeviceAttribute::MaxThreadsPerMultiprocessor) / threads;
    const std::size_t reserved =
        static_cast<std::size_t>(fact(device, cuda::DeviceAttribute::ReservedSharedMemoryPerBlock));
    const std::size_t all =
        static_cast<std::size_t>(fact(device, cuda::DeviceAttribute::MaxSharedMemoryPerMultiprocessor));
    const int by_shared = static_cast<int>(all / std::max<std::size_t>(shared_bytes + reserved, 1));
    const int most = fact(device, cuda::DeviceAttribute::MaxBlocksPerMultiprocessor);
    *blocks = state->occupancy.value_or(std::min({by_threads, by_shared, most}));
    return Result::Success;
  });
}

}  // namespace mgemm::fake::calls
