#include "device.hpp"

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "failure.hpp"

namespace mgemm::cli {
namespace {

mamba_gemm::Buffer uploaded(const mamba_gemm::Context& context, const Array& values) {
  const auto bytes = static_cast<std::int64_t>(values.bytes().size());
  mamba_gemm::Buffer buffer(context, bytes);
  buffer.upload(values.bytes().data(), bytes);
  return buffer;
}

}  // namespace

DeviceChoice parse_device(const std::string& text) {
  using Kind = DeviceChoice::Kind;
  if (text == "auto") return {};
  if (text == "reference" || text == "reference:sm90") return {Kind::reference};
  if (text == "reference:sm80") return {Kind::reference, 0, MGEMM_PROFILE_SM80};
  if (text == "cuda") return {Kind::cuda};
  constexpr std::string_view prefix = "cuda:";
  if (text.starts_with(prefix)) {
    std::int32_t ordinal = -1;
    const char* const end = text.data() + text.size();
    const std::from_chars_result result = std::from_chars(text.data() + prefix.size(), end, ordinal);
    if (result.ec == std::errc{} && result.ptr == end && ordinal >= 0) return {Kind::cuda, ordinal};
  }
  bad_input("--device {}: must be auto, cuda, cuda:N, reference, reference:sm90 or reference:sm80", text);
}

mamba_gemm::Context open_context(const DeviceChoice& choice, std::int32_t threads) {
  const bool cuda = choice.kind == DeviceChoice::Kind::cuda ||
                    (choice.kind == DeviceChoice::Kind::automatic && mamba_gemm::device_count() > 0);
  mgemm_context_options options = mamba_gemm::Context::options(cuda ? MGEMM_DEVICE_CUDA : MGEMM_DEVICE_REFERENCE);
  options.ordinal = choice.ordinal;
  if (!cuda) options.profile = choice.profile;
  options.threads = threads;
  return mamba_gemm::Context(options);
}

BoundProduct bind(const mamba_gemm::Context& context, const HostOperands& operands) {
  mamba_gemm::Buffer a = uploaded(context, operands.a);
  mamba_gemm::Buffer b = uploaded(context, operands.b);
  mamba_gemm::Buffer bias = uploaded(context, operands.bias);
  mamba_gemm::Buffer out = uploaded(context, operands.old);
  mamba_gemm::Launch launch(context, operands.problem,
                            mamba_gemm::operands(a.address(), b.address(), out.address(), bias.address()));
  return {std::move(a), std::move(b), std::move(bias), std::move(out), std::move(launch)};
}

}  // namespace mgemm::cli
