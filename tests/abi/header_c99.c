/* The public header is C99, every function it declares is there, and the whole life of a product works from plain C on
 * the reference device. */
#include "mamba_gemm/mamba_gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "function_table.h"

int checks_failed = 0;

enum { M = 5, K = 37, N = 11 };

/* Simple numbers with fractions that do not fit, so that every product and sum rounds. */
static void fill(float* values, int count, float start) {
  for (int i = 0; i < count; ++i) values[i] = start + 0.1f * (float)(i % 17) - 0.07f * (float)(i % 5);
}

/* The contract for K <= 512: one chain of fused multiply-adds in ascending order, then the bias. */
static void plain_product(const float* x, const float* w, const float* bias, float* y) {
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      float sum = 0.0f;
      for (int r = 0; r < K; ++r) sum = fmaf(x[i * K + r], w[r * N + j], sum);
      y[i * N + j] = sum + bias[j];
    }
  }
}

static void check_functions(void) {
  CHECK(function_count > 0);
  for (size_t i = 0; i < function_count; ++i) {
    if (function_table[i].address == NULL) {
      ++checks_failed;
      fprintf(stderr, "%s has no address\n", function_table[i].name);
    }
  }
}

static void check_process(void) {
  const uint32_t version = MGEMM_VERSION_MAJOR * 10000 + MGEMM_VERSION_MINOR * 100 + MGEMM_VERSION_PATCH;
  int32_t devices = -1;
  char text[64];
  snprintf(text, sizeof text, "%d.%d.%d", MGEMM_VERSION_MAJOR, MGEMM_VERSION_MINOR, MGEMM_VERSION_PATCH);
  CHECK(mgemm_version_number() == version);
  CHECK(strcmp(mgemm_version_string(), text) == 0);
  CHECK(strlen(mgemm_source_hash()) == 64);
  CHECK(strlen(mgemm_build_info()) > 0);
  CHECK(strcmp(mgemm_status_name(MGEMM_BAD_HANDLE), "MGEMM_BAD_HANDLE") == 0);
  CHECK(mgemm_status_class(MGEMM_BAD_HANDLE) == MGEMM_CLASS_CALLER);
  CHECK(mgemm_status_class(-7) == -1);
  OK(mgemm_device_count(&devices));
  CHECK(devices >= 0);
}

static void check_problem_strings(const mgemm_problem* problem) {
  char text[256];
  size_t needed = 0;
  mgemm_problem again;
  OK(mgemm_problem_to_string(problem, NULL, 0, &needed));
  CHECK(needed > 1 && needed <= sizeof text);
  OK(mgemm_problem_to_string(problem, text, sizeof text, &needed));
  CHECK(needed == strlen(text) + 1);
  CHECK(strcmp(text, "nn:f32:5x37x11:bias") == 0);
  CHECK(mgemm_problem_to_string(problem, text, 3, &needed) == MGEMM_INVALID_ARGUMENT);
  CHECK(strcmp(text, "nn:f32:5x37x11:bias") == 0);
  OK(mgemm_problem_from_string(&again, sizeof again, text));
  CHECK(again.op == MGEMM_OP_NN && again.bias == 1 && again.m == M && again.k == K && again.n == N);
  CHECK(mgemm_problem_from_string(&again, sizeof again, "xx:f32:1x1x1") == MGEMM_INVALID_ARGUMENT);
  CHECK(strlen(mgemm_last_error()) > 0);
}

static void check_description(const mgemm_description* description) {
  CHECK(description->struct_size == sizeof *description);
  CHECK(description->device_kind == MGEMM_DEVICE_REFERENCE);
  CHECK(description->slices == 1);
  CHECK(strcmp(description->problem, "nn:f32:5x37x11:bias") == 0);
  CHECK(strcmp(description->kernel, "evaluator") == 0);
  CHECK(strncmp(description->contract, "F32_FMA/", 8) == 0);
  CHECK(strlen(description->identity) == 64);
}

static void check_json(mgemm_launch launch) {
  size_t needed = 0;
  char* json;
  OK(mgemm_launch_describe_json(launch, NULL, 0, &needed));
  json = malloc(needed);
  if (json == NULL) {
    ++checks_failed;
    return;
  }
  OK(mgemm_launch_describe_json(launch, json, needed, NULL));
  CHECK(json[0] == '{' && strstr(json, "nn:f32:5x37x11:bias") != NULL);
  free(json);
}

typedef struct layer {
  float x[M * K], w[K * N], bias[N], expected[M * N], got[M * N];
  mgemm_problem problem;
  mgemm_operands operands;
} layer;

static uint64_t on_device(mgemm_context context, const float* values, size_t bytes) {
  uint64_t address = 0;
  OK(mgemm_alloc(context, (int64_t)bytes, &address));
  CHECK(address % 256 == 0);
  if (address != 0 && values != NULL) OK(mgemm_upload(context, address, values, (int64_t)bytes));
  return address;
}

