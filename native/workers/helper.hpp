// A process that was made before MPI began: what threads and processes do without MPI's library around them.
#pragma once

#include <sys/types.h>

#include <vector>

#include "shared.hpp"

namespace shakedown::workers {

enum class Way { threads, processes, ranks };
inline const char* name_of(Way way) {
  return way == Way::threads ? "threads" : way == Way::processes ? "processes" : "ranks";
}

class Helper {
 public:
  /// Call before MPI_Init, with one thread. Throws where the system gives no process or memory.
  Helper();
  ~Helper();
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  /// What each worker told; the caller sleeps meanwhile. Throws where a worker ended otherwise than it should.
  std::vector<Told> run(Way way, const Task& task, const std::vector<int>& cpus, bool yield);

 private:
  [[noreturn]] void serve(int socket);

  Shared* shared_ = nullptr;
  int socket_ = -1;
  pid_t process_ = -1;
};

}  // namespace shakedown::workers
