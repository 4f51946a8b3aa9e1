/* For programs that call FTI (the Fault Tolerance Interface): the calls that most of them make, on this library.
 * Written from FTI's public manual; docs/checkpoint.md says what is the same and what is not.
 *
 *   #define SHAKEDOWN_FTI_NAMES           FTI's own names (FTI_Init, FTI_INTG, ...) for what is declared here
 *   #define SHAKEDOWN_FTI_IMPLEMENTATION  in one source of the program: the functions themselves
 *   #include <shakedown/checkpoint_fti.h> in place of fti.h
 *
 * The configuration file is read and never written. No rank is taken away: SHAKEDOWN_FTI_COMM_WORLD has all of them. */
#ifndef SHAKEDOWN_CHECKPOINT_FTI_H
#define SHAKEDOWN_CHECKPOINT_FTI_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended. */
enum { SHAKEDOWN_FTI_SCES = 0, SHAKEDOWN_FTI_DONE = 1, SHAKEDOWN_FTI_NSCS = -1, SHAKEDOWN_FTI_NREC = -2 };

/* A type of elements: one of these, or one of shakedown_fti_init_type. */
typedef int32_t shakedown_fti_type;
enum {
  SHAKEDOWN_FTI_CHAR,
  SHAKEDOWN_FTI_SHRT,
  SHAKEDOWN_FTI_INTG,
  SHAKEDOWN_FTI_LONG,
  SHAKEDOWN_FTI_UCHR,
  SHAKEDOWN_FTI_USHT,
  SHAKEDOWN_FTI_UINT,
  SHAKEDOWN_FTI_ULNG,
  SHAKEDOWN_FTI_SFLT,
  SHAKEDOWN_FTI_DBLE,
  SHAKEDOWN_FTI_LDBE,
  SHAKEDOWN_FTI_TYPES
};

extern MPI_Comm shakedown_fti_comm_world;

/* COLLECTIVE. Opens the folders that the file names. SCES or NSCS, which rank 0 explains on standard error. */
int shakedown_fti_init(const char* file, MPI_Comm world);
/* A type of elements of so many bytes, which are saved as they are. SCES; NSCS after 64 of them. */
int shakedown_fti_init_type(shakedown_fti_type* type, int bytes);
/* Names memory of this rank by a number. SCES or NSCS. */
int shakedown_fti_protect(int id, void* pointer, int64_t count, shakedown_fti_type type);
/* 1 where there is a checkpoint that recover would take, also one of this run, else 0. */
int shakedown_fti_status(void);
/* COLLECTIVE. DONE: the state is copied, is being written, and may be changed; NSCS: the run goes on without it. `id`
 * is not needed: generations have numbers of their own. */
int shakedown_fti_checkpoint(int id, int level);
/* COLLECTIVE. Fills what is protected. SCES or NREC. */
int shakedown_fti_recover(void);
/* COLLECTIVE. The first call recovers where there is something (SCES, NREC); later ones checkpoint where one is due
 * (DONE, NSCS), by the minutes of the file. */
int shakedown_fti_snapshot(void);
/* COLLECTIVE. With keep_last_ckpt a last checkpoint goes to the shared folder and all stay; without, all are removed.
 */
int shakedown_fti_finalize(void);

#ifdef __cplusplus
}
#endif

