/* Every structure of the public header has the size and the offsets that are written here, and no implicit padding:
 * each member begins where the one before it ends. Checked while compiling. */
#include "mamba_gemm/mamba_gemm_cache.h" /* first, so that it must stand alone */

#include "mamba_gemm/mamba_gemm.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define STATIC_CHECK(condition) typedef char JOIN(check_, __LINE__)[(condition) ? 1 : -1] __attribute__((unused))

#define MEMBER_SIZE(type, member) sizeof(((type*)0)->member)
#define AT(type, member, offset) STATIC_CHECK(offsetof(type, member) == (offset))
#define FOLLOWS(type, member, before) \
  STATIC_CHECK(offsetof(type, member) == offsetof(type, before) + MEMBER_SIZE(type, before))
#define LAST(type, member, size) \
  STATIC_CHECK(sizeof(type) == (size) && offsetof(type, member) + MEMBER_SIZE(type, member) == sizeof(type))

STATIC_CHECK(sizeof(mgemm_status) == 4);
STATIC_CHECK(sizeof(mgemm_context) == 8);
STATIC_CHECK(sizeof(mgemm_plan) == 8);
STATIC_CHECK(sizeof(mgemm_launch) == 8);
STATIC_CHECK(sizeof(mgemm_log_fn) == 8);

AT(mgemm_device_info, struct_size, 0);
AT(mgemm_device_info, kind, 8);
AT(mgemm_device_info, ordinal, 12);
AT(mgemm_device_info, compute_major, 16);
AT(mgemm_device_info, compute_minor, 20);
AT(mgemm_device_info, multiprocessors, 24);
AT(mgemm_device_info, driver_version, 28);
AT(mgemm_device_info, shared_bytes_per_block, 32);
AT(mgemm_device_info, reserved0, 36);
AT(mgemm_device_info, memory_bytes, 40);
AT(mgemm_device_info, l2_bytes, 48);
AT(mgemm_device_info, uuid, 56);
AT(mgemm_device_info, name, 72);
AT(mgemm_device_info, reserved, 200);
FOLLOWS(mgemm_device_info, kind, struct_size);
FOLLOWS(mgemm_device_info, memory_bytes, reserved0);
FOLLOWS(mgemm_device_info, uuid, l2_bytes);
FOLLOWS(mgemm_device_info, name, uuid);
FOLLOWS(mgemm_device_info, reserved, name);
LAST(mgemm_device_info, reserved, 232);

AT(mgemm_context_options, struct_size, 0);
AT(mgemm_context_options, device_kind, 8);
AT(mgemm_context_options, ordinal, 12);
AT(mgemm_context_options, cu_context, 16);
AT(mgemm_context_options, stream_kind, 24);
AT(mgemm_context_options, profile, 28);
AT(mgemm_context_options, stream, 32);
AT(mgemm_context_options, cache_dir, 40);
AT(mgemm_context_options, threads, 48);
AT(mgemm_context_options, reserved0, 52);
AT(mgemm_context_options, reserved, 56);
FOLLOWS(mgemm_context_options, cu_context, ordinal);
FOLLOWS(mgemm_context_options, stream_kind, cu_context);
FOLLOWS(mgemm_context_options, stream, profile);
FOLLOWS(mgemm_context_options, cache_dir, stream);
FOLLOWS(mgemm_context_options, threads, cache_dir);
FOLLOWS(mgemm_context_options, reserved, reserved0);
LAST(mgemm_context_options, reserved, 88);

AT(mgemm_problem, struct_size, 0);
AT(mgemm_problem, op, 8);
AT(mgemm_problem, in_type, 12);
AT(mgemm_problem, out_type, 16);
AT(mgemm_problem, bias, 20);
AT(mgemm_problem, m, 24);
AT(mgemm_problem, k, 32);
AT(mgemm_problem, n, 40);
AT(mgemm_problem, lda, 48);
AT(mgemm_problem, ldb, 56);
AT(mgemm_problem, ldout, 64);
AT(mgemm_problem, alpha, 72);
AT(mgemm_problem, beta, 76);
AT(mgemm_problem, reserved, 80);
FOLLOWS(mgemm_problem, m, bias);
FOLLOWS(mgemm_problem, alpha, ldout);
FOLLOWS(mgemm_problem, reserved, beta);
LAST(mgemm_problem, reserved, 112);

