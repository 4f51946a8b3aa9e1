/* Checkpoints of applications: what a program calls. README.md of native/checkpoint holds the levels, the files on disk
 * and the rules by which they survive; an example stands at the end of this file.
 *
 * The library never ends the program, throws nothing, and waits no longer than `timeout_seconds` for storage or for
 * other ranks. Every function gives 0 or one of the errors below; shakedown_ckpt_last_error says in words what failed,
 * where, and what that means. A checkpoint that fails leaves the older ones as they are. One thread of a process calls
 * for one handle at a time.
 *
 * COLLECTIVE: every rank makes the call, in the same order. */
#ifndef SHAKEDOWN_CHECKPOINT_H
#define SHAKEDOWN_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHAKEDOWN_CKPT_ABI 1
#define SHAKEDOWN_CKPT_MOST_DIMENSIONS 8

typedef struct shakedown_ckpt shakedown_ckpt;

typedef enum {
  SHAKEDOWN_CKPT_OK = 0,
  SHAKEDOWN_CKPT_NOTHING = 1, /* there is no checkpoint to restore: a fresh start */
  SHAKEDOWN_CKPT_INVALID = 2, /* an argument or option is wrong; nothing was changed */
  SHAKEDOWN_CKPT_STORAGE = 3, /* a folder cannot be used */
  SHAKEDOWN_CKPT_PEER = 4,    /* another rank does not answer, or failed in its part */
  SHAKEDOWN_CKPT_BUSY = 5,    /* the checkpoint before is still being written; this one was left out */
  SHAKEDOWN_CKPT_TIMEOUT = 6, /* not done in time; it may still be done later */
  SHAKEDOWN_CKPT_LOCKED = 7,  /* another job writes to this folder */
  SHAKEDOWN_CKPT_MEMORY = 8,
  SHAKEDOWN_CKPT_MISMATCH = 9, /* what is protected does not fit what was saved; memory was not changed */
  SHAKEDOWN_CKPT_LOST = 10,    /* checkpoints are there, and none can be restored: last_error has the reason for each */
  SHAKEDOWN_CKPT_INTERNAL = 11,
  SHAKEDOWN_CKPT_DEVICE = 12 /* the GPU on which a protected part lies does not copy it */
} shakedown_ckpt_error;

/* Types of elements. Their sizes stand in the name; COMPLEX64 is two FLOAT32. BYTES are never converted. */
typedef enum {
  SHAKEDOWN_CKPT_BYTES = 0,
  SHAKEDOWN_CKPT_INT8 = 1,
  SHAKEDOWN_CKPT_UINT8 = 2,
  SHAKEDOWN_CKPT_INT16 = 3,
  SHAKEDOWN_CKPT_UINT16 = 4,
  SHAKEDOWN_CKPT_INT32 = 5,
  SHAKEDOWN_CKPT_UINT32 = 6,
  SHAKEDOWN_CKPT_INT64 = 7,
  SHAKEDOWN_CKPT_UINT64 = 8,
  SHAKEDOWN_CKPT_FLOAT16 = 9,
  SHAKEDOWN_CKPT_BFLOAT16 = 10,
  SHAKEDOWN_CKPT_FLOAT32 = 11,
  SHAKEDOWN_CKPT_FLOAT64 = 12,
  SHAKEDOWN_CKPT_COMPLEX64 = 13,
  SHAKEDOWN_CKPT_COMPLEX128 = 14
} shakedown_ckpt_type;

/* Levels, each safer and dearer than the one before: what is lost when the run goes on from it. */
typedef enum {
  SHAKEDOWN_CKPT_LOCAL = 1,   /* the node's own folder: survives the end of processes */
  SHAKEDOWN_CKPT_PARTNER = 2, /* and a copy on a node of another failure domain: survives the loss of a node */
  SHAKEDOWN_CKPT_GROUP = 3,   /* and Reed-Solomon parity over a group of nodes: survives `group_losses` nodes of each */
  SHAKEDOWN_CKPT_GLOBAL = 4   /* the shared file system: survives all nodes */
} shakedown_ckpt_level;

/* How ranks reach each other while the handle is open. NULL in its place: one rank alone. */
typedef struct {
  int rank;
  int size;
  void* context;
  /* COLLECTIVE, on the caller's thread only: `bytes` of every rank, in the order of ranks, in `all`. 0 is success. */
  int (*allgather)(void* context, const void* mine, void* all, size_t bytes);
  /* Called once by close, also where open failed; may be NULL. */
  void (*release)(void* context);
} shakedown_ckpt_comm;

/* Fill with shakedown_ckpt_options_init, then change. An option of the environment, SHAKEDOWN_CKPT_<NAME OF THE
 * MEMBER>, goes before what the program sets. */
