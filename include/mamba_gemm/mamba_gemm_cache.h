/*
 * mamba_gemm_cache.h - what is in the cache of compiled code, and what it has done. Part of mamba_gemm.h, whose rules
 * hold here and which includes it.
 *
 * The folder that compiled code is kept in, see docs/cache.md. Every function here is for any thread; none makes the
 * folder. Where one takes `cache_dir`, that is as in mgemm_context_options: NULL: by the environment (see
 * mgemm_cache_path); "off": no cache; else an absolute path. It is read during the call only. A folder that is not
 * there, and no cache at all, count as an empty one. Errors of all functions with `cache_dir`: MGEMM_INVALID_ARGUMENT
 * (a path that is not absolute), MGEMM_IO (the folder is refused, because others could have written to it, or cannot be
 * read; the text says what to do). Other processes may change the folder at any time, so two calls may see different
 * entries.
 */
#ifndef MAMBA_GEMM_CACHE_H
#define MAMBA_GEMM_CACHE_H

#include "mamba_gemm/mamba_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The folder compiled code is kept in when a context does not name one, by the string rule: MAMBA_GEMM_CACHE if it is
 * an absolute path, else $XDG_CACHE_HOME/mamba-gemm, else $HOME/.cache/mamba-gemm. "" if there is none:
 * MAMBA_GEMM_CACHE is "off" or "0" or not absolute, or no variable names an absolute path. The folder need not exist
 * yet. Any thread. */
MGEMM_API mgemm_status mgemm_cache_path(char* buffer, size_t capacity, size_t* needed) MGEMM_NOEXCEPT;

/* The kinds of entry. In JSON: "ptx", "machine-code", "memo", "verdict". */
enum { MGEMM_CACHE_PTX = 1, MGEMM_CACHE_MACHINE_CODE = 2, MGEMM_CACHE_MEMO = 3, MGEMM_CACHE_VERDICT = 4 };

/* Why an entry is not used. In JSON: "truncated", "wrong-key" and so on. */
enum {
  MGEMM_CACHE_REJECT_TRUNCATED = 1,   /* shorter than it says */
  MGEMM_CACHE_REJECT_OVERLONG = 2,    /* longer than it says, or than an entry may be */
  MGEMM_CACHE_REJECT_FOREIGN = 3,     /* not written by this library */
  MGEMM_CACHE_REJECT_VERSION = 4,     /* another format version */
  MGEMM_CACHE_REJECT_MALFORMED = 5,   /* lengths, fields or kind that cannot be */
  MGEMM_CACHE_REJECT_DAMAGED = 6,     /* a SHA-256 that does not match */
  MGEMM_CACHE_REJECT_WRONG_KEY = 7,   /* of another key or kind than its name says */
  MGEMM_CACHE_REJECT_NOT_A_FILE = 8,  /* a folder, link, pipe or socket */
  MGEMM_CACHE_REJECT_HARD_LINKED = 9, /* it has another name */
  MGEMM_CACHE_REJECT_OWNER = 10,      /* of another user */
  MGEMM_CACHE_REJECT_MODE = 11,       /* not 0600 */
  MGEMM_CACHE_REJECT_UNREADABLE = 12  /* the operating system gave an error */
};

/* Why an entry was not kept. In JSON: "no-space", "read-only" and so on. */
enum {
  MGEMM_CACHE_FAILURE_NO_SPACE = 1,
  MGEMM_CACHE_FAILURE_READ_ONLY = 2,
  MGEMM_CACHE_FAILURE_DENIED = 3,
  MGEMM_CACHE_FAILURE_STALE = 4, /* the folder was removed meanwhile */
  MGEMM_CACHE_FAILURE_IO = 5,
  MGEMM_CACHE_FAILURE_TOO_LARGE = 6,
  MGEMM_CACHE_FAILURE_OTHER = 7
};

/* The lengths of the arrays below, with room for later values. Element 0 and those without a name are 0. */
enum { MGEMM_CACHE_KINDS = 8, MGEMM_CACHE_REJECTS = 32, MGEMM_CACHE_FAILURES = 16 };

