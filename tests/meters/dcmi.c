/* DCMI for OpenIPMI's ipmi_sim: Get DCMI Capability Info (parameter 5, one rolling average of 5 s) and Get Power
 * Reading. The option is a folder. Its file "power" has all that the meter will ever show, in lines of Unix nanoseconds
 * and watts; its file "state" two whole numbers: whether the BMC measures, and a completion code to answer with instead
 * (0: none). */
#include <OpenIPMI/mcserv.h>
#include <OpenIPMI/serv.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static char folder[4000];
static long long *times;
static double *watts;
static int count;

static void put(unsigned char *at, unsigned long value, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(value >> (8 * i));
}

static unsigned int shown(void) {
  struct timespec now;
  long long at;
  int low = 0, high = count;

  clock_gettime(CLOCK_REALTIME, &now);
  at = now.tv_sec * 1000000000LL + now.tv_nsec;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (times[middle] <= at)
      low = middle;
    else
      high = middle;
  }
  return (unsigned int)(watts[low] + 0.5);
}

static void power(unsigned char *rdata, unsigned int *rdata_len) {
  char path[4096];
  unsigned int active = 0, code = 0;
  FILE *file;

  snprintf(path, sizeof path, "%s/state", folder);
  file = fopen(path, "r");
  if (!file || fscanf(file, "%u %u", &active, &code) != 2) code = 0xff;
  if (file) fclose(file);
  rdata[0] = (unsigned char)code;
  *rdata_len = 1;
  if (code) return;
  for (int at = 2; at < 10; at += 2) /* current, minimum, maximum, average */
    put(rdata + at, shown(), 2);
  put(rdata + 10, (unsigned long)time(NULL), 4);
  put(rdata + 14, 1000, 4);
  rdata[18] = active ? 0x40 : 0;
  *rdata_len = 19;
}

static void handle(lmc_data_t *mc, msg_t *msg, unsigned char *rdata, unsigned int *rdata_len, void *data) {
  (void)mc;
  (void)data;
  rdata[1] = 0xdc;
  if (msg->cmd == 1) {
    rdata[0] = 0;
    put(rdata + 2, 0x020501, 3); /* DCMI 1.5, revision 2 */
    rdata[5] = 1;
    rdata[6] = 5;
    *rdata_len = 7;
  } else if (msg->cmd == 2) {
    power(rdata, rdata_len);
  } else {
    rdata[0] = 0xc1;
    *rdata_len = 1;
  }
}

int ipmi_sim_module_print_version(sys_data_t *sys, char *options) {
  (void)sys;
  (void)options;
  return 0;
}

int ipmi_sim_module_init(sys_data_t *sys, const char *options) {
  char path[4096];
  int room = 0;
  FILE *file;

  (void)sys;
  snprintf(folder, sizeof folder, "%s", options);
  snprintf(path, sizeof path, "%s/power", folder);
  file = fopen(path, "r");
  if (!file) return 1;
  for (;;) {
    if (count == room) {
      room = room ? 2 * room : 1024;
      times = realloc(times, room * sizeof *times);
      watts = realloc(watts, room * sizeof *watts);
      if (!times || !watts) return 1;
    }
    if (fscanf(file, "%lld %lf", times + count, watts + count) != 2) break;
    count++;
  }
  fclose(file);
  if (!count) return 1;
  ipmi_emu_register_group_extension_handler(0xdc, handle, NULL);
  return 0;
}
