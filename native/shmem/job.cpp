// The job: its heap, who is where, pinned to which CPU, and errors that all PEs hear of.
#include <shmem.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "common/affinity.hpp"
#include "common/deal.hpp"
#include "common/memory.hpp"
#include "common/watch.hpp"
#include "shmem.hpp"

namespace shakedown::shmem {
namespace {

// The specification's name of the heap's size, and Open MPI's.
constexpr std::array<const char*, 2> kHeapVariables = {"SHMEM_SYMMETRIC_SIZE", "SHMEM_SYMMETRIC_HEAP_SIZE"};
constexpr std::uint64_t kSpareHeap = std::uint64_t{32} << 20;  // what the library and the job itself take of it
constexpr std::size_t kAlign = 4096;
constexpr std::size_t kMostCpus = 8192;

/// What PEs know of each other, as it goes from one to all.
struct Place {
  std::array<char, 256> host{};
  std::int64_t pid = 0;
  std::int64_t cpu = -1;
  std::array<std::uint8_t, kMostCpus / 8> mask{};
};

/// How one PE's part ended.
struct Verdict {
  std::int64_t code = kOk;
  std::array<char, 1016> text{};
};

/// Libraries give out powers of two (Open MPI's buddy allocator).
std::uint64_t taken(std::uint64_t bytes) { return std::bit_ceil(bytes + kAlign); }

std::string library_name() {
  int major = 0;
  int minor = 0;
  shmem_info_get_version(&major, &minor);
  const std::string keeps_to = "OpenSHMEM " + std::to_string(major) + '.' + std::to_string(minor);
#if defined(OSHMEM_MAJOR_VERSION)
  return "Open MPI " + std::to_string(OSHMEM_MAJOR_VERSION) + '.' + std::to_string(OSHMEM_MINOR_VERSION) + '.' +
         std::to_string(OSHMEM_RELEASE_VERSION) + ", " + keeps_to;
#else
  std::array<char, SHMEM_MAX_NAME_LEN + 1> name{};
  shmem_info_get_name(name.data());
  return std::string(name.data()) + ", " + keeps_to;
#endif
}

std::vector<int> cpus_of(const Place& place) {
  std::vector<int> cpus;
  for (std::size_t cpu = 0; cpu < kMostCpus; ++cpu) {
    if ((place.mask[cpu / 8] >> (cpu % 8) & 1U) != 0) cpus.push_back(static_cast<int>(cpu));
  }
  return compact_order(cpu_places(cpus));
}

/// This PE's entry in a row that every PE has, on all PEs.
template <class T>
void tell_all(std::span<T> row, const T& mine, int pe) {
  row[static_cast<std::size_t>(pe)] = mine;
  const T copy = mine;
  for (int other = 0; other < std::ssize(row); ++other) {
    if (other != pe) shmem_putmem(&row[static_cast<std::size_t>(pe)], &copy, sizeof(T), other);
  }
  meet();
}

Place here() {
  Place place;
  const std::string host = host_name();
  std::copy_n(host.begin(), std::min(host.size(), place.host.size() - 1), place.host.begin());
  place.pid = getpid();
  for (const int cpu : allowed_cpus()) {
    const auto at = static_cast<std::size_t>(cpu);
    if (at < kMostCpus) place.mask[at / 8] = static_cast<std::uint8_t>(place.mask[at / 8] | 1U << (at % 8));
  }
  return place;
}

/// The CPU of this PE: those of its host are dealt among the PEs there.
int dealt_cpu(std::span<const Place> places, int pe, const Options& options) {
  const auto& mine = places[static_cast<std::size_t>(pe)];
  std::vector<std::vector<int>> masks;
  std::size_t at = 0;
  for (int other = 0; other < std::ssize(places); ++other) {
    const auto& place = places[static_cast<std::size_t>(other)];
    if (std::strcmp(place.host.data(), mine.host.data()) != 0) continue;
    if (other == pe) at = masks.size();
    masks.push_back(cpus_of(place));
  }
  const auto named = options.cpus.empty() ? std::vector<int>() : parse_cpu_list(options.cpus);
  return deal(masks, named, 1, false, options.allow_oversubscribe)[at].front();
}

void check_size(const Job& job, const Options& options) {
  if (options.world_size > 0 && options.world_size != job.pes) {
    throw cannot(std::to_string(job.pes) + " PE" + (job.pes == 1 ? "" : "s") + " where " +
                     std::to_string(options.world_size) + " were started",
                 "the launcher is of another library than the program was built with: use that OpenSHMEM's own");
  }
  const bool pairs =
      std::any_of(options.operations.begin(), options.operations.end(), [](Operation one) { return !is_of_all(one); });
  if (job.pes < 2 || (pairs && job.pes != 2)) {
    throw usage("shmem was started with " + std::to_string(job.pes) + " PE" + (job.pes == 1 ? "" : "s") +
                    (pairs ? " and measures between two" : " and needs at least 2"),
                "start it with the launcher of its OpenSHMEM: oshrun -np 2 shmem --operations put");
  }
}

}  // namespace

std::uint64_t heap_bytes(const Options& options, std::uint64_t pes) {
  std::uint64_t pair = 0;
  std::uint64_t all = 0;
  for (const Operation operation : options.operations) {
    for (const auto bytes : options.sizes) {
      const Shape shape{operation, Mode::completed, bytes, options.in_flight};
      if (is_of_all(operation)) {
        all = std::max(all, taken(all_pes_bytes(shape, pes, options.samples)));
      } else if (!is_atomic(operation)) {
        pair = std::max(pair, 3 * taken(shape.window_bytes()));
      }
    }
  }
  const auto olds = taken(2 * static_cast<std::uint64_t>(options.contended) * sizeof(Word));
  return pair + all + olds + pes * (taken(sizeof(Place)) + taken(sizeof(Verdict))) + kSpareHeap;
}

void ask_for_heap(const Options& options) {
  for (const char* name : kHeapVariables) {
    if (std::getenv(name) != nullptr) return;
  }
  const std::uint64_t pes = options.world_size > 0 ? static_cast<std::uint64_t>(options.world_size) : 2;
  const std::uint64_t bytes = heap_bytes(options, pes);
  require_memory(bytes, "the symmetric heap of a PE");
  for (const char* name : kHeapVariables) setenv(name, std::to_string(bytes).c_str(), 0);
}

Symmetric::Symmetric(std::size_t bytes, const char* what)
    : data_(shmem_align(kAlign, std::max(bytes, kAlign))), bytes_(bytes) {
  if (data_ == nullptr) {
    throw cannot("the symmetric heap has no room for " + show_bytes(bytes) + " for " + what,
                 std::string("name a larger one in ") + kHeapVariables[0] + " (Open MPI: " + kHeapVariables[1] +
                     "), or name none, or smaller sizes");
  }
}

Symmetric::~Symmetric() {
  if (data_ != nullptr) shmem_free(data_);
}

void meet() {
  const InMpi mark;
  shmem_barrier_all();
}

void together(const std::function<void()>& work) {
  const int pe = shmem_my_pe();
  const int pes = shmem_n_pes();
  const Caught found = caught(work);
  const Symmetric memory(static_cast<std::size_t>(pes) * sizeof(Verdict), "what PEs exchange");
  const auto row = memory.as<Verdict>();
  Verdict mine;
  mine.code = found.code;
  std::copy_n(found.text.begin(), std::min(found.text.size(), mine.text.size() - 1), mine.text.begin());
  meet();
  tell_all(row, mine, pe);
  std::optional<Error> error;
  for (const auto& one : row) {
    if (one.code == kOk) continue;
    error.emplace(static_cast<ExitCode>(one.code), one.text.data());
    break;
  }
  meet();  // nobody frees what another still reads
  if (error) throw *error;
}

int Job::nodes() const { return static_cast<int>(std::set<std::string>(hosts.begin(), hosts.end()).size()); }

Object Job::facts() const {
  std::vector<Object> places;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    places.push_back(Object().add("rank", i).add("host", hosts[i]).add("cpu", cpus[i]).add("pid", pids[i]));
  }
  const std::set<std::string> names(hosts.begin(), hosts.end());
  Object facts;
  facts.add("world_size", pes).add("hosts", std::vector<std::string>(names.begin(), names.end()));
  facts.add("ranks", places).add("openshmem", library).add("oversubscribed", oversubscribed);
  return facts;
}

