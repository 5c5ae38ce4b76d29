#pragma once
#include <span>
#include <string>
#include <string_view>

#include "device/device.hpp"
#include "module/module_code.hpp"

namespace mgemm {

// That the kernels of a module have shown to compute their contract ("F32_FMA/1"), kept in the cache for exactly that
// machine code on that kind of board with that build of the driver. Of PTX nothing is kept: which code the driver makes
// of it is not known. Only success is.

bool is_verdict_kept(const LoadedModule& loaded, const DeviceFacts& facts, const std::string& contract,
                     std::span<const std::string_view> kernels, const std::string& cache_directory);

void keep_verdict(const LoadedModule& loaded, const DeviceFacts& facts, const std::string& contract,
                  std::span<const std::string_view> kernels, const std::string& cache_directory);

}  // namespace mgemm
