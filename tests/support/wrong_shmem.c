/* Stands in front of an OpenSHMEM library (LD_PRELOAD) and does one thing wrong, as WRONG_SHMEM says:
   lost    each 400th add and increment is not done
   twice   each 400th fetching add gives the old value of the one before
   put     one bit of the last byte of each put is turned
   get     one bit of the last byte of each get is turned
   crash   a swap ends the process
   silent  PE 1 never comes to its fifteenth barrier, which is one of its first case */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wrong(const char* what) {
  const char* asked = getenv("WRONG_SHMEM");
  return asked != NULL && strcmp(asked, what) == 0;
}
static int due(void) {
  static int calls = 0;
  return ++calls % 400 == 0;
}

#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))

#define ADDS(word, type)                                                                                      \
  void shmem_##word##_atomic_add(type* at, type value, int pe) {                                              \
    if (wrong("lost") && due()) return;                                                                       \
    NEXT(void (*)(type*, type, int), "shmem_" #word "_atomic_add")(at, value, pe);                            \
  }                                                                                                           \
  void shmem_##word##_atomic_inc(type* at, int pe) {                                                          \
    if (wrong("lost") && due()) return;                                                                       \
    NEXT(void (*)(type*, int), "shmem_" #word "_atomic_inc")(at, pe);                                         \
  }                                                                                                           \
  type shmem_##word##_atomic_fetch_add(type* at, type value, int pe) {                                        \
    static type last = 0;                                                                                     \
    const type old = NEXT(type(*)(type*, type, int), "shmem_" #word "_atomic_fetch_add")(at, value, pe);      \
    const type told = wrong("twice") && due() ? last : old;                                                   \
    last = old;                                                                                               \
    return told;                                                                                              \
  }                                                                                                           \
  type shmem_##word##_atomic_swap(type* at, type value, int pe) {                                             \
    if (wrong("crash")) abort();                                                                              \
    return NEXT(type(*)(type*, type, int), "shmem_" #word "_atomic_swap")(at, value, pe);                     \
  }
ADDS(int, int)
ADDS(longlong, long long)

/* Long ones alone: short ones are what PEs tell each other. */
enum { kLong = 500 };

void shmem_putmem(void* to, const void* from, size_t bytes, int pe) {
  char* sent = (char*)from;
  if (wrong("put") && bytes == kLong) sent[bytes - 1] ^= 16;
  NEXT(void (*)(void*, const void*, size_t, int), "shmem_putmem")(to, from, bytes, pe);
  if (wrong("put") && bytes == kLong) sent[bytes - 1] ^= 16;
}

void shmem_getmem(void* to, const void* from, size_t bytes, int pe) {
  NEXT(void (*)(void*, const void*, size_t, int), "shmem_getmem")(to, from, bytes, pe);
  if (wrong("get") && bytes == kLong) ((char*)to)[bytes - 1] ^= 16;
}

void shmem_barrier_all(void) {
  static int calls = 0;
  if (wrong("silent") && NEXT(int (*)(void), "shmem_my_pe")() == 1 && ++calls == 15) {
    for (;;) pause();
  }
  NEXT(void (*)(void), "shmem_barrier_all")();
}
