// MPI-IO in a build without an MPI: refused in words.
#include "transfers.hpp"

namespace shakedown::storage {
namespace {

Error absent() {
  return cannot(
      "this program was built without an MPI: there is no MPI-IO",
      "build again where there is an mpicxx (a module of the site, or libopenmpi-dev); --api posix does without");
}

}  // namespace

MpiJob::MpiJob(int /*rank*/, int /*size*/) { throw absent(); }
MpiJob::~MpiJob() = default;

std::unique_ptr<Transfers> open_mpi(const Opening& /*opening*/, bool /*collective*/) { throw absent(); }

}  // namespace shakedown::storage
