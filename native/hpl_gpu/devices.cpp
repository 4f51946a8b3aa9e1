#include "devices.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "gpu/cuda.hpp"
#include "gpu/formats.hpp"

namespace shakedown::hpl_gpu {
namespace {

int device_count(const gpu::Choice& choice) {
  if (choice.backend == "cuda") return gpu::cuda_count(*gpu::cuda_driver(choice.driver));
  const auto colon = choice.backend.find(':');
  return colon == std::string::npos ? 1 : std::atoi(choice.backend.c_str() + colon + 1);
}

}  // namespace

std::string device_number(const std::string& chosen, int count, int host_rank, bool share) {
  std::vector<std::string> all;
  std::istringstream words(chosen);
  for (std::string word; chosen != "all" && std::getline(words, word, ',');) all.push_back(word);
  for (int i = 0; chosen == "all" && i < count; ++i) all.push_back(std::to_string(i));
  if (all.empty()) throw usage("--devices names none", "all, or numbers between commas");
  const auto mine = static_cast<std::size_t>(host_rank);
  if (mine < all.size()) return all[mine];
  // One that only this rank sees (a batch engine's binding), or one that all share: their names tell (my_device).
  if (all.size() == 1 || share) return all[mine % all.size()];
  throw usage("a host has more ranks than the " + std::to_string(all.size()) + " devices chosen",
              "one rank for each GPU: mpirun --map-by ppr:" + std::to_string(all.size()) + ":node");
}

std::unique_ptr<gpu::Device> my_device(const Options& options, const hpl::World& world) {
  std::unique_ptr<gpu::Device> device;
  together(world.all, [&] {
    gpu::Choice choice = options.choice;
    choice.devices = device_number(choice.devices, device_count(choice), world.host_rank, options.share_devices);
    device = std::move(gpu::open(choice).front());
    device->blas();  // loaded now: it takes memory
  });
  const auto& info = device->info();
  const auto names = gather_words(world.host, info.uuid.empty() ? info.pci : info.uuid);
  together(world.all, [&] {
    const auto& mine = names[static_cast<std::size_t>(world.host_rank)];
    if (mine.empty() || options.share_devices || std::count(names.begin(), names.end(), mine) == 1) return;
    throw cannot("several ranks of " + world.my_host() + " have the same GPU, " + mine,
                 "give each rank one (srun --gpus-per-task=1, or as many ranks as GPUs); --share-devices allows it");
  });
  return device;
}

Awareness awareness(const Options& options) {
  if (options.aware != "auto") return {options.aware == "yes", "--aware " + options.aware};
  if (options.choice.backend != "cuda")
    return {true, "devices of the backend " + options.choice.backend + " are the host's memory"};
  if (auto* query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"))) {
    return {query() == 1, "MPIX_Query_cuda_support() = " + std::to_string(query())};
  }
  for (const char* name : {"MV2_USE_CUDA", "MVP_USE_CUDA", "MPICH_GPU_SUPPORT_ENABLED", "I_MPI_OFFLOAD"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && std::string(value) != "0") return {true, std::string(name) + "=" + value};
  }
  return {false, "this MPI does not say that it takes addresses of devices"};
}

void prove(const Awareness& awareness, gpu::Device& device, MPI_Comm comm) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (!awareness.direct || size == 1) return;
  constexpr std::size_t kWords = std::size_t{1} << 17;  // a megabyte: beyond what MPIs send at once
  const gpu::Stream stream(device);
  const gpu::Array<double> out(device, kWords), in(device, kWords);
  std::vector<double> host(kWords);
  const auto fill = [&](int of) {
    for (std::size_t i = 0; i < kWords; ++i)
      host[i] = gpu::uniform_double(gpu::random_bits(static_cast<std::uint64_t>(of), i));
  };
  fill(rank);
  device.copy(out.data(), host.data(), out.bytes(), stream);
  stream.wait();
  const int before = (rank + size - 1) % size;
  MPI_Sendrecv(out.data(), kWords, MPI_DOUBLE, (rank + 1) % size, 0, in.data(), kWords, MPI_DOUBLE, before, 0, comm,
               MPI_STATUS_IGNORE);
  std::vector<double> came(kWords);
  device.copy(came.data(), in.data(), in.bytes(), stream);
  stream.wait();
  fill(before);
  together(comm, [&] {
    if (came == host) return;
    throw cannot("MPI delivered other bytes between devices than were sent (" + awareness.reason + ")",
                 "leave the devices out of MPI: --aware no");
  });
}

void acquaint(MPI_Comm comm, const Memories& memories) {
  constexpr std::int64_t kDoubles = 1 << 17;  // a megabyte: beyond what MPIs send at once
  int me = 0, size = 1;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  for (const auto& [memory, doubles] : memories) {
    auto count = std::min<std::int64_t>(kDoubles, static_cast<std::int64_t>(doubles / 2));
    MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_INT64_T, MPI_MIN, comm);
    for (int distance = 1; distance < size && count > 0; ++distance) {
      MPI_Sendrecv(memory, static_cast<int>(count), MPI_DOUBLE, (me + distance) % size, 0, memory + count,
                   static_cast<int>(count), MPI_DOUBLE, (me + size - distance) % size, 0, comm, MPI_STATUS_IGNORE);
    }
  }
}

void acquaint(const hpl::Grid& grid, const Memories& down, const Memories& along) {
  if (grid.p > 1) acquaint(grid.in_column, down);
  if (grid.q > 1) acquaint(grid.in_row, along);
}

std::vector<std::string> forbid_emulation() {
  std::vector<std::string> found;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string one = *at;
    if (one.starts_with("CUBLAS_EMULAT")) found.push_back(one);
  }
  for (const auto& one : found) unsetenv(one.substr(0, one.find('=')).c_str());
  return found;
}

}  // namespace shakedown::hpl_gpu
