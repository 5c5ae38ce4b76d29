/* Checks for the C tests: each failure is printed with its text, and the program goes on. */
#ifndef MGEMM_TESTS_CHECK_H
#define MGEMM_TESTS_CHECK_H

#include <stdio.h>

extern int checks_failed;

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      ++checks_failed;                                                \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                 \
  } while (0)

/* A call that must succeed. */
#define OK(call)                                                                                    \
  do {                                                                                              \
    const mgemm_status status_ = (call);                                                            \
    if (status_ != MGEMM_OK) {                                                                      \
      ++checks_failed;                                                                              \
      fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call, mgemm_status_name(status_), \
              mgemm_last_error());                                                                  \
    }                                                                                               \
  } while (0)

#endif
