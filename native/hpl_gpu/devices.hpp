// Which device a rank has, and how its memory reaches MPI.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "hpl/world.hpp"
#include "options.hpp"

namespace shakedown::hpl_gpu {

/// The device of this rank: of those chosen, the one with the rank's number on its host; or the only one that it sees.
/// Throws on every rank alike: where a host has more ranks than devices, or two ranks have the same one.
std::unique_ptr<gpu::Device> my_device(const Options& options, const hpl::World& world);

/// Which of the chosen devices the rank with this number on its host takes, of `chosen` ("all", or "0,2") of `count`.
/// Throws a usage error. Pure.
std::string device_number(const std::string& chosen, int count, int host_rank, bool share);

/// Whether this MPI takes addresses of devices, and how that is known.
struct Awareness {
  bool direct = false;
  std::string reason;
};
Awareness awareness(const Options& options);

/// Where MPI is to take addresses of devices: send some bytes round from device to device, and throw on every rank
/// alike where others arrive.
void prove(const Awareness& awareness, gpu::Device& device, MPI_Comm comm);

using Memories = std::vector<std::pair<double*, std::size_t>>;  // with the doubles that each has

/// Send some of every memory that messages of a communicator start or end in to every rank that may get it, before
/// anything is timed: an MPI registers memory and opens that of other processes when it first meets it, which may wait
/// for all that the device does, also for a kernel that waits for the host. Every rank of `comm` calls it, with as
/// many.
void acquaint(MPI_Comm comm, const Memories& memories);
/// Those of one process column and of one process row. Every rank of the grid calls it.
void acquaint(const hpl::Grid& grid, const Memories& down, const Memories& along);

/// The memories of panels that messages start and end in: the host's where it has some, else the device's.
template <std::size_t kCount>
Memories transport_of(const std::array<gpu::Array<double>, kCount>& device,
                      const std::array<gpu::Array<double>, kCount>& host) {
  Memories all;
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto& one = host[i].size() > 0 ? host[i] : device[i];
    all.emplace_back(one.data(), one.size());
  }
  return all;
}

/// HPL is double precision by its rules: what the environment says of emulating it in cuBLAS is taken back, and told.
std::vector<std::string> forbid_emulation();

}  // namespace shakedown::hpl_gpu