AT(mgemm_operands, struct_size, 0);
AT(mgemm_operands, a, 8);
AT(mgemm_operands, b, 16);
AT(mgemm_operands, bias, 24);
AT(mgemm_operands, out, 32);
AT(mgemm_operands, reserved, 40);
FOLLOWS(mgemm_operands, reserved, out);
LAST(mgemm_operands, reserved, 72);

AT(mgemm_verify_report, struct_size, 0);
AT(mgemm_verify_report, checked, 8);
AT(mgemm_verify_report, mismatches, 16);
AT(mgemm_verify_report, first_row, 24);
AT(mgemm_verify_report, first_column, 32);
AT(mgemm_verify_report, got, 40);
AT(mgemm_verify_report, expected, 44);
AT(mgemm_verify_report, reserved, 48);
FOLLOWS(mgemm_verify_report, reserved, expected);
LAST(mgemm_verify_report, reserved, 80);

AT(mgemm_description, struct_size, 0);
AT(mgemm_description, device_kind, 8);
AT(mgemm_description, slices, 12);
AT(mgemm_description, grid, 16);
AT(mgemm_description, block, 28);
AT(mgemm_description, shared_bytes, 40);
AT(mgemm_description, alignment, 44);
AT(mgemm_description, a, 48);
AT(mgemm_description, b, 56);
AT(mgemm_description, bias, 64);
AT(mgemm_description, out, 72);
AT(mgemm_description, scratch_bytes, 80);
AT(mgemm_description, problem, 88);
AT(mgemm_description, contract, 280);
AT(mgemm_description, kernel, 328);
AT(mgemm_description, identity, 424);
AT(mgemm_description, profile, 496);
AT(mgemm_description, reserved0, 500);
AT(mgemm_description, reserved, 504);
FOLLOWS(mgemm_description, block, grid);
FOLLOWS(mgemm_description, shared_bytes, block);
FOLLOWS(mgemm_description, problem, scratch_bytes);
FOLLOWS(mgemm_description, contract, problem);
FOLLOWS(mgemm_description, kernel, contract);
FOLLOWS(mgemm_description, identity, kernel);
FOLLOWS(mgemm_description, profile, identity);
FOLLOWS(mgemm_description, reserved0, profile);
FOLLOWS(mgemm_description, reserved, reserved0);
LAST(mgemm_description, reserved, 528);

