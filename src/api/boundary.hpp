// What every C entry point does: catch, translate, and nothing else.
#pragma once
#include <cstring>
#include <new>
#include <string_view>

#include "base/error.hpp"
#include "base/last_error.hpp"
#include "launch/launch.hpp"
#include "numeric/float_environment.hpp"

namespace mgemm {

/// Runs `body` and turns whatever it throws into a status and the thread's last error.
template <typename Body>
mgemm_status guarded(Body&& body) noexcept {
  // The caller's rounding mode, flushing and traps must not reach a comparison or a conversion of ours either.
  const FloatEnvironment environment;
  try {
    body();
    return MGEMM_OK;
  } catch (const Error& error) {
    set_last_error(error.what(), error.driver_code());
    return error.status();
  } catch (const std::bad_alloc&) {
    set_last_error("out of host memory", 0);
    return MGEMM_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    set_last_error(error.what(), 0);
    return MGEMM_INTERNAL;
  } catch (...) {
    set_last_error("an unknown exception", 0);
    return MGEMM_INTERNAL;
  }
}

template <typename T>
void require_not_null(const T* pointer, const char* name) {
  if (pointer == nullptr) invalid("{} is NULL", name);
}

/// No structure of this interface will ever be larger; a larger size is a mistake and not worth reading.
constexpr size_t largest_struct = 65536;

template <typename T>
size_t checked_struct_size(const T* given, const char* name) {
  require_not_null(given, name);
  size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof(T) || size > largest_struct) {
    invalid("{}.struct_size is {}; it must be {} (sizeof), or larger with zeroes after that", name, size, sizeof(T));
  }
  return size;
}

/// An input structure of the caller's, which may be of a newer release.
template <typename T>
T read_struct(const T* given, const char* name) {
  const size_t size = checked_struct_size(given, name);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) {
      invalid("{}.struct_size is {} and byte {} is not zero; this release knows {} bytes", name, size, i, sizeof(T));
    }
  }
  T known{};
  std::memcpy(&known, given, sizeof known);
  return known;
}

/// The `size` argument of an init function, by the same rule: what is unknown is zeroed.
template <typename T>
void write_initial(T* target, const char* name, size_t size, T value) {
  require_not_null(target, name);
  if (size < sizeof(T) || size > largest_struct) {
    invalid("size is {}; it must be sizeof *{}, which is {} here and may be more later", size, name, sizeof(T));
  }
  value.struct_size = size;
  std::memset(target, 0, size);
  std::memcpy(target, &value, sizeof value);
}

template <size_t count>
void require_zero(const std::uint64_t (&reserved)[count], const char* name) {
  for (const std::uint64_t word : reserved) {
    if (word != 0) invalid("{} must be zero", name);
  }
}

/// Fills in a result structure of the caller's, whose size has been checked.
template <typename T>
void write_struct(T* target, const T& result) {
  const size_t size = target->struct_size;
  std::memset(target, 0, size);
  std::memcpy(target, &result, sizeof result);
  target->struct_size = size;
}

/// Hands out text by the string rule.
inline void give_string(std::string_view text, char* buffer, size_t capacity, size_t* needed) {
  if (needed != nullptr) *needed = text.size() + 1;
  if (buffer == nullptr) {
    if (capacity != 0) invalid("buffer is NULL and capacity is {}; it must be 0 then", capacity);
    return;
  }
  if (capacity < text.size() + 1) invalid("capacity is {}; {} bytes are needed", capacity, text.size() + 1);
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
}

/// Runs `body` with the context, and marks it lost if the device turns out to be.
template <typename Body>
void with_context(Context& context, Body&& body) {
  if (context.lost) {
    fail(MGEMM_DEVICE_LOST, "the context was lost to an earlier fault on its device; destroy it and make a new one");
  }
  try {
    body(context);
  } catch (const Error& error) {
    if (error.status() == MGEMM_DEVICE_LOST) context.lost = true;
    throw;
  }
}

template <typename Body>
mgemm_status context_call(mgemm_context handle, Body&& body) noexcept {
  return guarded([&] {
    const auto context = contexts().lock(handle);
    with_context(*context, body);
  });
}

/// The context that a plan or launch belongs to.
inline ContextTable::Guard lock_owner(std::uint64_t context, HandleKind kind) {
  try {
    return contexts().lock(context);
  } catch (const Error& error) {
    if (error.status() != MGEMM_BAD_HANDLE) throw;
    fail(MGEMM_BAD_HANDLE, "the context {:#018x} that this {} belongs to was destroyed", context, name_of(kind));
  }
}

template <typename Body>
mgemm_status plan_call(mgemm_plan handle, Body&& body) noexcept {
  return guarded([&] {
    const auto plan = plans().lock(handle);
    const auto context = lock_owner(plan->context, HandleKind::plan);
    with_context(*context, [&](Context& c) { body(c, *plan); });
  });
}

template <typename Body>
mgemm_status launch_call(mgemm_launch handle, Body&& body) noexcept {
  return guarded([&] {
    const auto launch = launches().lock(handle);
    const auto context = lock_owner(launch->context, HandleKind::launch);
    with_context(*context, [&](Context& c) { body(c, *launch); });
  });
}

}  // namespace mgemm
