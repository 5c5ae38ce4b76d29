// What `mamba-gemm modules` says of kernels that this machine does not have.
#include "modules_report.hpp"

#include <string>
#include <string_view>

#include "support/test.hpp"

using namespace mgemm::cli;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Json kernel(const char* name, std::int32_t state, const char* reason, std::int32_t registers = 0) {
  mgemm_kernel_info info{};
  info.kernel = name;
  info.module = "module";
  info.target = "sm_90a";
  info.reason = reason;
  info.state = state;
  info.threads = 128;
  info.shared_bytes = 1000;
  info.registers = registers;
  info.static_shared_bytes = 24;
  return kernel_json(info);
}

}  // namespace

// Catches a column that a long name pushes aside, numbers that are not known and shown, and a wrong count.
TEST_CASE("modules: the table is as wide as its names") {
  const Json report =
      modules_json({kernel("short", MGEMM_KERNEL_LISTED, ""), kernel("long_name", MGEMM_KERNEL_READY, "", 40),
                    kernel("a_name_of_more_than_forty_letters_for_a_kernel", MGEMM_KERNEL_EXCLUDED, "why", 255)});
  CHECK(modules_text(report, "") ==
        "target   kernel                                         threads registers spills  shared  state\n"
        "sm_90a   short                                              128         -      -    1000  listed\n"
        "sm_90a   long_name                                          128        40      0    1024  ready\n"
        "sm_90a   a_name_of_more_than_forty_letters_for_a_kernel     128       255      0    1024  excluded why\n"
        "3 kernels, 1 not to be used\n");
  CHECK_FALSE(has_failed(report));
  CHECK(modules_text(modules_json(Json::array()), "") ==
        "target   kernel threads registers spills  shared  state\n"
        "0 kernels, 0 not to be used\n");
}

// Catches a reason that is told again for every kernel, one that is lost beside another, and a missing remedy.
TEST_CASE("modules: a reason is told once") {
  const Json report =
      modules_json({kernel("a", MGEMM_KERNEL_FAILED, "no compiler"), kernel("b", MGEMM_KERNEL_FAILED, "no memory"),
                    kernel("c", MGEMM_KERNEL_FAILED, "no compiler"), kernel("d", MGEMM_KERNEL_READY, "", 40),
                    kernel("e", MGEMM_KERNEL_FAILED, "no memory")});
  CHECK(modules_text(report, "do this") ==
        "target   kernel threads registers spills  shared  state\n"
        "sm_90a   a          128         -      -    1000  failed [1] no compiler\n"
        "sm_90a   b          128         -      -    1000  failed [2] no memory\n"
        "sm_90a   c          128         -      -    1000  failed [1]\n"
        "sm_90a   d          128        40      0    1024  ready\n"
        "sm_90a   e          128         -      -    1000  failed [2]\n"
        "=> do this\n"
        "5 kernels, 4 not to be used\n");
  CHECK(has_failed(report));
  CHECK(report["entries"][2]["reason"] == "no compiler");
}

// Catches advice that is not the doctor's, and advice about the compiler where that is there.
TEST_CASE("modules: what to do where kernels do not compile") {
  const Json none{{"available", false}, {"oldest", "12.3"}};
  CHECK(contains(compile_remedy({{"nvrtc", none}}), "install NVRTC 12.3 or newer (pip install nvidia-cuda-nvrtc"));
  const Json blamed = Json::array({{{"name", "MAMBA_GEMM_NVRTC"}, {"reader", "library"}, {"problem", "is wrong"}}});
  CHECK(compile_remedy({{"nvrtc", none}, {"variables", blamed}}) == "correct MAMBA_GEMM_NVRTC, or unset it");
  for (const Json& other : {Json{{"nvrtc", {{"available", true}}}}, Json()})
    CHECK(contains(compile_remedy(other), "mamba-gemm doctor"));
}
