// Which contracts the tensor cores of a board have: a small product by each type's instruction, compared with every
// known set.
#pragma once
#include <string>
#include <vector>

#include "device/cuda_device.hpp"
#include "module/probe.hpp"

namespace mgemm {

/// The products for one type: a b^T in f32, of ordinary numbers spread over many exponents, and with infinities, NaNs,
/// -0, subnormals and overflow. Contracts are those of `set`; operands and sizes do not depend on it.
std::vector<Probe> tensor_probes(Type type, const TensorSet& set);

/// The operands of one in memory.
ProbeBlock tensor_block(const Probe& probe);

/// The set of the device, found out by the first call in its CUDA context and known from then on; the module is made
/// through the cache folder ("" for none) and not kept loaded. MGEMM_UNSUPPORTED, with what differs, if the board's is
/// no known one: also known from then on. What else goes wrong (no compiler, no memory, a launch that fails) is thrown
/// as what it is, and the next call tries again. Not in capture. Any number of threads.
const TensorSet& tensor_set_of(CudaDevice& device, const std::string& cache_directory);

/// The same where tensor cores have a part in products of the type; otherwise any set, since none has.
const TensorSet& tensor_set_for(Type type, CudaDevice& device, const std::string& cache_directory);

}  // namespace mgemm
