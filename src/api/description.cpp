#include "api/description.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace mgemm {
namespace {

template <size_t size>
void copy_text(const std::string& text, char (&target)[size]) {
  text.copy(target, size - 1);
}

nlohmann::ordered_json identity_fields(const Identity& identity) {
  auto fields = nlohmann::ordered_json::object();
  for (const Identity::Field& field : identity.fields()) {
    fields[field.tag] = field.value ? nlohmann::ordered_json(*field.value) : nlohmann::ordered_json();
  }
  return fields;
}

}  // namespace

mgemm_description describe(const Context& context, const Plan& plan, const Work& work, const mgemm_operands& operands) {
  mgemm_description d{};
  d.struct_size = sizeof d;
  d.device_kind = context.device->facts().kind;
  d.slices = static_cast<std::int32_t>(plan.contract.slices.count);
  d.alignment = static_cast<std::uint32_t>(plan.alignment);
  d.a = operands.a;
  d.b = operands.b;
  d.bias = operands.bias;
  d.out = operands.out;
  if (const auto* const launch = std::get_if<KernelLaunch>(&work)) {
    std::copy(launch->grid.begin(), launch->grid.end(), d.grid);
    std::copy(launch->block.begin(), launch->block.end(), d.block);
    d.shared_bytes = launch->shared_bytes;
  }
  copy_text(to_string(plan.problem), d.problem);
  copy_text(to_string(plan.contract), d.contract);
  copy_text(plan.kernel, d.kernel);
  copy_text(to_hex(plan.digest), d.identity);
  return d;
}

std::string describe_json(const Context& context, const Plan& plan, const Work& work, const mgemm_operands& operands) {
  const mgemm_description d = describe(context, plan, work, operands);
  const auto hex = [](std::uint64_t address) { return fmt::format("{:#x}", address); };
  nlohmann::ordered_json json;
  json["problem"] = d.problem;
  json["device"] = context.device->facts().name;
  json["contract"] = d.contract;
  json["slices"] = {{"count", plan.contract.slices.count}, {"length", plan.contract.slices.length}};
  json["kernel"] = d.kernel;
  json["grid"] = d.grid;
  json["block"] = d.block;
  json["shared_bytes"] = d.shared_bytes;
  json["alignment"] = d.alignment;
  json["scratch_bytes"] = d.scratch_bytes;
  json["identity"] = d.identity;
  json["identity_fields"] = identity_fields(plan.identity.route);
  if (operands.out != 0) {
    json["operands"] = {{"a", hex(d.a)}, {"b", hex(d.b)}, {"bias", hex(d.bias)}, {"out", hex(d.out)}};
  }
  return json.dump();
}

}  // namespace mgemm