#ifdef SHAKEDOWN_FTI_NAMES
#define FTI_SCES SHAKEDOWN_FTI_SCES
#define FTI_DONE SHAKEDOWN_FTI_DONE
#define FTI_NSCS SHAKEDOWN_FTI_NSCS
#define FTI_NREC SHAKEDOWN_FTI_NREC
#define FTIT_type shakedown_fti_type
#define fti_id_t shakedown_fti_type
#define FTI_CHAR SHAKEDOWN_FTI_CHAR
#define FTI_SHRT SHAKEDOWN_FTI_SHRT
#define FTI_INTG SHAKEDOWN_FTI_INTG
#define FTI_LONG SHAKEDOWN_FTI_LONG
#define FTI_UCHR SHAKEDOWN_FTI_UCHR
#define FTI_USHT SHAKEDOWN_FTI_USHT
#define FTI_UINT SHAKEDOWN_FTI_UINT
#define FTI_ULNG SHAKEDOWN_FTI_ULNG
#define FTI_SFLT SHAKEDOWN_FTI_SFLT
#define FTI_DBLE SHAKEDOWN_FTI_DBLE
#define FTI_LDBE SHAKEDOWN_FTI_LDBE
#define FTI_COMM_WORLD shakedown_fti_comm_world
#define FTI_Init shakedown_fti_init
#define FTI_InitType shakedown_fti_init_type
#define FTI_Protect shakedown_fti_protect
#define FTI_Status shakedown_fti_status
#define FTI_Checkpoint shakedown_fti_checkpoint
#define FTI_Recover shakedown_fti_recover
#define FTI_Snapshot shakedown_fti_snapshot
#define FTI_Finalize shakedown_fti_finalize
#endif

#endif

#if defined(SHAKEDOWN_FTI_IMPLEMENTATION) && !defined(SHAKEDOWN_FTI_IMPLEMENTED)
#define SHAKEDOWN_FTI_IMPLEMENTED
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "checkpoint_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { shakedown_fti_most_types = SHAKEDOWN_FTI_TYPES + 64, shakedown_fti_most_path = 4096 };

MPI_Comm shakedown_fti_comm_world = MPI_COMM_NULL;

static struct {
  shakedown_ckpt* handle;
  int rank;
  int keep_last;
  int has_global;
  int saved; /* a checkpoint of this run */
  int types;
  size_t sizes[shakedown_fti_most_types];
} shakedown_fti;

/* What the file says of `key`, in any section, in any case of letters; `otherwise` where it says nothing. */
static const char* shakedown_fti_value(const char* text, const char* key, char* into, const char* otherwise) {
  for (const char* line = text; line != NULL && *line != 0;) {
    const char* end = strchr(line, '\n');
    const size_t length = end == NULL ? strlen(line) : (size_t)(end - line);
    size_t at = 0, of = 0;
    while (at < length && isspace((unsigned char)line[at])) ++at;
    while (at < length && key[of] != 0 && tolower((unsigned char)line[at]) == key[of]) ++at, ++of;
    while (at < length && isspace((unsigned char)line[at])) ++at;
    if (key[of] == 0 && at < length && line[at] == '=') {
      size_t begin = at + 1, stop = begin;
      while (stop < length && line[stop] != '#' && line[stop] != ';') ++stop;
      while (begin < stop && isspace((unsigned char)line[begin])) ++begin;
      while (stop > begin && isspace((unsigned char)line[stop - 1])) --stop;
      if (stop - begin >= (size_t)shakedown_fti_most_path) return otherwise;
      memcpy(into, line + begin, stop - begin);
      into[stop - begin] = 0;
      return into;
    }
    line = end == NULL ? NULL : end + 1;
  }
  return otherwise;
}

static double shakedown_fti_number(const char* text, const char* key, double otherwise) {
  char into[shakedown_fti_most_path];
  const char* value = shakedown_fti_value(text, key, into, NULL);
  return value == NULL || *value == 0 ? otherwise : strtod(value, NULL);
}

/* The whole file, which the caller frees; NULL where it cannot be read. */
static char* shakedown_fti_text(const char* file) {
  enum { most = 1 << 16 };
  FILE* from = fopen(file, "r");
  if (from == NULL) return NULL;
  char* text = (char*)calloc(most, 1);
  if (text != NULL && fread(text, 1, most - 1, from) == 0) {
    free(text);
    text = NULL;
  }
  fclose(from);
  return text;
}

static int shakedown_fti_said(const char* what, const char* why, int code) {
  if (shakedown_fti.rank == 0) fprintf(stderr, "shakedown_fti: %s: %s\n", what, why);
  return code;
}

