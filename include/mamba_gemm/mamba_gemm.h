/*
 * mamba_gemm.h - the C interface of libmamba_gemm.
 *
 * Deterministic, batch-invariant matrix products for NVIDIA GPUs (sm_80 to sm_120), with a host evaluator (the
 * "reference device") that computes the same bits on a CPU. This header is the specification: what is not described
 * here is private. It is C99, needs no CUDA header, and can be used from any language that can dlopen a library.
 *
 * ---- Rules that hold for every function -----------------------------------------------------------------------------
 *
 * Platform. 64-bit little-endian Linux. Every enum is an int32_t with fixed values, every size an int64_t or size_t,
 * every device address a uint64_t. No structure has implicit padding.
 *
 * Results. Every function that can fail returns an mgemm_status. MGEMM_OK is 0. Any other value comes with a text, read
 * with mgemm_last_error(): it names the argument, its value and the rule that was broken. A call that fails has not
 * changed its outputs (except `needed` of the string functions, and the report of mgemm_launch_verify) and has launched
 * nothing. The library never aborts, never throws across this interface, never writes to stdout, and installs no signal
 * or exit handler.
 *
 * Errors every function may give are not repeated below: MGEMM_INVALID_ARGUMENT for a NULL or wrong argument; for a
 * handle MGEMM_BAD_HANDLE, MGEMM_FORKED, MGEMM_BUSY, and once the device has faulted MGEMM_DEVICE_LOST; where the
 * driver is called MGEMM_DRIVER; MGEMM_OUT_OF_MEMORY.
 *
 * Structures. Each options or result structure begins with `struct_size`, which the caller sets to sizeof. A size that
 * an older release had means that the missing fields have their defaults; a larger size is accepted, if the library
 * reads the structure only with every byte past what this release knows zero; any other size is
 * MGEMM_INVALID_ARGUMENT. Reserved fields must be zero. In results, and in the structures that init functions fill in,
 * the library writes what it knows and zeroes the rest up to the size given.
 *
 * Handles. Contexts, plans and launches are 64-bit numbers, never pointers; 0 is no handle. A handle that was
 * destroyed, never existed or is of another kind is MGEMM_BAD_HANDLE, in any language, however often it is used.
 * Destroying 0 is MGEMM_OK. What a *_create function or mgemm_prepare gives is the caller's, to be ended with the
 * *_destroy function of its kind: mgemm_context_destroy, mgemm_plan_destroy or mgemm_launch_destroy.
 *
 * Strings. Functions that return text take (buffer, capacity, needed): `needed`, if not NULL, receives the bytes
 * required including the terminating NUL. With buffer NULL and capacity 0 they only report that size. With too small
 * a buffer they return MGEMM_INVALID_ARGUMENT and write nothing but `needed`. Strings returned by pointer are owned by
 * the library and live as long as the process, except mgemm_last_error(). Text is UTF-8.
 *
 * Threads. See the table at the end of this header. In short: different contexts may be used by different threads at
 * the same time; one context (with its plans and launches) by one thread at a time, and a second thread that comes in
 * meanwhile gets MGEMM_BUSY instead of a race.
 *
 * fork. In a child process, handles made by the parent answer MGEMM_FORKED; destroying them frees host memory only. New
 * reference contexts work in the child.
 *
 * Current CUDA context. Whatever CUDA context the calling thread had current is current again on return.
 *
 * Capture. While a stream of the context is being captured into a CUDA graph every function may be called, unless its
 * description says otherwise.
 *
 * ---- The operations -------------------------------------------------------------------------------------------------
 *
 * All matrices are row-major. (M, K, N) are (batch rows, input features, output features) of a linear layer.
 *
 *   op   result                       a          b          out        reduction  bias  default beta
 *   NN   Y  = alpha X W + bias        X  [M,K]   W  [K,N]   Y  [M,N]   K          [N]   0
 *   TN   dW = alpha X^T dY + beta dW  X  [M,K]   dY [M,N]   dW [K,N]   M          -     1
 *   NT   dX = alpha dY W^T            dY [M,N]   W  [K,N]   dX [M,K]   N          -     0
 *
 * What is computed, bit for bit, is written in docs/contracts.md. Each output element is
 *   v = dot;  v = alpha * v unless alpha is 1;  v = v + bias[column];  v = fma(beta, old, v) unless beta is 0
 * with every step rounded to nearest even in f32, and the last one then to the output's type. beta = 0 never reads the
 * old output. Subnormals are kept. Every NaN that comes out is 0x7fffffff, or 0x7fff in a half type. A reduction of
 * length 0 gives dot = +0 and reads neither a nor b.
 */
