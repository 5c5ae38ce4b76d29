#include <algorithm>
#include <array>

#include "api/boundary.hpp"
#include "base/log.hpp"

namespace {

struct StatusName {
  mgemm_status status;
  const char* name;
};

constexpr std::array<StatusName, 25> status_names{{
    {MGEMM_OK, "MGEMM_OK"},
    {MGEMM_INVALID_ARGUMENT, "MGEMM_INVALID_ARGUMENT"},
    {MGEMM_BAD_HANDLE, "MGEMM_BAD_HANDLE"},
    {MGEMM_WRONG_CONTEXT, "MGEMM_WRONG_CONTEXT"},
    {MGEMM_STATE, "MGEMM_STATE"},
    {MGEMM_STALE, "MGEMM_STALE"},
    {MGEMM_CAPTURE_MISS, "MGEMM_CAPTURE_MISS"},
    {MGEMM_FORKED, "MGEMM_FORKED"},
    {MGEMM_BUSY, "MGEMM_BUSY"},
    {MGEMM_UNSUPPORTED, "MGEMM_UNSUPPORTED"},
    {MGEMM_EXCLUDED, "MGEMM_EXCLUDED"},
    {MGEMM_NO_DEVICE, "MGEMM_NO_DEVICE"},
    {MGEMM_NO_COMPILER, "MGEMM_NO_COMPILER"},
    {MGEMM_NO_ENTRY, "MGEMM_NO_ENTRY"},
    {MGEMM_OUT_OF_MEMORY, "MGEMM_OUT_OF_MEMORY"},
    {MGEMM_DRIVER, "MGEMM_DRIVER"},
    {MGEMM_COMPILE, "MGEMM_COMPILE"},
    {MGEMM_VENDOR, "MGEMM_VENDOR"},
    {MGEMM_IO, "MGEMM_IO"},
    {MGEMM_CANCELLED, "MGEMM_CANCELLED"},
    {MGEMM_QUALIFICATION, "MGEMM_QUALIFICATION"},
    {MGEMM_MISMATCH, "MGEMM_MISMATCH"},
    {MGEMM_PIN, "MGEMM_PIN"},
    {MGEMM_DEVICE_LOST, "MGEMM_DEVICE_LOST"},
    {MGEMM_INTERNAL, "MGEMM_INTERNAL"},
}};

const StatusName* find(mgemm_status status) {
  const auto* const found =
      std::find_if(status_names.begin(), status_names.end(), [&](const auto& row) { return row.status == status; });
  return found == status_names.end() ? nullptr : found;
}

}  // namespace

const char* mgemm_status_name(mgemm_status status) noexcept {
  const StatusName* const row = find(status);
  return row == nullptr ? "MGEMM_UNKNOWN" : row->name;
}

int32_t mgemm_status_class(mgemm_status status) noexcept {
  constexpr int statuses_per_class = 100;
  return find(status) == nullptr ? -1 : status / statuses_per_class;
}

const char* mgemm_last_error(void) noexcept { return mgemm::last_error_text(); }

mgemm_status mgemm_last_error_copy(char* buffer, size_t capacity, size_t* needed) noexcept {
  try {
    mgemm::give_string(mgemm::last_error_text(), buffer, capacity, needed);
    return MGEMM_OK;
  } catch (...) {
    return MGEMM_INVALID_ARGUMENT;  // without replacing the text that was asked for
  }
}

int32_t mgemm_last_driver_code(void) noexcept { return mgemm::last_driver_code(); }

mgemm_status mgemm_set_log(int32_t level, mgemm_log_fn fn, void* user) noexcept {
  return mgemm::guarded([&] {
    if (level < MGEMM_LOG_OFF || level > MGEMM_LOG_DISPATCH) {
      mgemm::invalid("level is {}; it must be MGEMM_LOG_OFF (0) .. MGEMM_LOG_DISPATCH (4)", level);
    }
    mgemm::set_log(level, fn, user);
  });
}
