/* A library that looks like libnvrtc to the search and does nothing. Compiled once per variant: FAKE_MAJOR and
 * FAKE_MINOR are what it says it is; FAKE_INCOMPLETE leaves out nvrtcGetPTX. */
#include <stddef.h>

int nvrtcVersion(int* major, int* minor);
const char* nvrtcGetErrorString(int result);
int nvrtcCreateProgram(void);
int nvrtcDestroyProgram(void);
int nvrtcCompileProgram(void);
int nvrtcGetPTXSize(void);
int nvrtcGetPTX(void);
int nvrtcGetProgramLogSize(void);
int nvrtcGetProgramLog(void);
int nvrtcGetNumSupportedArchs(void);
int nvrtcGetSupportedArchs(void);

int nvrtcVersion(int* major, int* minor) {
  *major = FAKE_MAJOR;
  *minor = FAKE_MINOR;
  return 0;
}
const char* nvrtcGetErrorString(int result) { return result == 0 ? "NVRTC_SUCCESS" : "NVRTC_ERROR"; }
int nvrtcCreateProgram(void) { return 0; }
int nvrtcDestroyProgram(void) { return 0; }
int nvrtcCompileProgram(void) { return 0; }
int nvrtcGetPTXSize(void) { return 0; }
#ifndef FAKE_INCOMPLETE
int nvrtcGetPTX(void) { return 0; }
#endif
int nvrtcGetProgramLogSize(void) { return 0; }
int nvrtcGetProgramLog(void) { return 0; }
int nvrtcGetNumSupportedArchs(void) { return 0; }
int nvrtcGetSupportedArchs(void) { return 0; }
