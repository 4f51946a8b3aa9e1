/* A small libnvidia-ml.so.1: as much of NVML as the meter asks, with values from a text file that is read at each call.
 *
 * FAKE_NVML names the file, lines of "key value": driver 535.104.05, gpus 2, and for each GPU gpu0.name, gpu0.arch,
 * gpu0.average, gpu0.instant, gpu0.module.average, gpu0.module.instant, gpu0.usage (mW), gpu0.energy (mJ),
 * gpu0.temperature, gpu0.limit, gpu0.cap (mW). A missing value is NVML_ERROR_NOT_SUPPORTED; the words "refused" and
 * "lost" are those errors; "hang" does not return while it stands there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, INVALID = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, LOST = 15 };

typedef struct {
  unsigned field, scope;
  long long timestamp, latency;
  int type, result;
  union {
    double d;
    unsigned u;
    unsigned long long ull;
  } value;
} Field;

static int words(const char* key, char* out, size_t size) {
  const char* path = getenv("FAKE_NVML");
  FILE* file = path ? fopen(path, "r") : NULL;
  char line[256];
  int found = 0;
  while (file && !found && fgets(line, sizeof line, file)) {
    const size_t n = strlen(key);
    if (strncmp(line, key, n) == 0 && line[n] == ' ') {
      line[strcspn(line, "\n")] = 0;
      snprintf(out, size, "%s", line + n + 1);
      found = 1;
    }
  }
  if (file) fclose(file);
  return found;
}

static int text(int gpu, const char* name, char* out, size_t size) {
  char key[64];
  if (gpu < 0)
    snprintf(key, sizeof key, "%s", name);
  else
    snprintf(key, sizeof key, "gpu%d.%s", gpu, name);
  while (words(key, out, size) && strcmp(out, "hang") == 0) {
    struct timespec nap = {0, 5000000};
    nanosleep(&nap, NULL);
  }
  if (!words(key, out, size)) return NOT_SUPPORTED;
  if (strcmp(out, "refused") == 0) return NO_PERMISSION;
  return strcmp(out, "lost") == 0 ? LOST : SUCCESS;
}

static int number(int gpu, const char* name, unsigned long long* out) {
  char said[128];
  const int result = text(gpu, name, said, sizeof said);
  if (result == SUCCESS) *out = strtoull(said, NULL, 10);
  return result;
}

static int of(void* handle) { return (int)((long)handle - 1); }

static int small(void* handle, const char* name, unsigned* out) {
  unsigned long long value = 0;
  const int result = number(of(handle), name, &value);
  *out = (unsigned)value;
  return result;
}

int nvmlInit_v2(void) { return getenv("FAKE_NVML") ? SUCCESS : 9; }
int nvmlInitWithFlags(unsigned flags) { return (void)flags, nvmlInit_v2(); }
int nvmlShutdown(void) { return SUCCESS; }
const char* nvmlErrorString(int result) {
  return result == LOST ? "GPU is lost" : result == 9 ? "Driver Not Loaded" : "an error";
}
int nvmlSystemGetDriverVersion(char* out, unsigned size) { return text(-1, "driver", out, size); }
int nvmlDeviceGetCount_v2(unsigned* out) {
  unsigned long long value = 0;
  const int result = number(-1, "gpus", &value);
  *out = (unsigned)value;
  return result;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
  char said[64];
  *out = (void*)(long)(index + 1);
  return text((int)index, "handle", said, sizeof said) == LOST ? LOST : SUCCESS;
}
int nvmlDeviceGetName(void* handle, char* out, unsigned size) { return text(of(handle), "name", out, size); }
int nvmlDeviceGetUUID(void* handle, char* out, unsigned size) { return text(of(handle), "uuid", out, size); }
int nvmlDeviceGetVbiosVersion(void* handle, char* out, unsigned size) { return text(of(handle), "vbios", out, size); }
int nvmlDeviceGetArchitecture(void* handle, unsigned* out) { return small(handle, "arch", out); }
int nvmlDeviceGetPowerUsage(void* handle, unsigned* out) { return small(handle, "usage", out); }
int nvmlDeviceGetEnforcedPowerLimit(void* handle, unsigned* out) { return small(handle, "cap", out); }
int nvmlDeviceGetPowerManagementLimitConstraints(void* handle, unsigned* least, unsigned* most) {
  *least = 1000;
  return small(handle, "limit", most);
}
int nvmlDeviceGetTemperature(void* handle, int sensor, unsigned* out) {
  return (void)sensor, small(handle, "temperature", out);
}
int nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* out) {
  return number(of(handle), "energy", out);
}
int nvmlDeviceGetFieldValues(void* handle, int count, Field* fields) {
  for (int i = 0; i < count; ++i) {
    static const char* scopes[] = {"", "module.", "memory."};
    char name[32];
    unsigned long long value = 0;
    if (fields[i].scope > 2 || (fields[i].field != 185 && fields[i].field != 186)) {
      fields[i].result = NOT_SUPPORTED;
      continue;
    }
    snprintf(name, sizeof name, "%s%s", scopes[fields[i].scope], fields[i].field == 185 ? "average" : "instant");
    fields[i].result = number(of(handle), name, &value);
    fields[i].type = 1;
    fields[i].value.u = (unsigned)value;
  }
  return SUCCESS;
}