typedef struct {
  size_t struct_bytes;
  const char* local;   /* folder on this node, of this application alone; NULL: no levels 1 to 3 */
  const char* global;  /* folder that all nodes share, of this application alone; NULL: no level 4 */
  const char* node;    /* name of the node; ranks with the same name share `local`. NULL: the host's name */
  const char* domain;  /* failure domain, such as a power supply or a switch; NULL: the node */
  const char* address; /* where this process listens for the others, a numeric IP; NULL: found from the host's name */
  int group_size;      /* nodes in a group of level 3; 8 */
  int group_losses;    /* how many of them may be lost; 2 */
  int keep;            /* committed generations kept at each level; at least 2, the default */
  int synchronous;     /* 1: checkpoint returns when the checkpoint is committed or has failed */
  double mtti_seconds; /* mean time to interrupt of the whole job; for `due`. 0: not known, 6 h are assumed */
  /* Seconds between checkpoints of levels 1 to 4 at [1] to [4], for `due`: 0 derives it from measured costs and the
   * MTTI, below 0 leaves the level out, above 0 is fixed. */
  double interval_seconds[5];
  double timeout_seconds; /* the longest wait for storage or other ranks; 120 */
} shakedown_ckpt_options;

typedef struct {
  size_t struct_bytes;
  int available; /* 1: there is something to restore; 0: a fresh start */
  int level;     /* the cheapest level that can give it */
  uint64_t generation;
  int ranks;           /* how many wrote it */
  uint64_t bytes;      /* of all ranks */
  double unix_seconds; /* when it was written, by the clock of rank 0 */
} shakedown_ckpt_restart;

typedef struct {
  uint64_t tried; /* checkpoints begun */
  uint64_t committed;
  uint64_t failed;
  double blocked_seconds;  /* the application waited for them */
  double drain_seconds;    /* from begin to commit, on the helper */
  uint64_t bytes;          /* of this rank, committed */
  double interval_seconds; /* what `due` goes by now; 0: this level is not used */
} shakedown_ckpt_level_stats;

typedef struct {
  size_t struct_bytes;
  shakedown_ckpt_level_stats level[5]; /* [1] to [4] */
  uint64_t generation;                 /* the newest committed; 0: none */
  int restored_level;                  /* 0: nothing was restored */
  uint64_t repaired_blocks;            /* blocks that were damaged and came from a safer level */
  double restore_seconds;
  double open_seconds;    /* since open */
  double waste_predicted; /* fraction of time, by the formulas with the measured costs and the MTTI */
  double waste_achieved;  /* fraction of time blocked in checkpoints or restore since open */
} shakedown_ckpt_statistics;

/* What `snapshot` did. */
typedef enum {
  SHAKEDOWN_CKPT_DID_NOTHING = 0,
  SHAKEDOWN_CKPT_DID_RESTORE = 1,
  SHAKEDOWN_CKPT_DID_CHECKPOINT = 2
} shakedown_ckpt_did;

typedef enum {
  SHAKEDOWN_CKPT_KEEP = 0,   /* the newest checkpoints stay */
  SHAKEDOWN_CKPT_DISCARD = 1 /* the work is done: all checkpoints of this folder are removed */
} shakedown_ckpt_policy;

void shakedown_ckpt_options_init(shakedown_ckpt_options* options);

/* COLLECTIVE. On an error *handle is NULL, and shakedown_ckpt_last_error(NULL) has the words of this thread. A level
 * whose folder cannot be used is left out with a warning in last_error; open fails where none is left. */
int shakedown_ckpt_open(const shakedown_ckpt_comm* comm, const shakedown_ckpt_options* options,
                        shakedown_ckpt** handle);

/* COLLECTIVE. Waits for what is being written, at most timeout_seconds. */
int shakedown_ckpt_close(shakedown_ckpt* handle, shakedown_ckpt_policy policy);

/* Names a part of the state: a box of an array of all ranks, in C order (last index fastest), in memory of the caller
 * that stays where it is until unprotect. Memory of a GPU is found out from its pointer, through the driver that the
 * program has loaded (CUDA, HIP), and copied when all work that its device was given has ended. The same name again
 * replaces it. ndim 0: one element that is equal on all
 * ranks (a time, a count of steps). global_shape and offset NULL: an array of this rank alone, which can only be
 * restored onto the same number of ranks. Boxes of all ranks together need not cover the array; where they overlap, any
 * may be taken. */
int shakedown_ckpt_protect(shakedown_ckpt* handle, const char* name, void* pointer, shakedown_ckpt_type type, int ndim,
                           const uint64_t* local_shape, const uint64_t* global_shape, const uint64_t* offset);

/* The same for a box that lies inside a larger array in memory (ghost layers): memory_shape is what was allocated at
 * `pointer`, memory_offset where the box begins in it. */
int shakedown_ckpt_protect_inside(shakedown_ckpt* handle, const char* name, void* pointer, shakedown_ckpt_type type,
                                  int ndim, const uint64_t* local_shape, const uint64_t* global_shape,
                                  const uint64_t* offset, const uint64_t* memory_shape, const uint64_t* memory_offset);

