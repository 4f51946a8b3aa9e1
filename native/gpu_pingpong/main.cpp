// Messages between two ranks, from and to the memory of GPUs: parse -> open -> each side and size -> verify -> emit.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "common/emit.hpp"
#include "common/job.hpp"
#include "gpu/near.hpp"
#include "gpu/program.hpp"
#include "side.hpp"

namespace shakedown::gpu_pingpong {
namespace {

constexpr Word kSeed[] = {11, 12};  // of what rank 0 and rank 1 send
constexpr double kSampleSeconds = 1e-3;

struct Options {
  gpu::Choice choice;
  std::vector<std::int64_t> sizes;
  std::vector<std::string> sides, kernels;
  std::string aware;
  std::int64_t samples = 20, window = 64;
  bool spoil = false, verify = true;
};

Options parse(int argc, char** argv) {
  Args args(argc, argv, "gpu_pingpong: messages between two MPI ranks from and to the memory of GPUs, verified");
  Options o;
  o.choice = gpu::read_choice(args);
  o.sizes = args.integers("sizes", "0,8,64,1024,8192,65536,1048576,4194304", 0, "bytes of a message, for each case");
  o.sides = args.words("sides", "dd,dh,hh", "where messages start and arrive: d device, h host; the first is rank 0's");
  o.kernels = args.words("kernels", "latency,bandwidth", "which measurements");
  o.aware = args.text("aware", "auto",
                      "whether MPI takes addresses of devices: yes, no (copy through the host), auto (ask MPI)");
  o.samples = args.integer("samples", 20, 1, "samples of each case, each of a millisecond or one message");
  o.window = args.integer("window", 64, 1, "messages under way at once in bandwidth", 4096);
  o.spoil = args.flag("spoil", "damage what arrived before the check, to see it fail");
  o.verify = !args.flag("no-verify", "leave the check out");
  args.finish();
  for (const auto& side : o.sides) {
    if (side != "dd" && side != "dh" && side != "hd" && side != "hh")
      throw usage("--sides: '" + side + "'", "dd,dh,hd,hh");
  }
  for (const auto& kernel : o.kernels) {
    if (kernel != "latency" && kernel != "bandwidth") throw usage("--kernels: '" + kernel + "'", "latency,bandwidth");
  }
  if (o.aware != "auto" && o.aware != "yes" && o.aware != "no")
    throw usage("--aware '" + o.aware + "'", "auto, yes, no");
  for (const auto size : o.sizes) {
    if (size > 1 << 30) throw usage("--sizes " + std::to_string(size), "at most 1 GiB, 1073741824");
  }
  return o;
}

/// Whether this MPI takes addresses of devices: Open MPI says it by a function, others by the variable that turns it on
/// (MVAPICH2-GDR, MVAPICH, Cray MPICH, Intel MPI).
bool takes_devices(const Options& options) {
  if (options.aware != "auto") return options.aware == "yes";
  if (options.choice.backend != "cuda") return true;  // its "devices" are the host's memory
  if (auto* query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"))) return query() == 1;
  for (const char* name : {"MV2_USE_CUDA", "MVP_USE_CUDA", "MPICH_GPU_SUPPORT_ENABLED", "I_MPI_OFFLOAD"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && std::string(value) != "0") return true;
  }
  return false;
}

/// One rank's view of the pair.
struct Pair {
  MPI_Comm comm;
  int rank;
  [[nodiscard]] int other() const { return 1 - rank; }
};

void round_trips(const Pair& pair, const Side& side, std::size_t bytes, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (pair.rank == 0) side.send(pair.comm, 1, bytes);
    side.receive(pair.comm, pair.other(), bytes);
    if (pair.rank == 1) side.send(pair.comm, 0, bytes);
  }
}

void windows(const Pair& pair, const Side& side, std::size_t bytes, std::int64_t window, std::int64_t count) {
  std::vector<MPI_Request> requests(static_cast<std::size_t>(window), MPI_REQUEST_NULL);
  char token = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (pair.rank == 0) {
      side.send_window(pair.comm, 1, bytes, requests);
      MPI_Recv(&token, 1, MPI_CHAR, 1, kTag + 1, pair.comm, MPI_STATUS_IGNORE);
    } else {
      side.receive_window(pair.comm, 0, bytes, requests);
      MPI_Send(&token, 1, MPI_CHAR, 0, kTag + 1, pair.comm);
    }
  }
}

/// The samples of one case on both ranks alike; the times are rank 0's.
Case sample(const Pair& pair, const Side& side, const Options& options, const std::string& kernel, std::size_t bytes) {
  const auto work = [&](std::int64_t count) {
    kernel == "latency" ? round_trips(pair, side, bytes, count) : windows(pair, side, bytes, options.window, count);
  };
  const auto timed = [&](std::int64_t count) {
    MPI_Barrier(pair.comm);
    const double begin = now_s();
    work(count);
    return now_s() - begin;
  };
  timed(1);  // registers the buffers
  double once = timed(1);
  for (int i = 0; i < 10; ++i) once = std::min(once, timed(1));
  std::int64_t count =
      std::clamp<std::int64_t>(std::llround(std::ceil(kSampleSeconds / std::max(once, 1e-7))), 1, 10000);
  MPI_Bcast(&count, 1, MPI_INT64_T, 0, pair.comm);
  Case series;
  series.kernel = kernel;
  series.begin_ns = unix_ns();
  for (std::int64_t i = 0; i < options.samples; ++i) series.seconds.push_back(timed(count));
  series.end_ns = unix_ns();
  const std::int64_t messages = count * (kernel == "latency" ? 2 : options.window);
  series.work.add("messages", messages).add("bytes", static_cast<double>(messages) * static_cast<double>(bytes));
  return series;
}

double verify(const Pair& pair, const Side& side, const Options& options, const std::string& kernel,
              std::size_t bytes) {
  if (options.spoil && pair.rank == 1) side.spoil(bytes);
  const bool received = kernel == "latency" || pair.rank == 1;
  double wrong = received ? side.wrong(kSeed[pair.other()], bytes) : 0;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_DOUBLE, MPI_SUM, pair.comm);
  return wrong;
}

