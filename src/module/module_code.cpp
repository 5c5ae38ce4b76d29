#include "module/module_code.hpp"

#include <array>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/per_process.hpp"
#include "base/thread_pool.hpp"
#include "compile/assemble.hpp"
#include "compile/compiler.hpp"
#include "compile/helper_path.hpp"
#include "device/current_context.hpp"

namespace mgemm {
namespace {

struct Failure {
  std::string reason;
  bool crashed = false;  // the assembler died of it, and so would the driver's compiler
};

/// What could not be assembled in this process, and why: trying again could take minutes and end no better.
struct Failures {
  std::mutex mutex;
  std::map<std::string, Failure, std::less<>> known;  // by module and target
};
constinit PerProcess<Failures> failures;

std::string failure_key(const ModuleRequest& request) {
  return fmt::format("{} for {}", request.module, target_for(request.compute_major, request.compute_minor));
}

Failure earlier_failure(const ModuleRequest& request) {
  Failures& all = failures.get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.known.find(failure_key(request));
  return found == all.known.end() ? Failure() : found->second;
}

void note_failure(const ModuleRequest& request, const Failure& failure) {
  log(MGEMM_LOG_WARN, "no machine code of {}, {}: {}", request.module,
      failure.crashed ? "and its PTX is not used" : "using PTX", failure.reason);
  Failures& all = failures.get();
  const std::lock_guard lock(all.mutex);
  all.known.insert_or_assign(failure_key(request), failure);
}

/// What could be made of a module.
struct Code {
  std::optional<Artifact> machine_code;
  Failure no_machine_code;  // why there is none
  std::optional<Artifact> ptx;
  std::exception_ptr no_ptx;
};

void assemble_into(Code& code, const ModuleRequest& request) {
  const HelperLocation helper = find_helper(process_environment());
  code.no_machine_code = helper.path.empty() ? Failure{helper.reason} : earlier_failure(request);
  if (!code.no_machine_code.reason.empty()) {
    log(MGEMM_LOG_INFO, "no machine code of {}: {}", request.module, code.no_machine_code.reason);
    return;
  }
  try {
    code.machine_code = assemble_machine_code_of(request, helper.path);
  } catch (const std::exception& error) {
    code.no_machine_code = {error.what(), dynamic_cast<const AssemblerCrash*>(&error) != nullptr};
    note_failure(request, code.no_machine_code);
  }
}

void compile_into(Code& code, const ModuleRequest& request) noexcept {
  try {
    code.ptx = ptx_of(request);
  } catch (const std::exception& error) {
    log(MGEMM_LOG_INFO, "no PTX of {}: {}", request.module, error.what());
    code.no_ptx = std::current_exception();
  } catch (...) {
    code.no_ptx = std::current_exception();
  }
}

/// Both at once: one waits for another process most of the time. What the other thread logs is delivered by this one,
/// which may be holding messages back.
Code make_code(const ModuleRequest& request) {
  Code code;
  LogCapture assembling;
  LogCapture compiling;
  run_parallel(2, 2, [&](std::int64_t task, int) {
    if (task == 0) {
      compiling.run([&] { compile_into(code, request); });
    } else {
      assembling.run([&] { assemble_into(code, request); });
    }
  });
  compiling.deliver();
  assembling.deliver();
  return code;
}

/// Buffers for what the driver's compiler says.
struct JitLog {
  std::vector<char> errors = std::vector<char>(8192);
  std::vector<char> infos = std::vector<char>(65536);

  /// The driver takes an integer option by value in the pointer's place.
  static void* value(std::size_t number) { return reinterpret_cast<void*>(number); }
};

LoadedModule load_artifact(const DriverTable& driver, std::string_view name, const Artifact& artifact) {
  JitLog jit;
  std::array options{cuda::JitOption::ErrorLogBuffer, cuda::JitOption::ErrorLogBufferSizeBytes,
                     cuda::JitOption::InfoLogBuffer, cuda::JitOption::InfoLogBufferSizeBytes,
                     cuda::JitOption::LogVerbose};
  std::array<void*, options.size()> values{jit.errors.data(), JitLog::value(jit.errors.size()), jit.infos.data(),
                                           JitLog::value(jit.infos.size()), JitLog::value(1)};
  LoadedModule loaded{nullptr, artifact.identity, artifact.kind, artifact.digest, artifact.log};
  const cuda::Result result =
      driver.cuModuleLoadDataEx(&loaded.module, artifact.code.c_str(), options.size(), options.data(), values.data());
  check(result, "cuModuleLoadDataEx", "{} of module {}: {}", to_string(artifact.kind), name, jit.errors.data());
  if (artifact.kind == Kind::ptx) loaded.log = jit.infos.data();
  return loaded;
}

/// nullopt, and why, if the driver will not have it.
std::optional<LoadedModule> try_machine_code(const DriverTable& driver, const ModuleRequest& request,
                                             const Artifact& code, std::string& reason) {
  try {
    return load_artifact(driver, request.module, code);
  } catch (const Error& error) {
    if (error.status() != MGEMM_DRIVER) throw;
    forget(code, request);
    reason = error.what();
    log(MGEMM_LOG_WARN, "machine code dropped, using PTX this once: {}", reason);
    return std::nullopt;
  }
}

}  // namespace

LoadedModule load_module(CudaDevice& device, const ModuleRequest& request) {
  const DriverTable& driver = device.driver();
  Code code;
  if (!machine_code_is_off(process_environment())) code.machine_code = cached_machine_code_of(request);
  if (!code.machine_code) code = make_code(request);

  if (code.machine_code) {
    const CurrentContext current(driver, device.context());
    auto loaded = try_machine_code(driver, request, *code.machine_code, code.no_machine_code.reason);
    if (loaded) return *std::move(loaded);
  }
  if (code.no_machine_code.crashed) {
    fail(MGEMM_COMPILE,
         "NVRTC's assembler died of module {}, and the driver's compiler, made of the same parts, would take this "
         "process with it: {}",
         request.module, code.no_machine_code.reason);
  }
  if (!code.ptx && code.no_ptx == nullptr) code.ptx = ptx_of(request);
  if (!code.ptx) std::rethrow_exception(code.no_ptx);
  const CurrentContext current(driver, device.context());
  try {
    return load_artifact(driver, request.module, *code.ptx);
  } catch (const Error& error) {
    throw Error(error.status(), fmt::format("{} (no machine code: {})", error.what(), code.no_machine_code.reason),
                error.driver_code());
  }
}

}  // namespace mgemm
