#include "compile/artifact.hpp"

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "cache/flight.hpp"
#include "cache/store.hpp"
#include "catalogue/embedded.hpp"
#include "compile/assemble.hpp"
#include "compile/compiler.hpp"
#include "compile/module_text.hpp"
#include "compile/nvrtc_choice.hpp"
#include "compile/nvrtc_mapped.hpp"
#include "compile/nvrtc_table.hpp"
#include "compile/source_identity.hpp"

namespace mgemm {
namespace {

/// All that decides what comes out, and the key of it.
struct Recipe {
  ChosenNvrtc nvrtc;
  std::string target;  // "compute_90a", whatever the kind
  NvrtcVariables variables;
  Kind kind = Kind::ptx;
  ArtifactIdentity identity;
  Digest key{};
};

Recipe recipe_of(const ModuleRequest& request, Kind kind, Store& store) {
  const bool as_ptx = kind == Kind::ptx;
  ChosenNvrtc nvrtc = choose_nvrtc(store, request.driver_version);
  std::string target = target_for(request.compute_major, request.compute_minor);
  const std::string output_target = as_ptx ? target : machine_target(target);
  NvrtcVariables variables = nvrtc_variables();
  Identity source = source_identity(request.module);
  Identity compiler =
      compiler_identity(nvrtc.version, nvrtc.content, output_target, compile_options(output_target, nvrtc.version),
                        as_ptx ? OutputKind::ptx : OutputKind::machine_code, variables);
  Identity artifact("mamba-gemm artifact", 1);
  artifact.add("source", source.digest()).add("compiler", compiler.digest());
  const Digest key = artifact.digest();
  return {std::move(nvrtc),
          std::move(target),
          std::move(variables),
          kind,
          {std::move(source), std::move(compiler), std::move(artifact)},
          key};
}

CompileRequest compile_request(const ModuleRequest& request, const Recipe& recipe) {
  return {std::string(request.module), module_text(request.module), embedded_files(), recipe.target};
}

/// What an entry says about where it came from: every field of its identities.
std::vector<Identity::Field> provenance(const ArtifactIdentity& identity) {
  std::vector<Identity::Field> fields = identity.artifact.fields();
  for (const Identity* part : {&identity.source, &identity.compiler}) {
    fields.insert(fields.end(), part->fields().begin(), part->fields().end());
  }
  return fields;
}

constexpr std::string_view log_tag = "assembler log";

Made made_of(const Recipe& recipe, std::string code, std::string reason_not_to_keep) {
  Entry entry;
  entry.fields = provenance(recipe.identity);
  entry.payload = std::move(code);
  if (nvrtc_variables() != recipe.variables) reason_not_to_keep = "NVRTC's variables were changed meanwhile";
  return {std::move(entry), std::move(reason_not_to_keep)};
}

Artifact artifact_from(Recipe recipe, Entry entry, bool from_cache) {
  Artifact artifact{recipe.kind, std::move(entry.payload), entry.payload_digest, std::move(recipe.identity), recipe.key,
                    from_cache};
  artifact.identity.artifact.add("output", entry.payload_digest);
  for (Identity::Field& field : entry.fields) {
    if (field.tag == log_tag) artifact.log = std::move(field.value).value_or("");
  }
  return artifact;
}

/// Thrown while making PTX if another NVRTC loaded than the file names promised; the next choice is of the loaded one.
struct OtherNvrtc {};

const NvrtcTable& table_for(const Recipe& recipe, int driver_version) {
  const NvrtcTable& table = nvrtc(driver_version);
  if (table.files != recipe.nvrtc.files || table.version != recipe.nvrtc.version) throw OtherNvrtc{};
  return table;
}

Made make_ptx(const ModuleRequest& request, const Recipe& recipe) {
  const NvrtcTable& table = table_for(recipe, request.driver_version);
  log(MGEMM_LOG_INFO, "compiling {} for {} with NVRTC {}", request.module, recipe.target, to_string(table.version));
  Compiled compiled = compile(table, compile_request(request, recipe));
  std::string reason = recipe.nvrtc.doubt;
  if (reason.empty()) {
    reason = reason_not_to_keep(recipe.nvrtc.files, reinterpret_cast<const void*>(table.nvrtcVersion));
  }
  return made_of(recipe, std::move(compiled.ptx), std::move(reason));
}

Made make_machine_code(const ModuleRequest& request, const Recipe& recipe, const std::string& helper) {
  if (!recipe.nvrtc.content) fail(MGEMM_COMPILE, "module {}: {}", request.module, recipe.nvrtc.doubt);
  const NvrtcCandidate candidate = candidate_of(recipe.nvrtc);
  log(MGEMM_LOG_INFO, "assembling {} for {} with NVRTC {} in {}", request.module, recipe.target,
      to_string(candidate.version), helper);
  AssembledModule assembled = assemble(helper, assemble_request(compile_request(request, recipe), candidate));
  // Another process opened those files by their paths, and nothing of what is mapped into this one matters: either they
  // are still the same, or it is not known what made this.
  if (nvrtc_files(candidate.path, candidate.builtins) != recipe.nvrtc.files) {
    fail(MGEMM_COMPILE, "module {}: {} was changed or replaced while it was in use", request.module, candidate.path);
  }
  Made made = made_of(recipe, std::move(assembled.code), {});
  made.entry.fields.push_back({std::string(log_tag), std::move(assembled.log)});
  return made;
}

using Maker = std::function<Made(const Recipe&)>;

/// `once` is make_once or make_missing.
template <typename Once>
Artifact artifact_by(const ModuleRequest& request, Kind kind, Once once, const Maker& make) {
  Store& store = store_for(request.cache_directory);
  Recipe recipe = recipe_of(request, kind, store);
  bool from_cache = true;
  // A key without NVRTC's content stands for more than one thing and is never looked up.
  Store& usable = recipe.nvrtc.content ? store : store_for("");
  Entry entry = once(
      usable, recipe.key, kind,
      [&] {
        from_cache = false;
        const auto start = std::chrono::steady_clock::now();
        Made made = make(recipe);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        log(MGEMM_LOG_INFO, "made {} of {} in {:.2f} s", to_string(kind), request.module, seconds.count());
        return made;
      },
      default_lock_bound);
  return artifact_from(std::move(recipe), std::move(entry), from_cache);
}

}  // namespace

Artifact ptx_of(const ModuleRequest& request) {
  const auto attempt = [&] {
    return artifact_by(request, Kind::ptx, make_once, [&](const Recipe& recipe) { return make_ptx(request, recipe); });
  };
  try {
    return attempt();
  } catch (const OtherNvrtc&) {
    return attempt();
  }
}

std::optional<Artifact> cached_machine_code_of(const ModuleRequest& request) {
  Store& store = store_for(request.cache_directory);
  if (store.open() == nullptr) return std::nullopt;
  Recipe recipe = recipe_of(request, Kind::machine_code, store);
  if (!recipe.nvrtc.content) return std::nullopt;
  std::optional<Entry> entry = store.load(recipe.key, Kind::machine_code);
  if (!entry) return std::nullopt;
  return artifact_from(std::move(recipe), *std::move(entry), true);
}

Artifact assemble_machine_code_of(const ModuleRequest& request, const std::string& helper) {
  return artifact_by(request, Kind::machine_code, make_missing,
                     [&](const Recipe& recipe) { return make_machine_code(request, recipe, helper); });
}

void forget(const Artifact& artifact, const ModuleRequest& request) {
  store_for(request.cache_directory).remove(artifact.key, artifact.kind);
}

}  // namespace mgemm
