// The job of gpu_collectives: what is measured on, who takes part, and what is said of a case and of who fails.
#pragma once

#include <string>
#include <vector>

#include "common/rounds.hpp"
#include "gpu_collectives.hpp"

namespace shakedown::gpu_collectives {

/// What is measured on, and who takes part.
struct Job {
  Emitter& emitter;
  const Options& options;
  const Nccl& nccl;
  LogFile& log_file;
  Ranks& ranks;
  Bench& bench;
  std::string& at;              // what is being done
  std::size_t room = 0;         // bytes of each buffer
  std::vector<int> left = {};   // that have not failed
  std::vector<int> seats = {};  // those of them that take part
  bool whole = true;            // every case came to its end
  int unexplained = 0;          // hangs that no rank was named for
  bool fallback_told = false;
  NcclLog log = {};
};

/// A notice, for a person as well.
void notice(Emitter& emitter, const char* code, const std::string& text, const std::string& advice);
/// "all_reduce of 1 MiB on 4 GPUs, in place".
std::string words_of(const Shape& shape);
/// The case, with its check; its first wrong element is named.
void emit(Job& job, Case series, const Shape& shape, const Measured& measured);
/// What every case says of itself. `bytes`: whole_bytes(), or those of the plan where groups of several sizes are one
/// test.
Object params_of(const Job& job, const Shape& shape, std::size_t bytes);

/// What the library said since.
void read_log(Job& job);
/// What joins the ranks, once it is known.
void tell_paths(Job& job);
/// Ranks of one node that are joined by the host's memory or a network, where their GPUs can reach each other.
void tell_fallback(Job& job);
/// Switches that reduce are there, and the library does without.
void tell_no_switch(Job& job, const Shape& shape);

/// Whether a case can be: what is too small for a block each, or too large for a GPU, is left out.
bool fits(Job& job, const Shape& shape);
/// The cases of a communicator, of `ranks` GPUs.
std::vector<Shape> shapes_of(const Job& job, int ranks);
/// Tells what failed, leaves its cause out and connects the others. False: they are too few to go on.
bool go_on(Job& job, const Trouble& trouble);

/// Rounds of groups that measure at the same time, each a case `group` with its members.
void measure_rounds(Job& job);

}  // namespace shakedown::gpu_collectives