int shakedown_ckpt_unprotect(shakedown_ckpt* handle, const char* name);

/* COLLECTIVE. *level is the level at which a checkpoint should be made now, or 0; the same on all ranks. Cheap enough
 * for every step: most calls only count. */
int shakedown_ckpt_due(shakedown_ckpt* handle, int* level);

/* COLLECTIVE. Saves all that is protected. Returns when the memory may be changed again (synchronous: when it is
 * committed). Its number is in statistics once it is committed. */
int shakedown_ckpt_checkpoint(shakedown_ckpt* handle, int level);

/* *pending is 1 while a checkpoint is being written. The error is that of the last one. */
int shakedown_ckpt_poll(shakedown_ckpt* handle, int* pending);

/* Waits for it, at most so many seconds (below 0: timeout_seconds). The error is that of the last checkpoint. */
int shakedown_ckpt_wait(shakedown_ckpt* handle, double seconds);

/* COLLECTIVE. What restore would take, as far as manifests show. */
int shakedown_ckpt_restart_info(shakedown_ckpt* handle, shakedown_ckpt_restart* info);

/* COLLECTIVE. Fills what is protected from the newest generation that every rank can have, or of it the part `name`
 * (NULL: all). Memory is changed only when everything is there and every checksum is right, on all ranks. */
int shakedown_ckpt_restore(shakedown_ckpt* handle, const char* name);

/* COLLECTIVE. The first call restores where there is something; later ones checkpoint where one is due. */
int shakedown_ckpt_snapshot(shakedown_ckpt* handle, int* did);

int shakedown_ckpt_stats(shakedown_ckpt* handle, shakedown_ckpt_statistics* statistics);

/* Changes an option that may change while open: mtti_seconds, interval_seconds.1 to .4, keep, synchronous,
 * timeout_seconds. */
int shakedown_ckpt_set_option(shakedown_ckpt* handle, const char* name, const char* value);

/* What went wrong last, and warnings; "" if nothing. Valid until the next call for this handle (NULL: of this thread).
 */
const char* shakedown_ckpt_last_error(const shakedown_ckpt* handle);

/* ---- Folders, without a handle: for tools. ---- */

typedef struct {
  size_t struct_bytes;
  const char* folder; /* which of the folders */
  uint64_t generation;
  int ranks;       /* how many wrote it */
  int ranks_whole; /* of so many there is a manifest and its data here */
  int copies;      /* partner copies that are here */
  int parities;    /* parity parts that are here */
  int committed;   /* a commit record is here; its level: */
  int level;
  uint64_t bytes; /* of the files here */
  double unix_seconds;
  int removable;       /* prune would remove it */
  const char* problem; /* "" or what is wrong, one line a file */
} shakedown_ckpt_entry;

typedef void (*shakedown_ckpt_visit)(void* context, const shakedown_ckpt_entry* entry);

/* Visits every generation of these folders, oldest first, folder by folder. verify 1 reads all data and checks every
 * checksum. Nothing is changed. On an error shakedown_ckpt_last_error(NULL) has the words. */
int shakedown_ckpt_list(const char* const* folders, int count, int verify, shakedown_ckpt_visit visit, void* context);

/* Removes generations of these folders that `keep` newer committed ones make superfluous, and what killed runs left;
 * visits each. dry_run 1 removes nothing. LOCKED where a job writes there. */
int shakedown_ckpt_prune(const char* const* folders, int count, int keep, int dry_run, shakedown_ckpt_visit visit,
                         void* context);

/* A name of an error, such as "storage". */
const char* shakedown_ckpt_error_name(int error);

/* Example, one rank (with MPI: #include <shakedown/checkpoint_mpi.h> and shakedown_ckpt_comm_of(MPI_COMM_WORLD,
 * &comm)):
 *
 *   shakedown_ckpt_options options;
 *   shakedown_ckpt_options_init(&options);
 *   options.local = "/local/job";
 *   shakedown_ckpt* checkpoint = NULL;
 *   if (shakedown_ckpt_open(NULL, &options, &checkpoint)) fprintf(stderr, "%s\n", shakedown_ckpt_last_error(NULL));
 *   uint64_t shape[1] = {cells}, offset[1] = {0};
 *   shakedown_ckpt_protect(checkpoint, "step", &step, SHAKEDOWN_CKPT_INT64, 0, NULL, NULL, NULL);
 *   shakedown_ckpt_protect(checkpoint, "u", u, SHAKEDOWN_CKPT_FLOAT64, 1, shape, shape, offset);
 *   int did;
 *   for (shakedown_ckpt_snapshot(checkpoint, &did); step < steps; shakedown_ckpt_snapshot(checkpoint, &did)) advance();
 *   shakedown_ckpt_close(checkpoint, SHAKEDOWN_CKPT_KEEP);
 */

#ifdef __cplusplus
}
#endif
#endif