AT(mgemm_cache_counters, struct_size, 0);
AT(mgemm_cache_counters, hits, 8);
AT(mgemm_cache_counters, misses, 72);
AT(mgemm_cache_counters, compiles, 80);
AT(mgemm_cache_counters, failed_compiles, 144);
AT(mgemm_cache_counters, waits_for_threads, 152);
AT(mgemm_cache_counters, waits_for_processes, 160);
AT(mgemm_cache_counters, lock_timeouts, 168);
AT(mgemm_cache_counters, lock_failures, 176);
AT(mgemm_cache_counters, rejects, 184);
AT(mgemm_cache_counters, evictions, 440);
AT(mgemm_cache_counters, reaped, 448);
AT(mgemm_cache_counters, stores, 456);
AT(mgemm_cache_counters, store_failures, 464);
AT(mgemm_cache_counters, bytes_read, 592);
AT(mgemm_cache_counters, bytes_written, 600);
AT(mgemm_cache_counters, nvrtc_loads, 608);
AT(mgemm_cache_counters, nvrtc_hashes, 616);
AT(mgemm_cache_counters, reserved, 624);
FOLLOWS(mgemm_cache_counters, hits, struct_size);
FOLLOWS(mgemm_cache_counters, misses, hits);
FOLLOWS(mgemm_cache_counters, compiles, misses);
FOLLOWS(mgemm_cache_counters, failed_compiles, compiles);
FOLLOWS(mgemm_cache_counters, waits_for_threads, failed_compiles);
FOLLOWS(mgemm_cache_counters, waits_for_processes, waits_for_threads);
FOLLOWS(mgemm_cache_counters, lock_timeouts, waits_for_processes);
FOLLOWS(mgemm_cache_counters, lock_failures, lock_timeouts);
FOLLOWS(mgemm_cache_counters, rejects, lock_failures);
FOLLOWS(mgemm_cache_counters, evictions, rejects);
FOLLOWS(mgemm_cache_counters, reaped, evictions);
FOLLOWS(mgemm_cache_counters, stores, reaped);
FOLLOWS(mgemm_cache_counters, store_failures, stores);
FOLLOWS(mgemm_cache_counters, bytes_read, store_failures);
FOLLOWS(mgemm_cache_counters, bytes_written, bytes_read);
FOLLOWS(mgemm_cache_counters, nvrtc_loads, bytes_written);
FOLLOWS(mgemm_cache_counters, nvrtc_hashes, nvrtc_loads);
FOLLOWS(mgemm_cache_counters, reserved, nvrtc_hashes);
LAST(mgemm_cache_counters, reserved, 688);

AT(mgemm_cache_report, struct_size, 0);
AT(mgemm_cache_report, sound, 8);
AT(mgemm_cache_report, bad, 16);
AT(mgemm_cache_report, removed, 24);
AT(mgemm_cache_report, failed, 32);
AT(mgemm_cache_report, bytes, 40);
AT(mgemm_cache_report, reserved, 48);
FOLLOWS(mgemm_cache_report, sound, struct_size);
FOLLOWS(mgemm_cache_report, bad, sound);
FOLLOWS(mgemm_cache_report, removed, bad);
FOLLOWS(mgemm_cache_report, failed, removed);
FOLLOWS(mgemm_cache_report, bytes, failed);
FOLLOWS(mgemm_cache_report, reserved, bytes);
LAST(mgemm_cache_report, reserved, 80);

AT(mgemm_kernel_info, struct_size, 0);
AT(mgemm_kernel_info, kernel, 8);
AT(mgemm_kernel_info, module, 16);
AT(mgemm_kernel_info, target, 24);
AT(mgemm_kernel_info, reason, 32);
AT(mgemm_kernel_info, state, 40);
AT(mgemm_kernel_info, threads, 44);
AT(mgemm_kernel_info, shared_bytes, 48);
AT(mgemm_kernel_info, registers, 52);
AT(mgemm_kernel_info, local_bytes, 56);
AT(mgemm_kernel_info, static_shared_bytes, 60);
AT(mgemm_kernel_info, seconds, 64);
AT(mgemm_kernel_info, launches, 72);
AT(mgemm_kernel_info, reserved, 80);
FOLLOWS(mgemm_kernel_info, kernel, struct_size);
FOLLOWS(mgemm_kernel_info, module, kernel);
FOLLOWS(mgemm_kernel_info, target, module);
FOLLOWS(mgemm_kernel_info, reason, target);
FOLLOWS(mgemm_kernel_info, state, reason);
FOLLOWS(mgemm_kernel_info, threads, state);
FOLLOWS(mgemm_kernel_info, shared_bytes, threads);
FOLLOWS(mgemm_kernel_info, registers, shared_bytes);
FOLLOWS(mgemm_kernel_info, local_bytes, registers);
FOLLOWS(mgemm_kernel_info, static_shared_bytes, local_bytes);
FOLLOWS(mgemm_kernel_info, seconds, static_shared_bytes);
FOLLOWS(mgemm_kernel_info, launches, seconds);
FOLLOWS(mgemm_kernel_info, reserved, launches);
LAST(mgemm_kernel_info, reserved, 104);
