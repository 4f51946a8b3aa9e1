/* A CUDA driver for the tests, of two devices: it computes the two kernels of kernels.cu on the host, by their names,
   or does wrong in one way, which FAKE_CUDA names. */
#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local int current = -1;
static atomic_int contexts_alive;

static int fault(const char *name) {
  const char *word = getenv("FAKE_CUDA");
  return word != NULL && strcmp(word, name) == 0;
}

int cuInit(unsigned flags) {
  (void)flags;
  return fault("no_init") ? 999 : 0;
}
int cuDriverGetVersion(int *version) { return *version = 12040, 0; }
int cuDeviceGetCount(int *count) {
  *count = fault("no_device") ? 0 : 2;
  return fault("error_100") ? 100 : 0;
}
int cuDeviceGet(int *handle, int index) { return *handle = 10 + index, 0; }
int cuDeviceGetName(char *name, int room, int handle) {
  return snprintf(name, (size_t)room, "Fake GPU %d", handle - 10), 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int handle) { return (void)handle, *bytes = (size_t)8 << 30, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int handle) {
  (void)handle;
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : 132;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int handle) {
  ++contexts_alive;
  *context = (void *)(intptr_t)handle;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int handle) {
  (void)handle;
  --contexts_alive;
  return 0;
}
int cuCtxSetCurrent(void *context) { return current = (int)(intptr_t)context - 10, 0; }
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  *free_bytes = *total = (size_t)1 << 30;
  return 0;
}
int cuModuleLoadData(void **module, const char *image) {
  if (fault("no_module") || strstr(image, ".visible .entry triad") == NULL) return 222;
  *module = (void *)1;
  return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  (void)module;
  *function = (void *)(intptr_t)(strcmp(name, "triad") == 0 ? 1 : 2);
  return 0;
}
int cuModuleUnload(void *module) { return (void)module, 0; }
int cuMemAlloc_v2(uint64_t *buffer, size_t bytes) {
  *buffer = (uint64_t)(uintptr_t)malloc(bytes);
  return *buffer == 0 ? 2 : 0;
}
int cuMemFree_v2(uint64_t buffer) {
  free((void *)(uintptr_t)buffer);
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  memcpy((void *)(uintptr_t)to, from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  memcpy(to, (void *)(uintptr_t)from, bytes);
  return 0;
}

static int lost(void) { return fault("lost_together") && current == 1 && contexts_alive > 1; }

static void triad(void **arguments) {
  float *a = *(float **)arguments[0];
  const float *b = *(float **)arguments[1], *c = *(float **)arguments[2], s = *(float *)arguments[3];
  const unsigned n = *(unsigned *)arguments[4];
  for (unsigned i = 0; i < n; ++i) a[i] = b[i] + s * c[i];
  if (fault("wrong_triad")) a[n / 2] += 1;
}

static void bodies(void **arguments) {
  float(*out)[4] = *(void **)arguments[0];
  const float(*body)[4] = *(void **)arguments[1];
  const unsigned n = *(unsigned *)arguments[2], added = fault("wrong_bodies") ? n - n / 64 : n;
  for (unsigned i = 0; i < n; ++i) {
    float sum[3] = {0, 0, 0};
    for (unsigned j = 0; j < added; ++j) {
      float d[3], square = *(float *)arguments[3];
      for (int k = 0; k < 3; ++k) d[k] = body[j][k] - body[i][k], square += d[k] * d[k];
      const float inverse = 1 / sqrtf(square);
      for (int k = 0; k < 3; ++k) sum[k] += body[j][3] * inverse * inverse * inverse * d[k];
    }
    for (int k = 0; k < 3; ++k) out[i][k] = sum[k];
    out[i][3] = 0;
  }
}

int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty, unsigned tz,
                   unsigned shared, void *stream, void **arguments, void **extra) {
  (void)x, (void)y, (void)z, (void)tx, (void)ty, (void)tz, (void)shared, (void)stream, (void)extra;
  if (lost()) return 719;
  if (fault("unwritten")) return 0;
  if (function == (void *)1)
    triad(arguments);
  else
    bodies(arguments);
  return 0;
}
int cuCtxSynchronize(void) { return lost() ? 719 : 0; }
int cuGetErrorName(int code, const char **text) {
  *text = code == 719   ? "CUDA_ERROR_LAUNCH_FAILED"
          : code == 222 ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
                        : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuGetErrorString(int code, const char **text) { return (void)code, *text = "as the fake was told", 0; }
