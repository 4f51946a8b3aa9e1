// What a run of either program with a rank for each GPU is measured with.
#pragma once

#include <functional>
#include <vector>

#include "common/emit.hpp"
#include "gpu/gpu.hpp"
#include "hpl/world.hpp"
#include "tasks.hpp"

namespace shakedown::hpl_gpu {

/// One number of all ranks of `comm`, on each of them.
double reduced(double value, MPI_Op op, MPI_Comm comm);

/// Add each account's seconds, summed over the ranks of `comm`.
void add_shares(hpl::Shares& sum, const hpl::Shares& mine, MPI_Comm comm);

/// Whether another repeat is due after so many, which took `seconds` together; every rank gets the first one's answer.
bool again(const hpl::Options& options, std::size_t repeats, double seconds, MPI_Comm comm);

/// Told as panels are there: how many columns were factored before.
using Progress = std::function<void(Index columns)>;
/// Tells how far a factorization of order n is that begins now, by its operations; `rest`: what the text ends with.
Progress progress_of(Emitter& emitter, Index n, const char* rest);

/// What the update could reach at most: products with k = NB on the memory of the run itself.
struct Ceiling {
  double flop = 0;              // of one sample on this rank
  std::vector<double> seconds;  // of each sample, the largest over the ranks
  std::vector<TimeSpan> spans;  // of each sample
};
/// The samples of products of `flop` operations on this rank; `product` puts one into the stream. Every rank of `comm`
/// calls it.
Ceiling time_products(double flop, gpu::Device& device, const gpu::Stream& stream, MPI_Comm comm,
                      const std::function<void()>& product);

}  // namespace shakedown::hpl_gpu
