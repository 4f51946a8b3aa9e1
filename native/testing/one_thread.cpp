// Loaded before a test that is said to start no thread (LD_PRELOAD): what starts one ends here, also in a program that
// the test starts. Without a thread the thread sanitizer has nothing to see, and CMakeLists.txt leaves such tests out.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

extern "C" int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) {
  std::fputs("one_thread: a thread is started: take the test out of shakedown_one_thread in CMakeLists.txt\n", stderr);
  std::abort();
}
