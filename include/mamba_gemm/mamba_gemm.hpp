// mamba_gemm.hpp - C++17 over the C interface of mamba_gemm.h: owners for its handles, exceptions for its statuses.
//
// Header-only and optional: it adds nothing to the library, and the handles it owns can be passed to any C function
// with handle(). What a function does, and which errors it gives, is written at the C function of the same name.
//
//   mamba_gemm::Context context = mamba_gemm::Context::reference();
//   mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:256x768x512");
//   mamba_gemm::Buffer x(context, 256 * 768 * 4), w(context, 768 * 512 * 4), y(context, 256 * 512 * 4);
//   x.upload(x_values.data(), x.bytes());
//   w.upload(w_values.data(), w.bytes());
//   mamba_gemm::Launch launch(context, problem, mamba_gemm::operands(x.address(), w.address(), y.address()));
//   launch.run();
//   y.download(y_values.data(), y.bytes());
//
// Owners are move-only, and an owner that was moved from holds nothing. Handles are numbers that the library checks, so
// a context may end before its plans, launches and buffers: their own ends are harmless then. Destructors ignore
// errors.
#ifndef MAMBA_GEMM_HPP
#define MAMBA_GEMM_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "mamba_gemm/mamba_gemm.h"

namespace mamba_gemm {

// ---- Errors ---------------------------------------------------------------------------------------------------------

/// A call failed: what() is the text of mgemm_last_error().
class Error : public std::runtime_error {
 public:
  Error(mgemm_status status, const std::string& text, std::int32_t driver_code = 0)
      : std::runtime_error(text), status_(status), driver_code_(driver_code) {}

  mgemm_status status() const noexcept { return status_; }
  /// For example "MGEMM_NO_COMPILER".
  const char* status_name() const noexcept { return mgemm_status_name(status_); }
  /// One of MGEMM_CLASS_*.
  std::int32_t status_class() const noexcept { return mgemm_status_class(status_); }
  /// The CUDA driver's or NVRTC's own code, 0 if the failure did not come from them.
  std::int32_t driver_code() const noexcept { return driver_code_; }