static int shakedown_fti_open(const char* text, MPI_Comm world) {
  char local[shakedown_fti_most_path], global[shakedown_fti_most_path], node[64];
  static const char* const keys[] = {"", "ckpt_l1", "ckpt_l2", "ckpt_l3", "ckpt_l4"};
  static const double minutes[] = {0, 3, 5, 7, 11}; /* FTI's own, where the file has none */
  shakedown_ckpt_options options;
  shakedown_ckpt_options_init(&options);
  options.local = shakedown_fti_value(text, "ckpt_dir", local, NULL);
  options.global = shakedown_fti_value(text, "glbl_dir", global, NULL);
  const int node_size = (int)shakedown_fti_number(text, "node_size", 1);
  if (shakedown_fti_number(text, "local_test", 0) > 0 && node_size > 0 && options.local != NULL) {
    /* Several nodes on this one, each with a folder of its own. */
    const size_t used = strlen(local);
    snprintf(node, sizeof node, "node%d", shakedown_fti.rank / node_size);
    snprintf(local + used, sizeof local - used, "/%s", node);
    options.node = node;
  }
  options.group_size = (int)shakedown_fti_number(text, "group_size", 4);
  options.group_losses = options.group_size / 2;
  for (int level = 1; level <= 4; ++level) {
    const double every = shakedown_fti_number(text, keys[level], minutes[level]);
    options.interval_seconds[level] = every > 0 ? 60 * every : -1;
  }
  shakedown_fti.keep_last = shakedown_fti_number(text, "keep_last_ckpt", 0) > 0;
  shakedown_fti.has_global = options.global != NULL;
  shakedown_ckpt_comm comm;
  const int met = shakedown_ckpt_comm_of(world, &comm);
  return met != SHAKEDOWN_CKPT_OK ? met : shakedown_ckpt_open(&comm, &options, &shakedown_fti.handle);
}

int shakedown_fti_init(const char* file, MPI_Comm world) {
  static const size_t sizes[] = {sizeof(char),          sizeof(short),  sizeof(int),        sizeof(long),
                                 sizeof(unsigned char), sizeof(short),  sizeof(int),        sizeof(long),
                                 sizeof(float),         sizeof(double), sizeof(long double)};
  memset(&shakedown_fti, 0, sizeof shakedown_fti);
  memcpy(shakedown_fti.sizes, sizes, sizeof sizes);
  shakedown_fti.types = SHAKEDOWN_FTI_TYPES;
  MPI_Comm_rank(world, &shakedown_fti.rank);
  shakedown_fti_comm_world = world;
  char* text = shakedown_fti_text(file);
  int unread = text == NULL;
  MPI_Allreduce(MPI_IN_PLACE, &unread, 1, MPI_INT, MPI_MAX, world);
  const int opened = unread ? SHAKEDOWN_CKPT_INVALID : shakedown_fti_open(text, world);
  free(text);
  if (unread) return shakedown_fti_said("the configuration cannot be read", file, SHAKEDOWN_FTI_NSCS);
  if (opened == SHAKEDOWN_CKPT_OK) return SHAKEDOWN_FTI_SCES;
  return shakedown_fti_said("cannot begin", shakedown_ckpt_last_error(NULL), SHAKEDOWN_FTI_NSCS);
}

int shakedown_fti_init_type(shakedown_fti_type* type, int bytes) {
  if (bytes < 1 || shakedown_fti.types == shakedown_fti_most_types) return SHAKEDOWN_FTI_NSCS;
  *type = shakedown_fti.types++;
  shakedown_fti.sizes[*type] = (size_t)bytes;
  return SHAKEDOWN_FTI_SCES;
}

