/* The callbacks of checkpoint.h for an MPI communicator. Compiled with the application, so that the library knows no
 * MPI. */
#ifndef SHAKEDOWN_CHECKPOINT_MPI_H
#define SHAKEDOWN_CHECKPOINT_MPI_H

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

#include "checkpoint.h"

static inline int shakedown_ckpt_mpi_allgather(void* context, const void* mine, void* all, size_t bytes) {
  if (bytes > (size_t)INT_MAX) return 1; /* MPI's count; the library sends a few kilobytes at a time */
  return MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, *(MPI_Comm*)context) != MPI_SUCCESS;
}

static inline void shakedown_ckpt_mpi_release(void* context) {
  int over = 0;
  MPI_Finalized(&over);
  if (!over) MPI_Comm_free((MPI_Comm*)context);
  free(context);
}

/* COLLECTIVE. Fills `comm` for the ranks of `world`, which is duplicated: messages of the application are left alone.
 * The duplicate is freed by shakedown_ckpt_close, which therefore comes before MPI_Finalize. 0 is success. */
static inline int shakedown_ckpt_comm_of(MPI_Comm world, shakedown_ckpt_comm* comm) {
  MPI_Comm* own = (MPI_Comm*)malloc(sizeof(MPI_Comm));
  if (own == NULL) return SHAKEDOWN_CKPT_MEMORY; /* NOLINT(modernize-use-nullptr): this is C, too */
  if (MPI_Comm_dup(world, own) != MPI_SUCCESS) {
    free(own);
    return SHAKEDOWN_CKPT_PEER;
  }
  MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN);
  MPI_Comm_rank(*own, &comm->rank);
  MPI_Comm_size(*own, &comm->size);
  comm->context = own;
  comm->allgather = shakedown_ckpt_mpi_allgather;
  comm->release = shakedown_ckpt_mpi_release;
  return SHAKEDOWN_CKPT_OK;
}

#endif
