#include "base/handle_table.hpp"

namespace mgemm {

void fail_bad_handle(HandleKind wanted, std::uint64_t handle) {
  const auto kind = static_cast<HandleKind>(handle >> 56U);
  if (handle == 0) fail(MGEMM_BAD_HANDLE, "the {} handle is 0", name_of(wanted));
  if (kind != wanted && kind >= HandleKind::context && kind <= HandleKind::launch) {
    fail(MGEMM_BAD_HANDLE, "{:#018x} is a {} handle; a {} handle is needed", handle, name_of(kind), name_of(wanted));
  }
  fail(MGEMM_BAD_HANDLE, "{:#018x} is no {} handle, or the {} was destroyed", handle, name_of(wanted), name_of(wanted));
}

void fail_forked(HandleKind kind, std::uint64_t handle) {
  fail(MGEMM_FORKED, "{} {:#018x} belongs to the parent process; make a new one after fork()", name_of(kind), handle);
}

void fail_busy(HandleKind kind, std::uint64_t handle) {
  fail(MGEMM_BUSY, "{} {:#018x} is in use by another call; use one context from one thread at a time", name_of(kind),
       handle);
}

}  // namespace mgemm
