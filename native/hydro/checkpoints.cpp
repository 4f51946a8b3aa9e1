#include "checkpoints.hpp"

#include <shakedown/checkpoint_mpi.h>

#include "common/error.hpp"

namespace shakedown::hydro {
namespace {

constexpr const char* kLevels[] = {"", "local", "partner", "group", "global"};

void split(long double number, double& high, double& low) {
  high = static_cast<double>(number);
  low = static_cast<double>(number - high);
}

long double joined(double high, double low) { return static_cast<long double>(high) + low; }

}  // namespace

Checkpoints::Checkpoints(MPI_Comm all, const CheckpointOptions& options, Problem problem, Emitter& emitter)
    : options_(options), problem_(static_cast<std::int64_t>(problem)), emitter_(emitter) {
  shakedown_ckpt_options asked;
  shakedown_ckpt_options_init(&asked);
  if (!options.local.empty()) asked.local = options.local.c_str();
  if (!options.global.empty()) asked.global = options.global.c_str();
  if (!options.node.empty()) asked.node = options.node.c_str();
  if (!options.address.empty()) asked.address = options.address.c_str();
  shakedown_ckpt_comm comm{};
  int code = shakedown_ckpt_comm_of(all, &comm);
  if (code == SHAKEDOWN_CKPT_OK) code = shakedown_ckpt_open(&comm, &asked, &handle_);
  if (code != SHAKEDOWN_CKPT_OK) {
    throw cannot(std::string("no checkpoints: ") + shakedown_ckpt_last_error(nullptr),
                 "look at --checkpoint-local and --checkpoint-global");
  }
  const std::string warnings = shakedown_ckpt_last_error(handle_);
  if (!warnings.empty()) emitter_.notice("checkpoint-level", warnings, "the levels that are left are used");
}

Checkpoints::~Checkpoints() {
  if (handle_ != nullptr) shakedown_ckpt_close(handle_, SHAKEDOWN_CKPT_KEEP);
}

bool Checkpoints::well(int code, const char* what) {
  if (code == SHAKEDOWN_CKPT_OK) return true;
  emitter_.notice("checkpoint-failed", std::string(what) + ": " + shakedown_ckpt_last_error(handle_),
                  "the gas goes on, and older checkpoints stay");
  return false;
}

void Checkpoints::protect(const Solver& solver) {
  // Steps go from one field to the other and back: the cells lie now here, now there.
  const Field& field = solver.field();
  const Domain& domain = solver.domain();
  const auto size = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const std::uint64_t local[] = {size(field.rows()), kVariables, size(field.columns())};
  const std::uint64_t global[] = {size(domain.rows), kVariables, size(domain.columns)};
  const std::uint64_t offset[] = {size(domain.own.low), 0, size(domain.own.left)};
  const std::uint64_t memory[] = {size(field.rows() + 2 * kGhosts), kVariables, size(field.pitch())};
  const std::uint64_t begin[] = {size(kGhosts), 0, size(Field::kLead)};
  const std::uint64_t numbers[] = {numbers_.size()}, first[] = {0};
  well(shakedown_ckpt_protect_inside(handle_, "cells", field.data(), SHAKEDOWN_CKPT_FLOAT64, 3, local, global, offset,
                                     memory, begin),
       "cells");
  well(shakedown_ckpt_protect(handle_, "step", &step_, SHAKEDOWN_CKPT_INT64, 0, nullptr, nullptr, nullptr), "step");
  well(shakedown_ckpt_protect(handle_, "problem", &of_problem_, SHAKEDOWN_CKPT_INT64, 0, nullptr, nullptr, nullptr),
       "problem");
  well(shakedown_ckpt_protect(handle_, "numbers", numbers_.data(), SHAKEDOWN_CKPT_FLOAT64, 1, numbers, numbers, first),
       "numbers");
}

bool Checkpoints::restore(Solver& solver) {
  protect(solver);
  const int code = shakedown_ckpt_restore(handle_, nullptr);
  if (code == SHAKEDOWN_CKPT_NOTHING) return false;
  if (code != SHAKEDOWN_CKPT_OK) {
    throw cannot(std::string("the gas cannot go on from its checkpoints: ") + shakedown_ckpt_last_error(handle_),
                 "run again as they were made, or give other folders");
  }
  if (of_problem_ != problem_) {
    throw cannot("the checkpoints are of a gas that began otherwise", "give the same --problem, or other folders");
  }
  restored_step_ = step_;
  solver.resume({.step = step_, .time = numbers_[0], .dt = numbers_[1]}, {.along_x = joined(numbers_[2], numbers_[3]),
                                                                          .along_y = joined(numbers_[4], numbers_[5]),
                                                                          .size = joined(numbers_[6], numbers_[7])});
  return true;
}

void Checkpoints::save(Solver& solver, int level) {
  step_ = solver.progress().step;
  of_problem_ = problem_;
  numbers_[0] = solver.progress().time;
  numbers_[1] = solver.progress().dt;
  const Pushed pushed = solver.pushed();
  split(pushed.along_x, numbers_[2], numbers_[3]);
  split(pushed.along_y, numbers_[4], numbers_[5]);
  split(pushed.size, numbers_[6], numbers_[7]);
  protect(solver);
  int code = shakedown_ckpt_checkpoint(handle_, level);
  if (code == SHAKEDOWN_CKPT_BUSY && options_.every > 0) {  // asked for: it waits for the one before
    shakedown_ckpt_wait(handle_, -1);
    code = shakedown_ckpt_checkpoint(handle_, level);
  }
  well(code, "checkpoint");
}

void Checkpoints::after_sample(Solver& solver) {
  int level = 0;
  if (options_.every > 0) {
    if (++samples_ % options_.every == 0) level = options_.level;
  } else {
    well(shakedown_ckpt_due(handle_, &level), "due");
  }
  if (level > 0) save(solver, level);
}

void Checkpoints::settle() { well(shakedown_ckpt_wait(handle_, -1), "the last checkpoint"); }

shakedown_ckpt_statistics Checkpoints::statistics() {
  shakedown_ckpt_statistics found{};
  found.struct_bytes = sizeof found;
  well(shakedown_ckpt_stats(handle_, &found), "statistics");
  return found;
}

Object Checkpoints::conclude() {
  settle();
  const shakedown_ckpt_statistics statistics = this->statistics();
  Object facts;
  facts.add("restored_step", restored_step_).add("restored_level", kLevels[statistics.restored_level]);
  facts.add("restore_s", statistics.restore_seconds).add("repaired_blocks", statistics.repaired_blocks);
  for (int level = SHAKEDOWN_CKPT_LOCAL; level <= SHAKEDOWN_CKPT_GLOBAL; ++level) {
    const auto& one = statistics.level[level];
    if (one.tried == 0) continue;
    facts.add(kLevels[level], Object()
                                  .add("tried", one.tried)
                                  .add("committed", one.committed)
                                  .add("failed", one.failed)
                                  .add("blocked_s", one.blocked_seconds)
                                  .add("drain_s", one.drain_seconds)
                                  .add("rank_bytes", one.bytes));
  }
  return facts;
}

}  // namespace shakedown::hydro
