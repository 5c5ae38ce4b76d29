/* The functions of the public header, see function_table.cmake. */
#ifndef MGEMM_TESTS_FUNCTION_TABLE_H
#define MGEMM_TESTS_FUNCTION_TABLE_H

#include <stddef.h>

typedef void (*any_function)(void);

typedef struct function_entry {
  const char* name;
  any_function address;
} function_entry;

extern const function_entry function_table[];
extern const size_t function_count;

#endif
