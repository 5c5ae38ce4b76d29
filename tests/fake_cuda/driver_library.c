/* A library that looks like libcuda.so.1 to the loader's code and does nothing. Compiled once per variant:
 * FAKE_VERSION what it says it supports, FAKE_INIT the result of cuInit, FAKE_MISSING a function it lacks,
 * FAKE_NO_PROC without cuGetProcAddress_v2. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION 12040
#endif
#ifndef FAKE_INIT
#define FAKE_INIT 0
#endif
#ifndef FAKE_MISSING
#define FAKE_MISSING ""
#endif

int cuDriverGetVersion(int* version);
const char* fake_requests(void);
int fake_init_count(void);

static char requests[8192];
static int init_count;

/* Every request as "name@version/flags ". */
const char* fake_requests(void) { return requests; }
int fake_init_count(void) { return init_count; }

int cuDriverGetVersion(int* version) {
  *version = FAKE_VERSION;
  return 0;
}

#ifndef FAKE_NO_PROC
static int init(unsigned flags) {
  (void)flags;
  ++init_count;
  return FAKE_INIT;
}

static int error_name(int error, const char** text) {
  (void)error;
  *text = "CUDA_ERROR_OF_THE_FAKE";
  return 0;
}

static int nothing(void) { return 0; }

int cuGetProcAddress_v2(const char* symbol, void** pointer, int version, uint64_t flags, int* found);

int cuGetProcAddress_v2(const char* symbol, void** pointer, int version, uint64_t flags, int* found) {
  const size_t used = strlen(requests);
  snprintf(requests + used, sizeof requests - used, "%s@%d/%d ", symbol, version, (int)flags);
  if (found != NULL) *found = 0;
  *pointer = NULL;
  if (strcmp(symbol, FAKE_MISSING) == 0) return 500;
  union {
    int (*init)(unsigned);
    int (*name)(int, const char**);
    int (*version)(int*);
    int (*other)(void);
    void* pointer;
  } function = {.other = nothing};
  if (strcmp(symbol, "cuInit") == 0) function.init = init;
  if (strcmp(symbol, "cuGetErrorName") == 0 || strcmp(symbol, "cuGetErrorString") == 0) function.name = error_name;
  if (strcmp(symbol, "cuDriverGetVersion") == 0) function.version = cuDriverGetVersion;
  *pointer = function.pointer;
  return 0;
}
#endif