 private:
  mgemm_status status_;
  std::int32_t driver_code_;
};

/// Throws what the calling thread's latest call left behind, unless it succeeded.
inline void check(mgemm_status status) {
  if (status != MGEMM_OK) throw Error(status, mgemm_last_error(), mgemm_last_driver_code());
}

/// Calls a function that fills a buffer, `call(buffer, capacity, &needed)`, for its size and then for its bytes.
template <typename Call>
std::string read_bytes(Call&& call) {
  std::size_t needed = 0;
  check(call(static_cast<char*>(nullptr), std::size_t{0}, &needed));
  for (;;) {
    std::string bytes(needed, '\0');
    const mgemm_status status = call(bytes.data(), bytes.size(), &needed);
    // Of what changes by itself, such as a cache, there may be more by now.
    if (status == MGEMM_INVALID_ARGUMENT && needed > bytes.size()) continue;
    check(status);
    bytes.resize(needed);
    return bytes;
  }
}

/// The same for a function of the string rule, for its text.
template <typename Call>
std::string read_text(Call&& call) {
  std::string text = read_bytes(std::forward<Call>(call));
  if (!text.empty()) text.pop_back();  // the NUL
  return text;
}

// ---- Process --------------------------------------------------------------------------------------------------------

/// Whether the library that was loaded is of the release this header is of.
inline bool version_matches() noexcept {
  return mgemm_version_number() == MGEMM_VERSION_MAJOR * 10000U + MGEMM_VERSION_MINOR * 100U + MGEMM_VERSION_PATCH;
}

inline std::int32_t device_count() {
  std::int32_t count = 0;
  check(mgemm_device_count(&count));
  return count;
}

inline std::string environment_json() { return read_text(mgemm_environment_json); }

// ---- Cache ----------------------------------------------------------------------------------------------------------
// `directory` is the C functions' cache_dir: nullptr is by the environment.

/// "" if there is none.
inline std::string cache_path() { return read_text(mgemm_cache_path); }

/// Calls `visit(const mgemm_kernel_info&)` for every kernel on the targets. What it throws stops it and is thrown on.
template <typename Visit>
void for_each_kernel(const std::string& targets, bool compile, Visit&& visit, const char* cache_dir = nullptr,
                     std::int32_t threads = 0) {
  struct Call {
    Visit& visit;
    std::exception_ptr failure;
  } call{visit, nullptr};
  const auto each = [](const mgemm_kernel_info* kernel, void* user) -> std::int32_t {
    auto& to = *static_cast<Call*>(user);
    try {
      to.visit(*kernel);
      return 0;
    } catch (...) {
      to.failure = std::current_exception();
      return 1;
    }
  };
  const mgemm_status status = mgemm_kernels(targets.c_str(), compile ? 1 : 0, threads, cache_dir, each, &call);
  if (call.failure) std::rethrow_exception(call.failure);
  check(status);
}

/// What the cache has done in this process.
inline mgemm_cache_counters cache_counters() {
  mgemm_cache_counters counters{};
  counters.struct_size = sizeof counters;
  check(mgemm_cache_get_counters(&counters));
  return counters;
}

inline std::string cache_list_json(const char* directory = nullptr) {
  return read_text([directory](char* buffer, std::size_t capacity, std::size_t* needed) {
    return mgemm_cache_list_json(directory, buffer, capacity, needed);
  });
}

inline std::string cache_totals_json(const char* directory = nullptr) {
  return read_text([directory](char* buffer, std::size_t capacity, std::size_t* needed) {
    return mgemm_cache_totals_json(directory, buffer, capacity, needed);
  });
}

/// The bytes of one entry.
inline std::string cache_payload(const std::string& key, std::int32_t kind, const char* directory = nullptr) {
  return read_bytes([&key, kind, directory](char* buffer, std::size_t capacity, std::size_t* needed) {
    return mgemm_cache_payload(directory, key.c_str(), kind, buffer, capacity, needed);
  });
}

inline mgemm_cache_report cache_verify(bool repair, const char* directory = nullptr) {
  mgemm_cache_report report{};
  report.struct_size = sizeof report;
  check(mgemm_cache_verify(directory, repair ? 1 : 0, &report));
  return report;
}

/// `older_than_seconds` -1: all entries.
inline mgemm_cache_report cache_purge(std::int64_t older_than_seconds, const char* directory = nullptr) {
  mgemm_cache_report report{};
  report.struct_size = sizeof report;
  check(mgemm_cache_purge(directory, older_than_seconds, &report));
  return report;
}

// ---- Elements -------------------------------------------------------------------------------------------------------

constexpr bool is_half(std::int32_t type) { return type == MGEMM_TYPE_BF16 || type == MGEMM_TYPE_F16; }
/// Bytes of an element of an MGEMM_TYPE_*.
constexpr std::int64_t element_bytes(std::int32_t type) { return is_half(type) ? 2 : 4; }

namespace detail {
/// A half type: its sign bit lies above exponent and fraction.
struct Half {
  int fraction_bits, smallest_exponent, largest_exponent;
  constexpr std::uint32_t infinity() const {
    return static_cast<std::uint32_t>(largest_exponent - smallest_exponent + 2) << static_cast<unsigned>(fraction_bits);
  }
};
constexpr Half half_of(std::int32_t type) { return type == MGEMM_TYPE_BF16 ? Half{7, -126, 127} : Half{10, -14, 15}; }
}  // namespace detail

/// The bits of a value in MGEMM_TYPE_BF16 or MGEMM_TYPE_F16, rounded to nearest even; every NaN is 0x7fff.
inline std::uint16_t to_half(std::int32_t type, float value) {
  const detail::Half half = detail::half_of(type);
  if (std::isnan(value)) return 0x7fff;
  const std::uint32_t sign = std::signbit(value) ? 0x8000U : 0U;
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | half.infinity());
  // In units of the last place every representable number is an integer, and consecutive numbers have consecutive bits.
  const int exponent = value == 0 ? half.smallest_exponent : std::max(std::ilogb(value), half.smallest_exponent);
  const double units = std::nearbyint(std::ldexp(std::fabs(double{value}), half.fraction_bits - exponent));
  const auto below = static_cast<std::uint32_t>(exponent - half.smallest_exponent)
                     << static_cast<unsigned>(half.fraction_bits);
  return static_cast<std::uint16_t>(sign | std::min(below + static_cast<std::uint32_t>(units), half.infinity()));
}

/// The value of such bits; exact.
inline float from_half(std::int32_t type, std::uint16_t bits) {
  const detail::Half half = detail::half_of(type);
  const std::uint32_t magnitude = bits & 0x7fffU;
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  if (magnitude > half.infinity()) return std::numeric_limits<float>::quiet_NaN();
  if (magnitude == half.infinity()) return sign * std::numeric_limits<float>::infinity();
  const std::uint32_t field = magnitude >> static_cast<unsigned>(half.fraction_bits);
  const std::uint32_t below = (field > 1 ? field - 1 : 0) << static_cast<unsigned>(half.fraction_bits);
  return sign * std::ldexp(static_cast<float>(magnitude - below),
                           half.smallest_exponent + static_cast<int>(field > 1 ? field - 1 : 0) - half.fraction_bits);
}

