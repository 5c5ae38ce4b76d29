#include "api/description.hpp"

#include <algorithm>
#include <span>

#include <fmt/core.h>

#include "api/fields_json.hpp"
#include "device/device_identity.hpp"
#include "route/route_identity.hpp"

namespace mgemm {
namespace {

template <size_t size>
void copy_text(const std::string& text, char (&target)[size]) {
  text.copy(target, size - 1);
}

std::string hex(std::uint64_t address) { return fmt::format("{:#x}", address); }

void write_numbers(JsonWriter& json, std::span<const std::uint32_t> numbers) {
  json.array([&] {
    for (const std::uint32_t number : numbers) json.value(number);
  });
}

Identity route_of(const Context& context, const Plan& plan) {
  return route_identity(plan.problem, plan.contract, plan.kernel, device_identity(context.device->facts()),
                        plan.code.get());
}

void write_identity(JsonWriter& json, std::string_view name, const Identity& identity) {
  json.member(name, [&] {
    json.object([&] {
      json.member("sha256", to_hex(identity.digest()));
      json.member("fields", [&] { write_fields(json, identity.fields()); });
    });
  });
}

void write_identities(JsonWriter& json, const Context& context, const Plan& plan) {
  json.object([&] {
    write_identity(json, "route", route_of(context, plan));
    if (plan.code != nullptr) {
      write_identity(json, "source", plan.code->source);
      write_identity(json, "compiler", plan.code->compiler);
      write_identity(json, "artifact", plan.code->artifact);
    }
    write_identity(json, "device", device_identity(context.device->facts()));
    write_identity(json, "policy", policy_identity());
    write_identity(json, "contracts", contract_set_identity());
    write_identity(json, "tuning", tuning_identity());
  });
}

/// A kernel that would have been chosen before this one, and why it was not.
void write_passed_over(JsonWriter& json, const PassedOver& it) {
  json.object([&] {
    json.member("kernel", it.kernel);
    json.member("state", to_string(it.state));
    json.member("reason", it.reason);
  });
}

void write_qualification(JsonWriter& json, const Qualification& it) {
  json.object([&] {
    json.member("by", it.by_verdict ? "verdict" : "probes");
    json.member("microseconds", static_cast<std::int64_t>(1000 * it.milliseconds));
  });
}

void write_operands(JsonWriter& json, const mgemm_description& d) {
  json.object([&] {
    json.member("a", hex(d.a));
    json.member("b", hex(d.b));
    json.member("bias", hex(d.bias));
    json.member("out", hex(d.out));
  });
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
  d.profile = profile_of(plan.contract);
  copy_text(to_string(plan.problem), d.problem);
  copy_text(to_string(plan.contract), d.contract);
  copy_text(plan.kernel, d.kernel);
  copy_text(to_hex(route_of(context, plan).digest()), d.identity);
  return d;
}

std::string describe_json(const Context& context, const Plan& plan, const Work& work, const mgemm_operands& operands) {
  const mgemm_description d = describe(context, plan, work, operands);
  std::string text;
  JsonWriter json(text);
  json.object([&] {
    json.member("problem", d.problem);
    json.member("device", context.device->facts().name);
    json.member("contract", d.contract);
    json.member("profile", d.profile);
    json.member("slices", [&] {
      json.object([&] {
        json.member("count", plan.contract.slices.count);
        json.member("length", plan.contract.slices.length);
      });
    });
    json.member("kernel", d.kernel);
    json.member("grid", [&] { write_numbers(json, d.grid); });
    json.member("block", [&] { write_numbers(json, d.block); });
    json.member("shared_bytes", d.shared_bytes);
    json.member("alignment", d.alignment);
    json.member("scratch_bytes", d.scratch_bytes);
    json.member("identity", d.identity);
    if (plan.code != nullptr) json.member("qualification", [&] { write_qualification(json, plan.qualification); });
    json.member("passed_over", [&] {
      json.array([&] {
        for (const PassedOver& it : plan.passed_over) write_passed_over(json, it);
      });
    });
    json.member("identities", [&] { write_identities(json, context, plan); });
    if (operands.out != 0) json.member("operands", [&] { write_operands(json, d); });
  });
  return text;
}

}  // namespace mgemm