#ifndef MAMBA_GEMM_H
#define MAMBA_GEMM_H

#include <stddef.h>
#include <stdint.h>

#define MGEMM_VERSION_MAJOR 0
#define MGEMM_VERSION_MINOR 1
#define MGEMM_VERSION_PATCH 0

#if defined(__GNUC__)
#define MGEMM_API __attribute__((visibility("default")))
#else
#define MGEMM_API
#endif

#ifdef __cplusplus
#define MGEMM_NOEXCEPT noexcept
extern "C" {
#else
#define MGEMM_NOEXCEPT
#endif

/* ---- Version ------------------------------------------------------------------------------------------------------*/

/* The version of the library that was loaded, major * 10000 + minor * 100 + patch. A program linked at build time
 * should check that it equals the macros above. Any thread, any time, never fails. */
MGEMM_API uint32_t mgemm_version_number(void) MGEMM_NOEXCEPT;

/* "major.minor.patch"; "" if memory runs out at the first call. Any thread, any time. */
MGEMM_API const char* mgemm_version_string(void) MGEMM_NOEXCEPT;

/* 64 hexadecimal digits: the SHA-256 over the names and bytes of all embedded CUDA sources. Two libraries with the same
 * value compile the same kernels. "" if memory runs out at the first call. Any thread, any time. */
MGEMM_API const char* mgemm_source_hash(void) MGEMM_NOEXCEPT;

/* One line about this build: compiler, build type, sanitizers. For bug reports; no format is promised. "" if memory
 * runs out at the first call. Any thread, any time. */
MGEMM_API const char* mgemm_build_info(void) MGEMM_NOEXCEPT;

/* ---- Status and errors --------------------------------------------------------------------------------------------*/

typedef int32_t mgemm_status;
enum {
  MGEMM_OK = 0,

  /* The caller's fault: fix the call. */
  MGEMM_INVALID_ARGUMENT = 101, /* an argument, named in the text, breaks a rule */
  MGEMM_BAD_HANDLE = 102,       /* destroyed, never existed, or of another kind */
  MGEMM_WRONG_CONTEXT = 103,    /* objects of different contexts, or memory of another device */
  MGEMM_STATE = 104,            /* not legal in the object's present state */
  MGEMM_STALE = 105,            /* memory the launch was bound to has been freed or made anew */
  MGEMM_CAPTURE_MISS = 106,     /* the stream is being captured and the plan is not warm */
  MGEMM_FORKED = 107,           /* the handle belongs to the parent process */
  MGEMM_BUSY = 108,             /* another thread is inside a call on the same context */

  /* Valid, but not to be had here. */
  MGEMM_UNSUPPORTED = 201, /* this library or device does not do that */
  MGEMM_EXCLUDED = 202,    /* every kernel that could was excluded, the text says why */
  MGEMM_NO_DEVICE = 203,   /* no driver, or no such device */
  MGEMM_NO_COMPILER = 204, /* no usable NVRTC was found, the text lists where it was looked for */
  MGEMM_NO_ENTRY = 205,    /* the cache has no such entry */

  /* The environment failed. */
  MGEMM_OUT_OF_MEMORY = 301,
  MGEMM_DRIVER = 302, /* a CUDA driver call failed, see mgemm_last_driver_code() */
  MGEMM_COMPILE = 303,
  MGEMM_VENDOR = 304,
  MGEMM_IO = 305,
  MGEMM_CANCELLED = 306,

  /* What was computed, or would be, cannot be trusted. */
  MGEMM_QUALIFICATION = 401,
  MGEMM_MISMATCH = 402, /* output bits differ from the contract's */
  MGEMM_PIN = 403,

  /* Fatal for the context. */
  MGEMM_DEVICE_LOST = 501, /* a kernel fault, of ours or not, has poisoned the CUDA context; only destroy works */
  MGEMM_INTERNAL = 502     /* a defect of this library; please report the text */
};

/* Status classes: status / 100. */
enum {
  MGEMM_CLASS_OK = 0,
  MGEMM_CLASS_CALLER = 1,
  MGEMM_CLASS_UNSUPPORTED = 2,
  MGEMM_CLASS_ENVIRONMENT = 3,
  MGEMM_CLASS_TRUST = 4,
  MGEMM_CLASS_FATAL = 5
};

/* The enumerator's name, for example "MGEMM_BAD_HANDLE"; "MGEMM_UNKNOWN" for a value this release does not know. */
MGEMM_API const char* mgemm_status_name(mgemm_status status) MGEMM_NOEXCEPT;

/* The class of a status, one of MGEMM_CLASS_*; -1 for a value this release does not know. */
MGEMM_API int32_t mgemm_status_class(mgemm_status status) MGEMM_NOEXCEPT;

/* The text of the calling thread's latest failure, "" before the first. Not cleared by success. Valid until the same
 * thread's next failing call; at most 2047 bytes. */
MGEMM_API const char* mgemm_last_error(void) MGEMM_NOEXCEPT;

/* The same text copied out, by the string rule. A failure of this call does not replace the text. */
MGEMM_API mgemm_status mgemm_last_error_copy(char* buffer, size_t capacity, size_t* needed) MGEMM_NOEXCEPT;

/* The CUDA driver's (CUresult) or NVRTC's (nvrtcResult) own code of the calling thread's latest failure; 0 if that
 * failure did not come from either. */
MGEMM_API int32_t mgemm_last_driver_code(void) MGEMM_NOEXCEPT;

/* ---- Log ----------------------------------------------------------------------------------------------------------*/

enum { MGEMM_LOG_OFF = 0, MGEMM_LOG_ERROR = 1, MGEMM_LOG_WARN = 2, MGEMM_LOG_INFO = 3, MGEMM_LOG_DISPATCH = 4 };

/* Receives one line without a newline. Called on the thread that caused it, with no lock of the library held. It must
 * not call back into the library, except for the functions of the sections Version and Status. */
typedef void (*mgemm_log_fn)(int32_t level, const char* message, void* user);

/* Sends messages of `level` and more urgent ones to `fn` for the whole process; fn NULL sends them to stderr, which is
 * the start state, with the level taken from the environment variable MAMBA_GEMM_LOG (off, error, warn, info, dispatch;
 * default warn). A call that was already being delivered on another thread may still reach the old function shortly
 * after this returns. Errors: MGEMM_INVALID_ARGUMENT for an unknown level. Any thread. */
MGEMM_API mgemm_status mgemm_set_log(int32_t level, mgemm_log_fn fn, void* user) MGEMM_NOEXCEPT;

/* ---- Devices ------------------------------------------------------------------------------------------------------*/

enum {
  MGEMM_DEVICE_CUDA = 1,     /* an NVIDIA GPU through its driver */
  MGEMM_DEVICE_REFERENCE = 2 /* host memory, host threads, the evaluator of the contracts */
};

typedef struct mgemm_device_info {
  size_t struct_size;
  int32_t kind;          /* MGEMM_DEVICE_* */
  int32_t ordinal;       /* CUDA ordinal; 0 for the reference device */
  int32_t compute_major; /* compute capability; of the profile for the reference device */
  int32_t compute_minor;
  int32_t multiprocessors; /* streaming multiprocessors; worker threads for the reference device */
  int32_t driver_version;  /* highest CUDA version the driver supports, 1000 * major + 10 * minor; 0 for reference */
  int32_t shared_bytes_per_block; /* opt-in maximum */
  int32_t reserved0;
  int64_t memory_bytes;
  int64_t l2_bytes;
  uint8_t uuid[16];
  char name[128];
  uint64_t reserved[4];
} mgemm_device_info;

/* The number of CUDA devices, 0 where no driver can be loaded (then no error). Loads the driver. Errors:
 * MGEMM_INVALID_ARGUMENT (count NULL), MGEMM_DRIVER (the driver is there and fails), MGEMM_UNSUPPORTED (too old),
 * MGEMM_FORKED. Any thread. */
MGEMM_API mgemm_status mgemm_device_count(int32_t* count) MGEMM_NOEXCEPT;

/* A JSON object about the process: library and source hash, evaluator instruction set and threads, driver, devices,
 * every place NVRTC was looked for with what was found there and which one serves, the helper program that makes
 * machine code or why there is none, cache folder and the rule that chose it, every environment variable that counts
 * with its value and what is wrong with that. Loads driver and NVRTC but creates no CUDA context. By the string rule.
 * Any thread; not in capture. */
MGEMM_API mgemm_status mgemm_environment_json(char* buffer, size_t capacity, size_t* needed) MGEMM_NOEXCEPT;

/* ---- Contexts -----------------------------------------------------------------------------------------------------*/

typedef uint64_t mgemm_context;

enum {
  MGEMM_STREAM_OWN = 1,   /* the context makes a non-blocking stream of its own */
  MGEMM_STREAM_CALLER = 2 /* `stream` is the caller's CUstream; 0 is the legacy default stream */
};

/* Whose tensor cores' contracts the reference device follows (docs/contracts.md); f32 has the same bits in all. */
enum { MGEMM_PROFILE_SM80 = 80, MGEMM_PROFILE_SM90 = 90 };

typedef struct mgemm_context_options {
  size_t struct_size;
  int32_t device_kind;   /* MGEMM_DEVICE_* */
  int32_t ordinal;       /* CUDA device, default 0; must be 0 for the reference device */
  uint64_t cu_context;   /* the caller's CUcontext, which must outlive ours and be of `ordinal`; 0: the device's primary
                            context, retained until the mgemm_context is destroyed */
  int32_t stream_kind;   /* MGEMM_STREAM_*, default OWN */
  int32_t profile;       /* reference device only, default MGEMM_PROFILE_SM90 */
  uint64_t stream;       /* for MGEMM_STREAM_CALLER; must be 0 otherwise */
  const char* cache_dir; /* NULL: by the environment (see mgemm_cache_path); "off": no cache; else an absolute path */
  int32_t threads;       /* host threads the evaluator may use, at most 1024; 0: all this process may run on */
  int32_t reserved0;
  uint64_t reserved[4];
} mgemm_context_options;

/* Fills in the defaults for a device kind. `size` is sizeof(mgemm_context_options). Any thread. */
MGEMM_API mgemm_status mgemm_context_options_init(mgemm_context_options* options, size_t size,
                                                  int32_t device_kind) MGEMM_NOEXCEPT;

/* Makes a context: one device, one current stream, its plans and allocations. Compiles nothing. The caller owns the
 * handle and ends it with mgemm_context_destroy. Errors: MGEMM_INVALID_ARGUMENT, MGEMM_NO_DEVICE (text says whether
 * driver or device is missing), MGEMM_UNSUPPORTED (device below sm_80, driver too old), MGEMM_WRONG_CONTEXT
 * (`cu_context` or `stream` is of another device), MGEMM_FORKED (the driver was initialised before a fork). Any thread;
 * not in capture. */
MGEMM_API mgemm_status mgemm_context_create(mgemm_context* context,
                                            const mgemm_context_options* options) MGEMM_NOEXCEPT;

/* Waits for the context's own stream, frees what mgemm_alloc gave through it, and ends it. Its plans and launches stay
 * valid only for their destroy functions; every other call on them is MGEMM_BAD_HANDLE. Work the caller enqueued on
 * other streams must be complete. A lost context is destroyed all the same. Not in capture. */
MGEMM_API mgemm_status mgemm_context_destroy(mgemm_context context) MGEMM_NOEXCEPT;

/* What the context runs on. */
MGEMM_API mgemm_status mgemm_context_device_info(mgemm_context context, mgemm_device_info* info) MGEMM_NOEXCEPT;

/* The current stream as a CUstream; 0 for the reference device. */
MGEMM_API mgemm_status mgemm_context_stream(mgemm_context context, uint64_t* stream) MGEMM_NOEXCEPT;

/* Makes a stream of the caller's the current one. Plans and launches are not tied to a stream and stay valid. The
 * context's own stream, if it has one, is kept, and mgemm_context_stream's earlier answer may be set again. Errors:
 * MGEMM_WRONG_CONTEXT (a stream of another CUDA context), MGEMM_UNSUPPORTED (reference device, stream not 0). */
MGEMM_API mgemm_status mgemm_context_set_stream(mgemm_context context, uint64_t stream) MGEMM_NOEXCEPT;

/* Orders the current stream after all work enqueued so far on `stream`, without blocking the host. A no-op on the
 * reference device (stream must be 0). Errors: MGEMM_WRONG_CONTEXT, MGEMM_UNSUPPORTED as for mgemm_context_set_stream.
 * In capture both streams must belong to it. */
MGEMM_API mgemm_status mgemm_context_wait_stream(mgemm_context context, uint64_t stream) MGEMM_NOEXCEPT;

/* Blocks until all work on the current stream is complete, and reports a fault of it. Errors: MGEMM_STATE in capture.
 */
MGEMM_API mgemm_status mgemm_context_synchronize(mgemm_context context) MGEMM_NOEXCEPT;

/* ---- Memory -------------------------------------------------------------------------------------------------------
 * A convenience for callers without an allocator of their own. Addresses are device addresses on a CUDA context and
 * host addresses on a reference context. Memory from mgemm_alloc is known to the context: launches bound to it are
 * checked to stay inside it and are refused (MGEMM_STALE) once it has been freed. Memory from elsewhere may be used
 * just as well: when a launch is bound, and by mgemm_launch_validate, it is checked to be known to the driver and to
 * lie on the context's device, or to be managed or pinned; from then on it is the caller's responsibility. */

/* `bytes` >= 1; the address is aligned to 256. The content is undefined. The memory belongs to the context and is freed
 * with it at the latest. Errors: MGEMM_OUT_OF_MEMORY, MGEMM_STATE in capture. */
MGEMM_API mgemm_status mgemm_alloc(mgemm_context context, int64_t bytes, uint64_t* address) MGEMM_NOEXCEPT;

/* Frees an address that mgemm_alloc of the same context returned, after waiting for the current stream; 0 is MGEMM_OK.
 * Errors: MGEMM_INVALID_ARGUMENT if it is not such an address, MGEMM_STATE in capture. */
MGEMM_API mgemm_status mgemm_free(mgemm_context context, uint64_t address) MGEMM_NOEXCEPT;

/* Copies host bytes to the device, ordered on the current stream, complete on return. The device range is checked
 * if it is memory from mgemm_alloc. Errors: MGEMM_STATE in capture. */
MGEMM_API mgemm_status mgemm_upload(mgemm_context context, uint64_t destination, const void* source,
                                    int64_t bytes) MGEMM_NOEXCEPT;

/* Copies device bytes to the host, ordered on the current stream, complete on return. The device range is checked
 * if it is memory from mgemm_alloc. Errors: MGEMM_STATE in capture. */
MGEMM_API mgemm_status mgemm_download(mgemm_context context, void* destination, uint64_t source,
                                      int64_t bytes) MGEMM_NOEXCEPT;

/* ---- Problems -----------------------------------------------------------------------------------------------------*/

enum { MGEMM_OP_NN = 1, MGEMM_OP_TN = 2, MGEMM_OP_NT = 3 };

/* What the elements of a and b are, and how they are multiplied (docs/contracts.md). F32: exactly, by chains of fused
 * multiply-adds. BF16 and F16: as tensor cores do it, added up in f32. TF32: stored as f32, rounded to 10 fraction bits
 * (nearest even), and then as tensor cores do it. The output is f32, or, of BF16 and F16 with NN and NT, of the same
 * type; there is no TF32 output. */
enum { MGEMM_TYPE_F32 = 1, MGEMM_TYPE_BF16 = 2, MGEMM_TYPE_F16 = 3, MGEMM_TYPE_TF32 = 4 };

typedef struct mgemm_problem {
  size_t struct_size;
  int32_t op;              /* MGEMM_OP_* */
  int32_t in_type;         /* MGEMM_TYPE_* of a and b */
  int32_t out_type;        /* MGEMM_TYPE_* of out */
  int32_t bias;            /* 1: add a bias row (NN only; always f32, length N); 0: none */
  int64_t m, k, n;         /* each in 0 .. 2^31 - 1 */
  int64_t lda, ldb, ldout; /* leading dimensions in elements, at least the row length of the table above; 0 means
                              contiguous; at most 2^48. The gap behind the rows of the output is left untouched. */
  float alpha, beta;       /* any bits, NaN and infinities included */
  uint64_t reserved[4];
} mgemm_problem;

/* Zeroes the problem and sets struct_size, op, f32 types, alpha 1 and the op's default beta. `size` is
 * sizeof(mgemm_problem). Any thread. */
MGEMM_API mgemm_status mgemm_problem_init(mgemm_problem* problem, size_t size, int32_t op) MGEMM_NOEXCEPT;

/* The problem string, the name of a problem in logs, tests and on the command line: op, type (f32, bf16, f16, tf32),
 * MxKxN, then what differs from the defaults: "nn:f32:256x768x512:bias:lda=800:alpha=0.5". The default output type is
 * the halves' own with NN and NT, and f32 otherwise. Reading it back gives the same problem, alpha and
 * beta bit for bit (a NaN other than 0x7fc00000 is written as its bits, alpha=0x7f800001). Leading dimensions equal to
 * the row length are written as contiguous, that is, left out. The problem is checked first. By the string rule. Any
 * thread. */
MGEMM_API mgemm_status mgemm_problem_to_string(const mgemm_problem* problem, char* buffer, size_t capacity,
                                               size_t* needed) MGEMM_NOEXCEPT;

/* Reads a problem string into *problem, whose struct_size is set to `size`. Extras, in any order, each at most once:
 * bias, lda=, ldb=, ldout=, alpha=, beta=, out=TYPE; separated by ':' or ','. Leading dimensions that are left out come
 * as the row length, not as 0. Errors: MGEMM_INVALID_ARGUMENT with what is wrong and where. Any thread. */
MGEMM_API mgemm_status mgemm_problem_from_string(mgemm_problem* problem, size_t size, const char* text) MGEMM_NOEXCEPT;

typedef struct mgemm_operands {
  size_t struct_size;
  uint64_t a, b, bias, out; /* addresses on the context's device, each a multiple of its element size. One that spans no
                               element may be 0; bias must be 0 unless the problem has one */
  uint64_t reserved[4];
} mgemm_operands;

/* ---- Plans and launches -------------------------------------------------------------------------------------------
 * A plan is a problem made ready on a context: contract, kernel, grid, compiled and loaded code. It holds no address
 * and no stream. A launch is a plan bound to operands: checked, with its arguments laid out, ready to be run many
 * times. */

typedef uint64_t mgemm_plan;
typedef uint64_t mgemm_launch;

/* Makes a plan. `alignment` is what the caller promises of the addresses of a and b, in bytes: a power of two from the
 * element size to 256, or 0 for no more than that size; it counts for no more than 16, and than what the leading
 * dimensions are multiples of. It selects among kernels with the same bits. May compile (seconds, cold) and load code.
 * The context keeps the plans it made and used last, and gives one of them if it is asked for the same again. Errors:
 * MGEMM_INVALID_ARGUMENT, MGEMM_UNSUPPORTED (among others: the device's tensor cores add in a way that no contract
 * has), MGEMM_EXCLUDED and MGEMM_QUALIFICATION (no kernel for it may be used, or none computes its contract on this
 * device; the text says why of each), MGEMM_NO_COMPILER, MGEMM_COMPILE,
 * MGEMM_DRIVER, MGEMM_OUT_OF_MEMORY. Not in capture unless the plan is already kept: MGEMM_CAPTURE_MISS otherwise. */
MGEMM_API mgemm_status mgemm_plan_create(mgemm_plan* plan, mgemm_context context, const mgemm_problem* problem,
                                         int32_t alignment) MGEMM_NOEXCEPT;

/* Called with how many of how many steps are done and what the latest was (a module's name or a problem string, valid
 * during the call), on the thread that called mgemm_warmup. Not 0 stops the warming up. It may not use the context. */
typedef int32_t (*mgemm_progress_fn)(int64_t done, int64_t total, const char* what, void* user);

/* Makes the plans of `count` problems ahead, so that no later call has to compile: their modules first, on up to
 * `threads` host threads (0: all the process may run on), then the plans, of which the context keeps the last 1024.
 * `alignment` as in mgemm_plan_create. `progress` may be NULL. Problems that fail do not keep the others from being
 * made; the first failure is returned, with its problem in the text. Errors: those of mgemm_plan_create,
 * MGEMM_CANCELLED (stopped by `progress`; what was made stays). Not in capture: MGEMM_STATE. */
MGEMM_API mgemm_status mgemm_warmup(mgemm_context context, const mgemm_problem* problems, size_t count,
                                    int32_t alignment, int32_t threads, mgemm_progress_fn progress,
                                    void* user) MGEMM_NOEXCEPT;

/* Ends a plan. Launches made from it keep working. */
MGEMM_API mgemm_status mgemm_plan_destroy(mgemm_plan plan) MGEMM_NOEXCEPT;

/* Binds operands to a plan. Checks alignment, address ranges, ranges of memory from mgemm_alloc, and that no output
 * element is also an element of a, b or bias (interleaved columns of one buffer are fine). Host work only. Errors:
 * MGEMM_INVALID_ARGUMENT with the operand's name and values, MGEMM_WRONG_CONTEXT (memory of another device). */
MGEMM_API mgemm_status mgemm_launch_create(mgemm_launch* launch, mgemm_plan plan,
                                           const mgemm_operands* operands) MGEMM_NOEXCEPT;

/* mgemm_plan_create, with the alignment these operands have, and mgemm_launch_create in one call. The launch is ended
 * by mgemm_launch_destroy; there is no plan to destroy. Errors: those of the two; addresses and overlaps are
 * checked before anything is compiled. Not in capture unless the plan is already kept: MGEMM_CAPTURE_MISS otherwise. */
MGEMM_API mgemm_status mgemm_prepare(mgemm_launch* launch, mgemm_context context, const mgemm_problem* problem,
                                     const mgemm_operands* operands) MGEMM_NOEXCEPT;

/* Binds a launch to new operands in place: the same checks and errors. On failure the launch keeps its old ones. */
MGEMM_API mgemm_status mgemm_launch_bind(mgemm_launch launch, const mgemm_operands* operands) MGEMM_NOEXCEPT;

/* Ends a launch. What it has enqueued is not affected. */
MGEMM_API mgemm_status mgemm_launch_destroy(mgemm_launch launch) MGEMM_NOEXCEPT;

/* Enqueues the product on the context's current stream and returns; on the reference device it is complete on return. A
 * fault of the kernel surfaces at a later call. Errors: MGEMM_BAD_HANDLE, MGEMM_STALE, MGEMM_DRIVER. */
MGEMM_API mgemm_status mgemm_launch_run(mgemm_launch launch) MGEMM_NOEXCEPT;

/* The same on a stream of the caller's, which must belong to the context's CUDA context. Errors: MGEMM_STALE,
 * MGEMM_WRONG_CONTEXT, MGEMM_UNSUPPORTED (reference device, stream not 0). */
MGEMM_API mgemm_status mgemm_launch_run_on(mgemm_launch launch, uint64_t stream) MGEMM_NOEXCEPT;

/* Checks without running that the launch would still do what it was bound to do: its context is alive, memory from
 * mgemm_alloc is what it was, operands, problem and launch description agree. Errors: MGEMM_STALE with the name of what
 * changed. */
MGEMM_API mgemm_status mgemm_launch_validate(mgemm_launch launch) MGEMM_NOEXCEPT;

typedef struct mgemm_verify_report {
  size_t struct_size;
  int64_t checked;                 /* output elements compared */
  int64_t mismatches;              /* of which differ */
  int64_t first_row, first_column; /* of the first differing one in row-major order; -1 if none */
  uint32_t got, expected;          /* its bits, of a half type in the low half */
  uint64_t reserved[4];
} mgemm_verify_report;

/* A shadow run: copies the output into scratch memory, runs the launch on the copy, and compares at least
 * min(samples, all) elements with the evaluator of the contract, bit for bit. The live output is untouched. The
 * elements are a grid of rows and columns drawn with `seed`, always including the first and last row and column. Waits
 * for the current stream before and after. On the reference device the generic evaluator checks the vectorised one.
 * `report` may be NULL. Errors: MGEMM_MISMATCH (the report is filled in), MGEMM_INVALID_ARGUMENT (samples < 1),
 * MGEMM_OUT_OF_MEMORY, MGEMM_DRIVER. Not in capture. */
MGEMM_API mgemm_status mgemm_launch_verify(mgemm_launch launch, int64_t samples, uint64_t seed,
                                           mgemm_verify_report* report) MGEMM_NOEXCEPT;

typedef struct mgemm_description {
  size_t struct_size;
  int32_t device_kind;
  int32_t slices;   /* of the reduction, by the contract */
  uint32_t grid[3]; /* 0 where nothing is launched, and on the reference device */
  uint32_t block[3];
  uint32_t shared_bytes;    /* dynamic shared memory per block */
  uint32_t alignment;       /* bytes, as the plan was made for */
  uint64_t a, b, bias, out; /* 0 for a plan */
  uint64_t scratch_bytes;
  char problem[192]; /* problem string */
  char contract[48]; /* for example "F32_FMA/1" : name and revision */
  char kernel[96];   /* symbol; "evaluator" on the reference device, "none" for an empty output */
  char identity[72]; /* 64 hexadecimal digits: the route identity, see docs/identity.md */
  int32_t profile;   /* MGEMM_PROFILE_* of a reference device that gives the same bits */
  int32_t reserved0;
  uint64_t reserved[3];
} mgemm_description;

/* What a plan or launch is. */
MGEMM_API mgemm_status mgemm_plan_describe(mgemm_plan plan, mgemm_description* description) MGEMM_NOEXCEPT;
MGEMM_API mgemm_status mgemm_launch_describe(mgemm_launch launch, mgemm_description* description) MGEMM_NOEXCEPT;

/* The same and more as a JSON object, by the string rule: among it "identities", each with its "sha256" and the list of
 * "fields" it is made of (docs/identity.md). */
MGEMM_API mgemm_status mgemm_plan_describe_json(mgemm_plan plan, char* buffer, size_t capacity,
                                                size_t* needed) MGEMM_NOEXCEPT;
MGEMM_API mgemm_status mgemm_launch_describe_json(mgemm_launch launch, char* buffer, size_t capacity,
                                                  size_t* needed) MGEMM_NOEXCEPT;

/* Plan lookup (kept in the context), bind and run in one call. Errors: those of the three. Not in capture unless the
 * plan is already kept: MGEMM_CAPTURE_MISS otherwise. */
MGEMM_API mgemm_status mgemm_gemm(mgemm_context context, const mgemm_problem* problem,
                                  const mgemm_operands* operands) MGEMM_NOEXCEPT;

/* ---- Evaluator ----------------------------------------------------------------------------------------------------*/

/* What the contract says `count` single output elements must be: values[i] for (rows[i], columns[i]), computed on the
 * host from operands in host memory without writing to `operands->out`, which is read only if beta is not 0 and may be
 * 0 otherwise. An output of a half type is given as the f32 of the same value, NaN as 0x7fffffff. `profile` is an
 * MGEMM_PROFILE_*. For audits of large outputs; a reference context computes whole ones. Errors:
 * MGEMM_INVALID_ARGUMENT. Any thread. */
MGEMM_API mgemm_status mgemm_evaluate(int32_t profile, const mgemm_problem* problem, const mgemm_operands* operands,
                                      int64_t count, const int64_t* rows, const int64_t* columns,
                                      float* values) MGEMM_NOEXCEPT;

/* ---- Kernels ------------------------------------------------------------------------------------------------------*/

enum {
  MGEMM_KERNEL_LISTED = 1, /* not compiled: only what the catalogue says is known */
  MGEMM_KERNEL_READY = 2,  /* compiled, and nothing speaks against it; whether it computes its contract is for a device
                              to show (mgemm_plan_create) */
  MGEMM_KERNEL_EXCLUDED = 3, /* compiled, and not to be used on this target, `reason` says why */
  MGEMM_KERNEL_FAILED = 4    /* could not be compiled, `reason` says why */
};

typedef struct mgemm_kernel_info {
  size_t struct_size;
  const char* kernel; /* its symbol; this and the other texts are valid during the call */
  const char* module;
  const char* target;          /* for example "sm_90a" */
  const char* reason;          /* "" if nothing speaks against it */
  int32_t state;               /* MGEMM_KERNEL_* */
  int32_t threads;             /* a thread block */
  int32_t shared_bytes;        /* dynamic, a thread block */
  int32_t registers;           /* a thread; this and the next two are 0 unless compiled */
  int32_t local_bytes;         /* a thread: spills */
  int32_t static_shared_bytes; /* a thread block */
  double seconds;              /* that compiling took; 0 if it was in the cache */
  uint64_t launches;           /* by this process, whatever the target: what mgemm_launch_run and its like put on a
                                  stream; captures count once and replays of them not */
  uint64_t reserved[3];
} mgemm_kernel_info;

/* Called for one kernel, on the thread that called mgemm_kernels. Not 0 stops it. */
typedef int32_t (*mgemm_kernel_fn)(const mgemm_kernel_info* kernel, void* user);

/* Calls `fn` for every kernel that a target holds (some need the shared memory or the copy engine of newer boards), on
 * every target named: "all", or targets with commas, each as sm_90a, compute_90a or 90a. With `compile` 1 each kernel's
 * machine code is made, or found in the cache, by up to `threads` host threads at a time (0: all the process may run
 * on); this needs NVRTC and mamba-gemm-assemble, but neither a driver nor a device. With 0 they are only listed.
 * `cache_dir` as in mgemm_context_options. A kernel that cannot be compiled is not an error but a state. Errors:
 * MGEMM_INVALID_ARGUMENT, MGEMM_CANCELLED (stopped by `fn`). Any thread.
 */
MGEMM_API mgemm_status mgemm_kernels(const char* targets, int32_t compile, int32_t threads, const char* cache_dir,
                                     mgemm_kernel_fn fn, void* user) MGEMM_NOEXCEPT;

/* clang-format off */
/*
 * ---- Thread rules, function by function -----------------------------------------------------------------------------
 *
 * version_*, source_hash, build_info, status_*, problem_*         any thread, no shared state
 * last_error, last_error_copy, last_driver_code                   of the calling thread
 * set_log, device_count, environment_json, evaluate, cache_*,     any thread; internally synchronised
 * kernels
 * context_options_init, context_create                            any thread
 * context_* (all others), alloc, free, upload, download,          one thread at a time for each context (MGEMM_BUSY
 * plan_*, launch_*, prepare, gemm, warmup                         otherwise), not bound to the one that made it
 *
 * Process-wide state: the driver and NVRTC function tables, compiled modules by CUDA context, the handle tables, the
 * log settings, which once-only warnings were given, the evaluator's thread pool, the open cache folders, the cache
 * entries that are being made, the cache's counters, what was found in files of NVRTC, and which modules could not be
 * made into machine code. All of it is thread-safe, and none of it is torn down at exit.
 */
/* clang-format on */

#ifdef __cplusplus
}
#endif

#include "mamba_gemm/mamba_gemm_cache.h"

#endif /* MAMBA_GEMM_H */