// ---- Problems -------------------------------------------------------------------------------------------------------

/// `op` with its defaults, contiguous, of size (m, k, n). The output has the inputs' type where it can, and else f32.
inline mgemm_problem make_problem(std::int32_t op, std::int64_t m, std::int64_t k, std::int64_t n,
                                  std::int32_t type = MGEMM_TYPE_F32) {
  mgemm_problem problem{};
  check(mgemm_problem_init(&problem, sizeof problem, op));
  problem.in_type = type;
  if (is_half(type) && op != MGEMM_OP_TN) problem.out_type = type;
  problem.m = m;
  problem.k = k;
  problem.n = n;
  return problem;
}

inline mgemm_problem parse_problem(const std::string& text) {
  mgemm_problem problem{};
  check(mgemm_problem_from_string(&problem, sizeof problem, text.c_str()));
  return problem;
}

/// The problem string; also the way to check a problem.
inline std::string to_string(const mgemm_problem& problem) {
  return read_text([&problem](char* buffer, std::size_t capacity, std::size_t* needed) {
    return mgemm_problem_to_string(&problem, buffer, capacity, needed);
  });
}

inline mgemm_operands operands(std::uint64_t a, std::uint64_t b, std::uint64_t out, std::uint64_t bias = 0) noexcept {
  mgemm_operands result{};
  result.struct_size = sizeof result;
  result.a = a;
  result.b = b;
  result.bias = bias;
  result.out = out;
  return result;
}

/// A host pointer as the address a reference context takes.
inline std::uint64_t host_address(const void* pointer) noexcept { return reinterpret_cast<std::uintptr_t>(pointer); }

// ---- Handles --------------------------------------------------------------------------------------------------------

/// Owns one handle; 0 is none.
template <mgemm_status (*Destroy)(std::uint64_t)>
class Handle {
 public:
  Handle() noexcept = default;
  explicit Handle(std::uint64_t value) noexcept : value_(value) {}
  Handle(Handle&& other) noexcept : value_(other.release()) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  std::uint64_t get() const noexcept { return value_; }
  std::uint64_t release() noexcept { return std::exchange(value_, 0); }
  void reset(std::uint64_t value = 0) noexcept {
    if (const std::uint64_t old = std::exchange(value_, value); old != 0) static_cast<void>(Destroy(old));
  }

 private:
  std::uint64_t value_ = 0;
};

/// One device, one current stream, its plans and allocations.
class Context {
 public:
  explicit Context(const mgemm_context_options& options) {
    mgemm_context context = 0;
    check(mgemm_context_create(&context, &options));
    handle_.reset(context);
  }

  /// The defaults of MGEMM_DEVICE_CUDA or MGEMM_DEVICE_REFERENCE, to change and to pass to the constructor.
  static mgemm_context_options options(std::int32_t device_kind) {
    mgemm_context_options result{};
    check(mgemm_context_options_init(&result, sizeof result, device_kind));
    return result;
  }

  static Context cuda(std::int32_t ordinal = 0) {
    mgemm_context_options chosen = options(MGEMM_DEVICE_CUDA);
    chosen.ordinal = ordinal;
    return Context(chosen);
  }

  /// The CPU; `threads` 0 means all that the process may run on, `profile` is whose contracts it follows.
  static Context reference(std::int32_t threads = 0, std::int32_t profile = MGEMM_PROFILE_SM90) {
    mgemm_context_options chosen = options(MGEMM_DEVICE_REFERENCE);
    chosen.threads = threads;
    chosen.profile = profile;
    return Context(chosen);
  }

  mgemm_context handle() const noexcept { return handle_.get(); }

  mgemm_device_info device_info() const {
    mgemm_device_info info{};
    info.struct_size = sizeof info;
    check(mgemm_context_device_info(handle(), &info));
    return info;
  }

  std::uint64_t stream() const {
    std::uint64_t result = 0;
    check(mgemm_context_stream(handle(), &result));
    return result;
  }

  void set_stream(std::uint64_t stream) { check(mgemm_context_set_stream(handle(), stream)); }
  void wait_stream(std::uint64_t stream) { check(mgemm_context_wait_stream(handle(), stream)); }
  void synchronize() { check(mgemm_context_synchronize(handle())); }