void measure(Emitter& emitter, const Pair& pair, gpu::Device& device, const Options& options, bool aware) {
  const auto most = static_cast<std::size_t>(*std::max_element(options.sizes.begin(), options.sizes.end()));
  const std::string host = host_name();
  for (const auto& sides : options.sides) {
    const bool on_device = sides[static_cast<std::size_t>(pair.rank)] == 'd';
    std::unique_ptr<Side> side;
    together(pair.comm, [&] { side = std::make_unique<Side>(device, on_device, aware, most); });
    for (const auto& kernel : options.kernels) {
      for (const auto size : options.sizes) {
        const auto bytes = static_cast<std::size_t>(size);
        Case series;
        double wrong = 0;
        together(pair.comm, [&] {
          side->prepare(kSeed[pair.rank], bytes);
          series = sample(pair, *side, options, kernel, bytes);
          wrong = verify(pair, *side, options, kernel, bytes);
        });
        series.params.add("bytes", size).add("sides", sides);
        series.params.add("path", sides == "hh" ? "host"
                                  : aware       ? "direct"
                                                : "staged")
            .add("device", device.info().name);
        if (kernel == "bandwidth") series.params.add("window", options.window);
        const Residual residual{wrong, 0, "wrong bytes"};
        emitter.series(series, options.verify ? &residual : nullptr);
      }
    }
  }
}

/// Each rank of a host on a core of its own, near its device where it may use such CPUs. A binding to one CPU that the
/// launcher gave stays.
void pin(const gpu::Device& device, int place) {
  const auto all = allowed_cpus();
  if (all.size() < 2) return;
  auto near = gpu::near_cpus(device.info(), all);
  if (near.empty()) near = all;
  const auto order = compact_order(cpu_places(near));
  pin_thread(order[static_cast<std::size_t>(place) % order.size()]);
}

int run(int argc, char** argv, const Options& options) {
  int size = 0;
  Pair pair{MPI_COMM_WORLD, 0};
  MPI_Comm_size(pair.comm, &size);
  MPI_Comm_rank(pair.comm, &pair.rank);
  if (size != 2) throw usage("two ranks are needed, and " + std::to_string(size) + " were started", "mpirun -np 2");
  MPI_Comm near = MPI_COMM_NULL;
  MPI_Comm_split_type(pair.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
  int place = 0;
  MPI_Comm_rank(near, &place);
  MPI_Comm_free(&near);
  std::vector<std::unique_ptr<gpu::Device>> devices;
  together(pair.comm, [&] { devices = gpu::open(options.choice); });
  gpu::Device& device = *devices[static_cast<std::size_t>(place) % devices.size()];
  pin(device, place);
  const bool aware = takes_devices(options);
  Emitter emitter(pair.rank == 0 ? stdout : nullptr);
  Object facts = gpu::all_facts(devices);
  const auto names = gather_words(pair.comm, host_name());
  const std::set<std::string> hosts(names.begin(), names.end());
  facts.add("world_size", size).add("hosts", std::vector<std::string>(hosts.begin(), hosts.end()));
  facts.add("mpi", mpi_version()).add("aware", aware).add("window", options.window);
  emitter.start("gpu_pingpong", argc, argv, facts);
  if (!aware) {
    emitter.notice("gpu-mpi-staged",
                   "this MPI does not say that it takes addresses of devices: messages are copied through the host",
                   "use an MPI built for GPUs (ompi_info --parsable --all | grep cuda_support), or say --aware yes");
  }
  if (devices.size() == 1 && options.choice.backend == "cuda" && place == 1) {
    std::fprintf(stderr, "gpu_pingpong: both ranks share one GPU: its memory is measured, not a link\n");
  }
  {
    const PhaseMark mark(emitter, "measure");
    measure(emitter, pair, device, options, aware);
  }
  emitter.end();
  int code = emitter.ok() ? kOk : kCheckFailed;
  MPI_Bcast(&code, 1, MPI_INT, 0, pair.comm);
  return code;
}

}  // namespace
}  // namespace shakedown::gpu_pingpong

int main(int argc, char** argv) {
  using namespace shakedown;
  return mpi_main("gpu_pingpong", argc, argv, gpu_pingpong::parse, gpu_pingpong::run);
}