typedef struct mgemm_cache_counters {
  size_t struct_size;
  uint64_t hits[MGEMM_CACHE_KINDS];     /* entries used from a folder, by MGEMM_CACHE_PTX .. */
  uint64_t misses;                      /* look-ups that found nothing usable at first */
  uint64_t compiles[MGEMM_CACHE_KINDS]; /* started, whatever came of them, by what they were to make */
  uint64_t failed_compiles;
  uint64_t waits_for_threads, waits_for_processes; /* that were making the same */
  uint64_t lock_timeouts, lock_failures; /* waits that ended at their bound; locks that could not be had at all */
  uint64_t rejects[MGEMM_CACHE_REJECTS]; /* entries found and not used, by MGEMM_CACHE_REJECT_* */
  uint64_t evictions, reaped; /* entries removed to keep the folder small; files that dead writers had left */
  uint64_t stores;            /* entries kept */
  uint64_t store_failures[MGEMM_CACHE_FAILURES]; /* entries not kept, by MGEMM_CACHE_FAILURE_* */
  uint64_t bytes_read, bytes_written;            /* of whole entries */
  uint64_t nvrtc_loads, nvrtc_hashes; /* times that an NVRTC was opened, and read whole to tell which it is */
  uint64_t reserved[8];
} mgemm_cache_counters;

/* What the cache has done in this process since it started, for all folders. The child of a fork goes on from its
 * parent's numbers. Other threads may be counting, so the numbers are of nearly the same moment. The functions below
 * look without being counted. Any thread. */
MGEMM_API mgemm_status mgemm_cache_get_counters(mgemm_cache_counters* counters) MGEMM_NOEXCEPT;

/* Every entry of a folder, the latest used first, each read and checked whole, as a JSON object by the string rule:
 * {"path", "rule", "entries": [{"key", "kind", "bytes", "age_seconds", "sound", "problem", "payload_bytes",
 * "payload_sha256", "fields": [{"tag", "value"}, ..]}, ..]}. `rule` says what chose the folder, `bytes` is the size of
 * the file, the age is since the last use, to an hour. A sound entry has "problem" null, and fields that say where it
 * came from (tags may repeat, values may be null). Of any other entry the problem is a text, payload_bytes and
 * payload_sha256 are null and there are no fields. As entries come, go and age, the second of two calls may need more
 * room than the first said: try again. */
MGEMM_API mgemm_status mgemm_cache_list_json(const char* cache_dir, char* buffer, size_t capacity,
                                             size_t* needed) MGEMM_NOEXCEPT;

/* Numbers about a folder, by names and sizes of its files without reading them, as a JSON object by the string rule:
 * {"path", "rule", "exists", "refusal", "remedy", "cap", "entry_count", "bytes", "kinds": {"ptx": {"entry_count",
 * "bytes"}, ..}, "temporaries", "others", "counters"}. `cap` is how many bytes the folder may have, `temporaries`
 * counts unfinished files of writers, `others` files that are not the library's, and "counters" has
 * mgemm_cache_get_counters' numbers by name. A refused folder is no error of this function: "refusal" is the text then,
 * "remedy" the part of it that says what to do, and both are null otherwise. */
MGEMM_API mgemm_status mgemm_cache_totals_json(const char* cache_dir, char* buffer, size_t capacity,
                                               size_t* needed) MGEMM_NOEXCEPT;

/* The content of one sound entry: PTX text, machine code, or what else `kind`, one of MGEMM_CACHE_PTX .., says. `key`
 * is 64 lower-case hexadecimal digits. By the string rule, except that it is bytes and not text: no NUL is added, and
 * `needed` is the exact number of bytes. Errors: MGEMM_NO_ENTRY; MGEMM_IO (there is one and it is not sound; the text
 * says why). */
MGEMM_API mgemm_status mgemm_cache_payload(const char* cache_dir, const char* key, int32_t kind, void* buffer,
                                           size_t capacity, size_t* needed) MGEMM_NOEXCEPT;

typedef struct mgemm_cache_report {
  size_t struct_size;
  uint64_t sound;   /* mgemm_cache_verify: entries that would be used, */
  uint64_t bad;     /* and those that would not */
  uint64_t removed; /* entries that were removed */
  uint64_t failed;  /* entries that should have been removed and could not be */
  uint64_t bytes;   /* the size of the files removed */
  uint64_t reserved[4];
} mgemm_cache_report;

/* Reads and checks every entry of a folder, and with `repair` 1 (0: not) removes those that would not be used. Bad
 * entries are no error: look at the report. */
MGEMM_API mgemm_status mgemm_cache_verify(const char* cache_dir, int32_t repair,
                                          mgemm_cache_report* report) MGEMM_NOEXCEPT;

/* Removes the entries of a folder that were not used for `older_than_seconds` (to an hour; at least 0), or all with -1,
 * and files that dead writers left. Files that are not the library's stay. Running processes go on: what they have
 * loaded stays theirs. Entries that could not be removed are no error: look at the report, whose `sound` and `bad` are
 * 0. */
MGEMM_API mgemm_status mgemm_cache_purge(const char* cache_dir, int64_t older_than_seconds,
                                         mgemm_cache_report* report) MGEMM_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* MAMBA_GEMM_CACHE_H */