static void check_output(mgemm_context context, layer* it) {
  memset(it->got, 0, sizeof it->got);
  OK(mgemm_context_synchronize(context));
  OK(mgemm_download(context, it->got, it->operands.out, (int64_t)sizeof it->got));
  CHECK(memcmp(it->got, it->expected, sizeof it->got) == 0);
  memset(it->got, 0, sizeof it->got);
  OK(mgemm_upload(context, it->operands.out, it->got, (int64_t)sizeof it->got));
}

static void check_launch(mgemm_context context, mgemm_plan plan, layer* it) {
  mgemm_launch launch = 0;
  mgemm_verify_report report;
  mgemm_description description;
  OK(mgemm_launch_create(&launch, plan, &it->operands));
  OK(mgemm_launch_run(launch));
  check_output(context, it);

  OK(mgemm_launch_bind(launch, &it->operands));
  OK(mgemm_launch_validate(launch));
  OK(mgemm_launch_run_on(launch, 0));
  check_output(context, it);

  memset(&report, 0, sizeof report);
  report.struct_size = sizeof report;
  OK(mgemm_launch_verify(launch, 20, 1, &report));
  CHECK(report.checked >= 20 && report.mismatches == 0 && report.first_row == -1 && report.first_column == -1);

  memset(&description, 0, sizeof description);
  description.struct_size = sizeof description;
  OK(mgemm_launch_describe(launch, &description));
  check_description(&description);
  CHECK(description.a == it->operands.a && description.out == it->operands.out);
  check_json(launch);
  OK(mgemm_launch_destroy(launch));
  CHECK(mgemm_launch_run(launch) == MGEMM_BAD_HANDLE);
}

static void check_plan(mgemm_context context, layer* it) {
  mgemm_plan plan = 0;
  mgemm_description description;
  OK(mgemm_plan_create(&plan, context, &it->problem, 0));
  memset(&description, 0, sizeof description);
  description.struct_size = sizeof description;
  OK(mgemm_plan_describe(plan, &description));
  check_description(&description);
  CHECK(description.a == 0 && description.out == 0);
  check_launch(context, plan, it);
  OK(mgemm_plan_destroy(plan));
  CHECK(mgemm_plan_destroy(plan) == MGEMM_BAD_HANDLE);
}

static void check_evaluator(const layer* it) {
  const int64_t rows[2] = {0, M - 1};
  const int64_t columns[2] = {N - 1, 3};
  float values[2] = {0, 0};
  mgemm_operands host;
  memset(&host, 0, sizeof host);
  host.struct_size = sizeof host;
  host.a = (uint64_t)(uintptr_t)it->x;
  host.b = (uint64_t)(uintptr_t)it->w;
  host.bias = (uint64_t)(uintptr_t)it->bias;
  OK(mgemm_evaluate(MGEMM_PROFILE_SM90, &it->problem, &host, 2, rows, columns, values));
  CHECK(values[0] == it->expected[N - 1]);
  CHECK(values[1] == it->expected[(M - 1) * N + 3]);
}

static void check_lifecycle(void) {
  static layer it;
  mgemm_context context = 0;
  mgemm_context_options options;
  mgemm_device_info info;
  mgemm_launch launch = 0;

  OK(mgemm_context_options_init(&options, sizeof options, MGEMM_DEVICE_REFERENCE));
  CHECK(options.struct_size == sizeof options && options.device_kind == MGEMM_DEVICE_REFERENCE);
  options.threads = 2;
  OK(mgemm_context_create(&context, &options));
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  OK(mgemm_context_device_info(context, &info));
  CHECK(info.kind == MGEMM_DEVICE_REFERENCE && info.compute_major == 9 && info.compute_minor == 0);
  CHECK(strlen(info.name) > 0);

  fill(it.x, M * K, 0.3f);
  fill(it.w, K * N, -0.6f);
  fill(it.bias, N, 1.1f);
  plain_product(it.x, it.w, it.bias, it.expected);
  OK(mgemm_problem_init(&it.problem, sizeof it.problem, MGEMM_OP_NN));
  it.problem.m = M;
  it.problem.k = K;
  it.problem.n = N;
  it.problem.bias = 1;
  check_problem_strings(&it.problem);
  check_evaluator(&it);

  it.operands.struct_size = sizeof it.operands;
  it.operands.a = on_device(context, it.x, sizeof it.x);
  it.operands.b = on_device(context, it.w, sizeof it.w);
  it.operands.bias = on_device(context, it.bias, sizeof it.bias);
  it.operands.out = on_device(context, it.got, sizeof it.got);
  check_plan(context, &it);

  OK(mgemm_prepare(&launch, context, &it.problem, &it.operands));
  OK(mgemm_launch_run(launch));
  check_output(context, &it);
  OK(mgemm_gemm(context, &it.problem, &it.operands));
  check_output(context, &it);

  OK(mgemm_free(context, it.operands.bias));
  CHECK(mgemm_launch_run(launch) == MGEMM_STALE);
  OK(mgemm_launch_destroy(launch));
  OK(mgemm_free(context, it.operands.a));
  OK(mgemm_context_destroy(context));
  CHECK(mgemm_context_destroy(context) == MGEMM_BAD_HANDLE);
}

int main(void) {
  check_functions();
  check_process();
  check_lifecycle();
  printf("%d checks failed\n", checks_failed);
  return checks_failed == 0 ? 0 : 1;
}