int shakedown_fti_protect(int id, void* pointer, int64_t count, shakedown_fti_type type) {
  char name[32];
  snprintf(name, sizeof name, "fti-%d", id);
  if (type < 0 || type >= shakedown_fti.types || count < 0)
    return shakedown_fti_said(name, "no such type, or a count below 0", SHAKEDOWN_FTI_NSCS);
  const uint64_t bytes[1] = {(uint64_t)count * shakedown_fti.sizes[type]};
  const int named =
      shakedown_ckpt_protect(shakedown_fti.handle, name, pointer, SHAKEDOWN_CKPT_BYTES, 1, bytes, NULL, NULL);
  if (named == SHAKEDOWN_CKPT_OK) return SHAKEDOWN_FTI_SCES;
  return shakedown_fti_said(name, shakedown_ckpt_last_error(shakedown_fti.handle), SHAKEDOWN_FTI_NSCS);
}

int shakedown_fti_status(void) {
  shakedown_ckpt_restart info;
  info.struct_bytes = sizeof info;
  if (shakedown_fti.saved) return 1;
  return shakedown_ckpt_restart_info(shakedown_fti.handle, &info) == SHAKEDOWN_CKPT_OK && info.available;
}

int shakedown_fti_checkpoint(int id, int level) {
  (void)id;
  if (shakedown_ckpt_checkpoint(shakedown_fti.handle, level) != SHAKEDOWN_CKPT_OK)
    return shakedown_fti_said("goes on without", shakedown_ckpt_last_error(shakedown_fti.handle), SHAKEDOWN_FTI_NSCS);
  shakedown_fti.saved = 1;
  return SHAKEDOWN_FTI_DONE;
}

int shakedown_fti_recover(void) {
  if (shakedown_ckpt_restore(shakedown_fti.handle, NULL) == SHAKEDOWN_CKPT_OK) return SHAKEDOWN_FTI_SCES;
  return shakedown_fti_said("cannot recover", shakedown_ckpt_last_error(shakedown_fti.handle), SHAKEDOWN_FTI_NREC);
}

int shakedown_fti_snapshot(void) {
  int did = SHAKEDOWN_CKPT_DID_NOTHING;
  const int error = shakedown_ckpt_snapshot(shakedown_fti.handle, &did);
  if (error == SHAKEDOWN_CKPT_LOST || error == SHAKEDOWN_CKPT_MISMATCH)
    return shakedown_fti_said("cannot recover", shakedown_ckpt_last_error(shakedown_fti.handle), SHAKEDOWN_FTI_NREC);
  if (error != SHAKEDOWN_CKPT_OK)
    return shakedown_fti_said("goes on without", shakedown_ckpt_last_error(shakedown_fti.handle), SHAKEDOWN_FTI_NSCS);
  if (did == SHAKEDOWN_CKPT_DID_CHECKPOINT) shakedown_fti.saved = 1;
  return did == SHAKEDOWN_CKPT_DID_CHECKPOINT ? SHAKEDOWN_FTI_DONE : SHAKEDOWN_FTI_SCES;
}

int shakedown_fti_finalize(void) {
  const int level = shakedown_fti.has_global ? SHAKEDOWN_CKPT_GLOBAL : SHAKEDOWN_CKPT_LOCAL;
  int kept = SHAKEDOWN_CKPT_OK;
  if (shakedown_fti.keep_last) {
    kept = shakedown_ckpt_checkpoint(shakedown_fti.handle, level);
    if (kept == SHAKEDOWN_CKPT_OK) kept = shakedown_ckpt_wait(shakedown_fti.handle, -1);
    if (kept != SHAKEDOWN_CKPT_OK)
      shakedown_fti_said("the last one is not kept", shakedown_ckpt_last_error(shakedown_fti.handle), 0);
  }
  /* Where the last one failed the older ones stay. */
  const int closed = shakedown_ckpt_close(shakedown_fti.handle,
                                          shakedown_fti.keep_last ? SHAKEDOWN_CKPT_KEEP : SHAKEDOWN_CKPT_DISCARD);
  shakedown_fti.handle = NULL;
  return kept == SHAKEDOWN_CKPT_OK && closed == SHAKEDOWN_CKPT_OK ? SHAKEDOWN_FTI_SCES : SHAKEDOWN_FTI_NSCS;
}

#ifdef __cplusplus
}
#endif
#endif
