// Checkpoints of a gas, by the library of native/checkpoint.
#pragma once

#include <shakedown/checkpoint.h>

#include <array>
#include <cstdint>

#include "common/emit.hpp"
#include "options.hpp"
#include "solver.hpp"

namespace shakedown::hydro {

/// The checkpoints of one gas while it is computed. What fails is told as a notice, and the gas goes on; all is
/// collective.
class Checkpoints {
 public:
  /// Opens the folders. Throws "could not measure" on all ranks alike where none can be used.
  Checkpoints(MPI_Comm all, const CheckpointOptions& options, Problem problem, Emitter& emitter);
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// Puts the newest checkpoint in place of the gas; false where there is none yet. Throws where there are some and
  /// none can be restored, or where they are of another gas: to begin anew would write over them.
  bool restore(Solver& solver);
  /// Saves the gas where a checkpoint is asked for after this sample, or due.
  void after_sample(Solver& solver);
  /// Saves the gas at a level, and goes on while it is being written.
  void save(Solver& solver, int level);
  /// Waits for what is being written.
  void settle();
  [[nodiscard]] shakedown_ckpt_statistics statistics();
  /// Waits for what is being written; what came of all.
  Object conclude();

 private:
  void protect(const Solver& solver);
  /// True if it went well; else the words of the library become a notice.
  bool well(int code, const char* what);

  CheckpointOptions options_;
  std::int64_t problem_;
  Emitter& emitter_;
  shakedown_ckpt* handle_ = nullptr;
  std::int64_t samples_ = 0, step_ = 0, of_problem_ = 0, restored_step_ = -1;
  /// Time, time step, and what walls pushed, in two parts each: x87's numbers have more digits than a double.
  std::array<double, 8> numbers_{};
};

}  // namespace shakedown::hydro