Job join(const Options& options) {
  Job job;
  job.pe = shmem_my_pe();
  job.pes = shmem_n_pes();
  job.library = library_name();
  check_size(job, options);
  const Symmetric memory(static_cast<std::size_t>(job.pes) * sizeof(Place), "where PEs are");
  const auto places = memory.as<Place>();
  Place mine = here();
  meet();
  tell_all(places, mine, job.pe);
  together([&] {
    const auto beside = std::count_if(places.begin(), places.end(), [&](const auto& one) {
      return std::strcmp(one.host.data(), mine.host.data()) == 0;
    });
    require_memory(static_cast<std::uint64_t>(beside) * heap_bytes(options, static_cast<std::uint64_t>(job.pes)),
                   "the symmetric heaps of this host's PEs");
    mine.cpu = dealt_cpu(places, job.pe, options);
    pin_thread(static_cast<int>(mine.cpu));
  });
  tell_all(places, mine, job.pe);
  std::set<std::pair<std::string, std::int64_t>> pinned;
  for (const auto& one : places) {
    job.hosts.emplace_back(one.host.data());
    job.cpus.push_back(static_cast<int>(one.cpu));
    job.pids.push_back(static_cast<int>(one.pid));
    job.oversubscribed |= !pinned.insert({job.hosts.back(), one.cpu}).second;
  }
  meet();
  return job;
}

void watch_case(const Job& job, const Options& options, const std::string& kernel, const Object& params,
                const std::string& words) {
  if (options.silent_s <= 0) return;
  const double limit_s = options.silent_s + options.budget_s;
  const std::string limit = std::to_string(static_cast<int>(limit_s)) + " s";
  std::string line;
  std::string says;
  if (job.pe == 0) {
    Object check;
    check.add("value", std::numeric_limits<double>::quiet_NaN()).add("limit", 0.0).add("kind", "no answer in " + limit);
    Object event;
    event.add("event", "case").add("kernel", kernel).add("params", params).add("work", Object());
    event.add("seconds", std::vector<double>()).add("residual", check);
    line = to_json(event) + '\n';
    says = "shmem: no answer in " + limit + ": " + words +
           "\n  next: look at the PEs that are named beside this, or at the node of one that printed nothing\n";
  }
  watch(limit_s, line, says,
        "shmem: PE " + std::to_string(job.pe) + " on " + job.hosts[static_cast<std::size_t>(job.pe)] +
            " is not in OpenSHMEM: " + words + " waits for it\n");
}

}  // namespace shakedown::shmem