  /// Plan lookup, bind and run in one call.
  void gemm(const mgemm_problem& problem, const mgemm_operands& bound) {
    check(mgemm_gemm(handle(), &problem, &bound));
  }

 private:
  Handle<mgemm_context_destroy> handle_;
};

/// Memory of a context. One of 0 bytes holds nothing and has address 0.
class Buffer {
 public:
  Buffer() noexcept = default;
  Buffer(const Context& context, std::int64_t bytes) : context_(context.handle()), bytes_(bytes) {
    if (bytes != 0) check(mgemm_alloc(context_, bytes, &address_));
  }
  Buffer(Buffer&& other) noexcept
      : context_(std::exchange(other.context_, 0)),
        address_(std::exchange(other.address_, 0)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer taken(std::move(other));
    std::swap(context_, taken.context_);
    std::swap(address_, taken.address_);
    std::swap(bytes_, taken.bytes_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (address_ != 0) static_cast<void>(mgemm_free(context_, address_));
  }

  std::uint64_t address() const noexcept { return address_; }
  std::int64_t bytes() const noexcept { return bytes_; }

  /// The first `bytes` bytes, from and to the host. 0 is no call at all.
  void upload(const void* source, std::int64_t bytes) {
    if (bytes != 0) check(mgemm_upload(context_, address_, source, bytes));
  }
  void download(void* destination, std::int64_t bytes) const {
    if (bytes != 0) check(mgemm_download(context_, destination, address_, bytes));
  }

 private:
  mgemm_context context_ = 0;
  std::uint64_t address_ = 0;
  std::int64_t bytes_ = 0;
};

/// A problem made ready on a context, without addresses.
class Plan {
 public:
  Plan(const Context& context, const mgemm_problem& problem, std::int32_t alignment = 0) {
    mgemm_plan plan = 0;
    check(mgemm_plan_create(&plan, context.handle(), &problem, alignment));
    handle_.reset(plan);
  }

  mgemm_plan handle() const noexcept { return handle_.get(); }

  mgemm_description describe() const {
    mgemm_description description{};
    description.struct_size = sizeof description;
    check(mgemm_plan_describe(handle(), &description));
    return description;
  }

  std::string describe_json() const {
    return read_text([this](char* buffer, std::size_t capacity, std::size_t* needed) {
      return mgemm_plan_describe_json(handle(), buffer, capacity, needed);
    });
  }

 private:
  Handle<mgemm_plan_destroy> handle_;
};

/// A plan bound to operands, to be run many times.
class Launch {
 public:
  Launch(const Plan& plan, const mgemm_operands& bound) {
    mgemm_launch launch = 0;
    check(mgemm_launch_create(&launch, plan.handle(), &bound));
    handle_.reset(launch);
  }

  /// mgemm_prepare: the plan and the launch at once.
  Launch(const Context& context, const mgemm_problem& problem, const mgemm_operands& bound) {
    mgemm_launch launch = 0;
    check(mgemm_prepare(&launch, context.handle(), &problem, &bound));
    handle_.reset(launch);
  }

  mgemm_launch handle() const noexcept { return handle_.get(); }

  void bind(const mgemm_operands& bound) { check(mgemm_launch_bind(handle(), &bound)); }
  void run() { check(mgemm_launch_run(handle())); }
  void run_on(std::uint64_t stream) { check(mgemm_launch_run_on(handle(), stream)); }
  void validate() const { check(mgemm_launch_validate(handle())); }

  /// A shadow run. Differing bits are not an exception here: look at `mismatches`.
  mgemm_verify_report verify(std::int64_t samples, std::uint64_t seed) const {
    mgemm_verify_report report{};
    report.struct_size = sizeof report;
    const mgemm_status status = mgemm_launch_verify(handle(), samples, seed, &report);
    if (status != MGEMM_MISMATCH) check(status);
    return report;
  }

  mgemm_description describe() const {
    mgemm_description description{};
    description.struct_size = sizeof description;
    check(mgemm_launch_describe(handle(), &description));
    return description;
  }

  std::string describe_json() const {
    return read_text([this](char* buffer, std::size_t capacity, std::size_t* needed) {
      return mgemm_launch_describe_json(handle(), buffer, capacity, needed);
    });
  }

 private:
  Handle<mgemm_launch_destroy> handle_;
};

}  // namespace mamba_gemm

#endif  // MAMBA_GEMM_HPP
