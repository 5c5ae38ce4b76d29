// The arithmetic of this board's tensor cores against the contracts' model, step by step: chains of fused sums over
// every class of numbers, by mma.sync and, where there is one, by wgmma.
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/core.h>

#include "catalogue/embedded.hpp"
#include "compile/compiler.hpp"
#include "context/context.hpp"
#include "device/current_context.hpp"
#include "gpu/gpu.hpp"
#include "module/tensor_probe.hpp"
#include "numeric/contract.hpp"
#include "numeric/encoding.hpp"
#include "support/float_classes.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

// A tile is 64 rows by 8 columns, `steps` groups deep. Words of a are [tile][step][64][8], of b [tile][step][8][8]: a
// word is two halves or one tf32, and a group 8 words long. c and d are [tile][64][8].
constexpr std::int64_t tile_rows = 64;
constexpr std::int64_t tile_columns = 8;
constexpr std::int64_t group_words = 8;

constexpr const char* by_mma = R"(
#include "mma.cuh"
using namespace mgemm_kernel;
template <int TYPE>
__device__ void run(const unsigned* a, const unsigned* b, const float* c, float* d, int steps) {
  const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, first = threadIdx.x / 32 * 16;
  const long long tile = blockIdx.x;
  const long long out = tile * 512 + (first + g) * 8 + 2 * q;
  float v[4] = {c[out], c[out + 1], c[out + 64], c[out + 65]};
  for (int step = 0; step < steps; ++step) {
    const unsigned* const x = a + ((tile * steps + step) * 64 + first + g) * 8 + q;
    const unsigned* const y = b + ((tile * steps + step) * 8 + g) * 8 + q;
    const unsigned fragment[4] = {x[0], x[64], x[4], x[68]};
    mma<TYPE>(v, fragment, y[0], y[4]);
  }
  d[out] = v[0];
  d[out + 1] = v[1];
  d[out + 64] = v[2];
  d[out + 65] = v[3];
}
)";

// Shared memory holds core matrices of 8 rows of 16 bytes without a swizzle; the descriptors' strides are between core
// matrices along the reduction and along rows (PTX ISA, "Matrix Descriptor Format" of wgmma).
constexpr const char* by_wgmma = R"(
#include "gemm_params.h"
using namespace mgemm_kernel;
template <int TYPE>
__device__ void multiply(float (&v)[4], unsigned long long a, unsigned long long b) {
  if constexpr (TYPE == BF16) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3]) : "l"(a), "l"(b));
  } else if constexpr (TYPE == F16) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3]) : "l"(a), "l"(b));
  } else {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %5, 1, 1, 1;"
                 : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3]) : "l"(a), "l"(b));
  }
}
__device__ unsigned long long descriptor(const void* shared, unsigned along_reduction, unsigned along_rows) {
  const unsigned long long address = __cvta_generic_to_shared(shared);
  return (address >> 4 & 0x3fff) | static_cast<unsigned long long>(along_reduction >> 4) << 16 |
         static_cast<unsigned long long>(along_rows >> 4) << 32;
}
template <int TYPE>
__device__ void run(const unsigned* a, const unsigned* b, const float* c, float* d, int steps) {
  __shared__ alignas(128) unsigned shared_a[512];
  __shared__ alignas(128) unsigned shared_b[64];
  const int lane = threadIdx.x % 32, g = lane / 4, q = lane % 4, first = threadIdx.x / 32 * 16;
  const long long tile = blockIdx.x;
  const long long out = tile * 512 + (first + g) * 8 + 2 * q;
  float v[4] = {c[out], c[out + 1], c[out + 64], c[out + 65]};
  for (int step = 0; step < steps; ++step) {
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += 128) {
      shared_a[i % 8 / 4 * 256 + i / 8 * 4 + i % 4] = a[(tile * steps + step) * 512 + i];
    }
    if (threadIdx.x < 64) {
      const int i = threadIdx.x;
      shared_b[i % 8 / 4 * 32 + i / 8 * 4 + i % 4] = b[(tile * steps + step) * 64 + i];
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    multiply<TYPE>(v, descriptor(shared_a, 1024, 128), descriptor(shared_b, 128, 128));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3])::"memory");
  }
  d[out] = v[0];
  d[out + 1] = v[1];
  d[out + 64] = v[2];
  d[out + 65] = v[3];
}
)";

