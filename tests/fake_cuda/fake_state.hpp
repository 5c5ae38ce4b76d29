// What the fake driver keeps, shared by the files that implement its calls.
#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "fake_cuda/fake_driver.hpp"
#include "fake_cuda/ptx_text.hpp"

struct CUctx_st {
  mgemm::cuda::Device device = 0;
  int retains = 0;
  unsigned long long id = 0;
  bool primary = false;
};
struct CUstream_st {
  CUctx_st* context = nullptr;
};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
};
struct CUmod_st {
  mgemm::cuda::Context context = nullptr;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};
struct CUfunc_st {
  std::string name;
  std::vector<mgemm::fake::Parameter> parameters;
  std::map<mgemm::cuda::FunctionAttribute, int> attributes;
};

namespace mgemm::fake::calls {

using cuda::Result;

struct Allocation {
  std::size_t bytes = 0;
  cuda::Context context = nullptr;
  unsigned long long id = 0;
};

struct Injection {
  int calls_left = 0;
  Result result = Result::Success;
};

struct State {
  std::vector<DeviceFacts> devices;
  int version = 13000;
  std::map<std::string, int> calls;
  std::vector<std::string> sequence;  // of those calls, since it was taken
  std::multimap<std::string, Injection> injections;
  Injection injection;  // of all calls; none left: nothing fails
  std::string failed_call;
  Result poison = Result::Success;
  std::map<cuda::Device, std::unique_ptr<CUctx_st>> primaries;
  std::vector<std::unique_ptr<CUctx_st>> contexts;
  std::map<cuda::Stream, std::unique_ptr<CUstream_st>> streams;
  std::map<cuda::Event, std::unique_ptr<CUevent_st>> events;
  std::map<cuda::DevicePtr, Allocation> allocations;
  std::map<cuda::Module, std::unique_ptr<CUmod_st>> modules;
  std::vector<Launch> launches;
  std::function<void(const Launch&)> hook;
  std::map<std::string, std::map<cuda::FunctionAttribute, int>> function_attributes;
  std::map<cuda::Stream, cuda::CaptureStatus> capture;
  std::string compiler_log;
  std::optional<int> occupancy;
};

// Never given twice in a process, as cuCtxGetId promises.
inline unsigned long long next_id = 1;

inline std::recursive_mutex mutex;  // guards *state
inline std::unique_ptr<State> state;
inline int generation = 0;

/// Per thread, and emptied when the fake is made anew.
struct Stack {
  std::vector<cuda::Context> contexts;
  int generation = -1;
};
inline thread_local Stack stack;

inline std::vector<cuda::Context>& current_stack() {
  if (stack.generation != generation) stack = {{}, generation};
  return stack.contexts;
}

inline cuda::Context current() { return current_stack().empty() ? nullptr : current_stack().back(); }

/// Runs one call of the driver: counts it, fails it if that was asked for, and holds the lock.
template <typename Body>
Result call(const char* name, Body body) {
  const std::lock_guard lock(mutex);
  if (!state) return Result::Deinitialized;
  ++state->calls[name];
  state->sequence.emplace_back(name);
  if (state->injection.calls_left > 0 && --state->injection.calls_left == 0) {
    state->failed_call = name;
    return state->injection.result;
  }
  const auto [first, last] = state->injections.equal_range(name);
  for (auto entry = first; entry != last;) {
    if (--entry->second.calls_left > 0) {
      ++entry;
      continue;
    }
    const Result result = entry->second.result;
    state->injections.erase(entry);
    return result;
  }
  return body();
}

/// The same for calls that need a current context.
template <typename Body>
Result context_call(const char* name, Body body) {
  return call(name, [&]() -> Result {
    if (state->poison != Result::Success) return state->poison;
    if (current() == nullptr) return Result::InvalidContext;
    return body();
  });
}

inline bool is_device(cuda::Device device) { return device >= 0 && device < static_cast<int>(state->devices.size()); }

inline const DeviceFacts& facts(cuda::Device device) { return state->devices.at(static_cast<std::size_t>(device)); }

inline int fact(cuda::Device device, cuda::DeviceAttribute attribute) {
  const auto& attributes = facts(device).attributes;
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? 0 : found->second;
}

inline bool is_context(cuda::Context context) {
  const auto same = [&](const std::unique_ptr<CUctx_st>& known) { return known.get() == context; };
  if (std::ranges::any_of(state->contexts, same)) return true;
  return std::ranges::any_of(state->primaries, [&](const auto& entry) { return same(entry.second); });
}

/// 0 is the legacy default stream of the current context.
inline bool is_stream(cuda::Stream stream) { return stream == nullptr || state->streams.contains(stream); }

/// The allocation that holds all of [address, address + bytes).
inline const Allocation* allocation_of(cuda::DevicePtr address, std::size_t bytes, cuda::DevicePtr* start = nullptr) {
  auto next = state->allocations.upper_bound(address);
  if (next == state->allocations.begin()) return nullptr;
  const auto& [base, allocation] = *std::prev(next);
  const std::size_t offset = address - base;
  if (offset > allocation.bytes || bytes > allocation.bytes - offset) return nullptr;
  if (start != nullptr) *start = base;
  return &allocation;
}

inline bool is_device_range(cuda::DevicePtr address, std::size_t bytes) {
  return bytes == 0 || allocation_of(address, bytes) != nullptr;
}

inline void* host(cuda::DevicePtr address) { return reinterpret_cast<void*>(address); }

inline CUfunc_st* function_of(cuda::Function function) {
  for (const auto& [handle, module] : state->modules) {
    for (const auto& known : module->functions) {
      if (known.get() == function) return known.get();
    }
  }
  return nullptr;
}

/// A context that is current nowhere.
std::unique_ptr<CUctx_st> new_context(cuda::Device device, bool primary);

}  // namespace mgemm::fake::calls
