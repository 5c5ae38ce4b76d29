// The same product again and again, while another stream keeps the board busy.
#include <array>

#include "gpu/gpu.hpp"
#include "support/device_product.hpp"

using namespace mgemm::test;
using mamba_gemm::Context;

namespace {

/// Products that keep every multiprocessor busy for about as long as those under test take.
class Load {
 public:
  explicit Load(Random& random)
      : context_(Context::cuda()),
        product_(make_device_product(random, mamba_gemm::parse_problem("nn:bf16:1024x1024x2048"),
                                     {.most_gap = 0, .most_shift = 0})),
        bound_(context_, product_),
        launch_(context_, product_.problem, bound_.operands()) {}
  void add() { launch_.run(); }
  void wait() { context_.synchronize(); }

 private:
  Context context_;
  DeviceProduct product_;
  BoundProduct bound_;
  mamba_gemm::Launch launch_;
};

}  // namespace

// Catches a race that shows only now and then: a stage or a barrier taken too early, sums of slices read before they
// are there, thread blocks whose order matters.
TEST_CASE("10000 runs beside another stream's give the same bits") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Context gpu = Context::cuda();
  const Context reference = reference_of_board();
  Load load(random);
  constexpr std::array problems{"nn:bf16:264x1544x776",   "nt:f16:264x776x1544",           "tn:bf16:520x264x776",
                                "tn:f16:2056x136x392",    "tn:bf16:2056x5120x192:out=f32", "nn:f16:520x776x264:out=f32",
                                "nt:bf16:1032x80x160",    "nn:bf16:48x1544x776",           "nn:tf32:264x776x264",
                                "nn:f32:264x776x264:bias"};
  const int each = rounds(10000) / static_cast<int>(problems.size());
  for (const char* const text : problems) {
    CAPTURE(text);
    const DeviceProduct product =
        make_device_product(random, mamba_gemm::parse_problem(text),
                            {.most_gap = 0, .most_shift = 0, .row_alignment = 8, .out_alignment = 8});
    const auto expected = run_on(reference, product);
    BoundProduct bound(gpu, product);
    mamba_gemm::Launch launch(gpu, product.problem, bound.operands());
    for (int run = 0; run < each; ++run) {
      if (run % 4 == 0) load.add();
      CAPTURE(run);
      bound.poison();
      launch.run();
      REQUIRE(bound.output() == expected);
    }
    load.wait();
  }
}