// Everything in one parameter, as the library's launches have it.
constexpr const char* entries = R"(
struct Chains {
  const unsigned *a, *b;
  const float* c;
  float* d;
  int steps;
};
extern "C" __global__ void chains_2(Chains p) { run<BF16>(p.a, p.b, p.c, p.d, p.steps); }
extern "C" __global__ void chains_3(Chains p) { run<F16>(p.a, p.b, p.c, p.d, p.steps); }
extern "C" __global__ void chains_4(Chains p) { run<TF32>(p.a, p.b, p.c, p.d, p.steps); }
)";

struct Chains {
  Type type{};
  int steps = 0;
  std::vector<std::uint32_t> a, b;
  std::vector<float> c;
};

constexpr std::int64_t tiles = 48;

float some_accumulator(Random& random, float scale) {
  switch (uniform(random, 0, 5)) {
    case 0:
      return uniform(random, 0, 1) == 0 ? 0.0F : -0.0F;
    case 1:  // subnormal
      return std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0x807fffffU));
    case 2:  // what cancels with sums of small numbers
      return static_cast<float>(uniform(random, -32, 31));
    case 3:  // anything finite
      return std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0xff7fffffU));
    default:
      return scale * std::normal_distribution<float>()(random);
  }
}

std::uint32_t some_word(Random& random, Type type, const NumberClass& from) {
  if (type == Type::tf32) return round_to_tf32(draw(random, type, from));
  return draw(random, type, from) | draw(random, type, from) << 16U;
}

Chains some_chains(Random& random, Type type, const NumberClass& from, int steps) {
  Chains chains{type, steps, {}, {}, {}};
  for (std::int64_t i = 0; i < tiles * steps * tile_rows * group_words; ++i) {
    chains.a.push_back(some_word(random, type, from));
  }
  for (std::int64_t i = 0; i < tiles * steps * tile_columns * group_words; ++i) {
    chains.b.push_back(some_word(random, type, from));
  }
  for (std::int64_t i = 0; i < tiles * tile_rows * tile_columns; ++i) {
    chains.c.push_back(some_accumulator(random, from.accumulator));
  }
  return chains;
}

/// A group's words as fused_sum() reads them.
template <Type type, Side side>
std::vector<std::uint32_t> encoded(const std::uint32_t* words) {
  std::vector<std::uint32_t> result;
  for (std::int64_t i = 0; i < group_words; ++i) {
    if constexpr (type == Type::tf32) {
      result.push_back(Encoding<type, side>::encode(words[i]));
    } else {
      for (const unsigned shift : {0U, 16U}) {
        result.push_back(Encoding<type, side>::encode(static_cast<std::uint16_t>(words[i] >> shift)));
      }
    }
  }
  return result;
}

template <Type type>
std::vector<float> modelled(const Chains& chains, const TensorSet& set) {
  const FusedSum sum = fused_sums[static_cast<size_t>(contract_for(type, set).arithmetic)];
  std::vector<float> result = chains.c;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    for (std::int64_t step = 0; step < chains.steps; ++step) {
      const std::int64_t group = tile * chains.steps + step;
      std::vector<std::vector<std::uint32_t>> columns;
      for (std::int64_t j = 0; j < tile_columns; ++j) {
        columns.push_back(encoded<type, Side::b>(chains.b.data() + (group * tile_columns + j) * group_words));
      }
      for (std::int64_t i = 0; i < tile_rows; ++i) {
        const auto row = encoded<type, Side::a>(chains.a.data() + (group * tile_rows + i) * group_words);
        for (std::int64_t j = 0; j < tile_columns; ++j) {
          float& value = result[static_cast<size_t>((tile * tile_rows + i) * tile_columns + j)];
          const std::vector<std::uint32_t>& column = columns[static_cast<size_t>(j)];
          for (size_t first = 0; first < row.size(); first += static_cast<size_t>(sum.terms)) {
            value = fused_sum(sum, value, row.data() + first, 1, column.data() + first, 1);
          }
        }
      }
    }
  }
  return result;
}

std::vector<float> modelled(const Chains& chains, const TensorSet& set) {
  return chains.type == Type::bf16  ? modelled<Type::bf16>(chains, set)
         : chains.type == Type::f16 ? modelled<Type::f16>(chains, set)
                                    : modelled<Type::tf32>(chains, set);
}

