// PTX of a test's own in the place of a module of the catalogue, by way of the cache: the library's whole path from
// there on, with its driver's compiler, admission and qualification.
#pragma once
#include <stdexcept>
#include <string>

#include "cache/store.hpp"
#include "catalogue/embedded.hpp"
#include "compile/artifact.hpp"
#include "compile/compiler.hpp"
#include "compile/nvrtc_load.hpp"
#include "module/loader.hpp"
#include "support/environment.hpp"
#include "support/temp_folder.hpp"

namespace mgemm::test {

/// A cache in which the module of a row is a given text, whose kernel has the row's symbol; and no machine code.
class PlantedModule {
 public:
  PlantedModule(const CudaDevice& device, const KernelRow& row, const std::string& text) : row_(row) {
    const DeviceFacts& facts = device.facts();
    const Artifact made =
        ptx_of({row.module.view(), facts.compute_major, facts.compute_minor, facts.driver_version, cache_});
    Store& store = store_for(cache_);
    auto entry = store.load(made.key, Kind::ptx);
    if (!entry) throw std::logic_error("the PTX is not in the cache");
    entry->payload = compile(nvrtc(facts.driver_version), {std::string(row.module.view()), text, embedded_files(),
                                                           target_for(facts.compute_major, facts.compute_minor)})
                         .ptx;
    if (!store.keep(*entry)) throw std::logic_error("the cache does not keep what is planted");
  }

  /// In the device's CUDA context, which must not have the module yet.
  LoadedKernel load(CudaDevice& device) const { return load_kernel(device, row_, cache_); }

 private:
  const KernelRow& row_;
  TempFolder folder_;
  std::string cache_ = (folder_.path() / "cache").string();
  Variable helper_{"MAMBA_GEMM_HELPER", "off"};
};

}  // namespace mgemm::test