/// Kernels of one source in the device's context, for a scope.
class ChainKernels {
 public:
  ChainKernels(CudaDevice& device, const char* text) : device_(device), current_(device.driver(), device.context()) {
    const DeviceFacts& facts = device.facts();
    const Compiled compiled =
        compile(nvrtc(facts.driver_version), {"chains", std::string(text) + entries, embedded_files(),
                                              target_for(facts.compute_major, facts.compute_minor)});
    check(device.driver().cuModuleLoadDataEx(&module_, compiled.ptx.c_str(), 0, nullptr, nullptr),
          "cuModuleLoadDataEx");
  }
  ~ChainKernels() { static_cast<void>(device_.driver().cuModuleUnload(module_)); }
  ChainKernels(const ChainKernels&) = delete;
  ChainKernels& operator=(const ChainKernels&) = delete;
  ChainKernels(ChainKernels&&) = delete;
  ChainKernels& operator=(ChainKernels&&) = delete;

  std::vector<float> run(const mamba_gemm::Context& context, const Chains& chains, Stream stream) const {
    const auto uploaded = [&](const auto& values) {
      mamba_gemm::Buffer buffer(context, static_cast<std::int64_t>(values.size() * 4));
      buffer.upload(values.data(), buffer.bytes());
      return buffer;
    };
    const auto a = uploaded(chains.a);
    const auto b = uploaded(chains.b);
    const auto c = uploaded(chains.c);
    const std::vector<std::uint32_t> poison(chains.c.size(), 0xffa5a5a5U);
    const auto d = uploaded(poison);
    const std::string symbol = "chains_" + std::to_string(static_cast<int>(chains.type));
    KernelLaunch launch;
    launch.symbol = symbol.c_str();
    cuda::Function function = nullptr;
    check(device_.driver().cuModuleGetFunction(&function, module_, symbol.c_str()), "cuModuleGetFunction");
    launch.function = function;
    launch.grid = {static_cast<std::uint32_t>(tiles), 1, 1};
    launch.block = {128, 1, 1};
    const std::array<std::uint64_t, 4> addresses{a.address(), b.address(), c.address(), d.address()};
    std::memcpy(launch.arguments.data(), addresses.data(), sizeof addresses);
    std::memcpy(launch.arguments.data() + sizeof addresses, &chains.steps, sizeof chains.steps);
    device_.enqueue(launch, stream);
    std::vector<float> result(chains.c.size());
    d.download(result.data(), d.bytes());
    return result;
  }

 private:
  CudaDevice& device_;
  CurrentContext current_;
  cuda::Module module_ = nullptr;
};

/// The first value that differs in its bits, with how many others do; "" if none does.
std::string first_difference(const std::vector<float>& got, const std::vector<float>& expected, const Chains& chains) {
  std::int64_t count = 0;
  std::string first;
  for (size_t i = 0; i < got.size(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(got[i]);
    const auto wanted = std::bit_cast<std::uint32_t>(expected[i]);
    if (bits == wanted) continue;
    if (count++ == 0) {
      first = fmt::format("element {} from {:#010x} is {:#010x} instead of {:#010x}", i,
                          std::bit_cast<std::uint32_t>(chains.c[i]), bits, wanted);
    }
  }
  return count == 0 ? first : fmt::format("{} values differ; {}", count, first);
}

void compare_with_model(const char* text) {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const auto gpu = mamba_gemm::Context::cuda();
  const auto [device, stream] = [&] {
    const auto context = contexts().lock(gpu.handle());
    return std::pair(context->cuda, context->stream);
  }();
  const ChainKernels kernels(*device, text);
  const TensorSet set = tensor_set_of(*device, "");
  for (const Type type : {Type::bf16, Type::f16, Type::tf32}) {
    for (const NumberClass& from : number_classes) {
      for (const int steps : {1, 4, 9}) {
        const Chains chains = some_chains(random, type, from, steps);
        CAPTURE(name_of(type), from.name, steps);
        REQUIRE(first_difference(kernels.run(gpu, chains, stream), modelled(chains, set), chains) == "");
      }
    }
  }
}

}  // namespace

// Catches a board whose tensor cores add in another way than the contract that its kernels are held to says.
TEST_CASE("mma.sync gives the bits of the contracts' fused sums") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  compare_with_model(by_mma);
}

// Catches an instruction set with other arithmetic than mma.sync's: kernels of both share contracts.
TEST_CASE("wgmma gives the bits of the contracts' fused sums") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  if (mamba_gemm::Context::cuda().device_info().compute_major != 9) MGEMM_SKIP("wgmma is for sm_90a");
  compare_with_model(by_wgmma);
}
