#include "launched_rank.hpp"

#include <array>

#include "proc_text.hpp"

namespace shakedown::placement {
namespace {

struct Names {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
};

// Open MPI: mpirun(1), "Environment variables"; Hydra and Intel MPI: what mpiexec.hydra exports; MVAPICH2 user guide;
// PALS: mpiexec(1) of Cray; Slurm: srun(1), "Output environment variables"; Flux: flux-run(1); PMIx: PMIx_Init(3).
constexpr std::array<Names, 8> kLaunchers = {{
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"},
    {"PALS", "PALS_RANKID", "PALS_SIZE", "PALS_LOCAL_RANKID"},
    {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID"},
    {"Hydra", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
    {"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK"},
    {"PMIx", "PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK"},
}};

int value_of(const char* text) {
  const auto number = text == nullptr ? std::nullopt : number_of(text);
  return number && *number < 1U << 30U ? static_cast<int>(*number) : -1;
}

}  // namespace

LaunchedRank launched_rank(const std::function<const char*(const char*)>& variable) {
  for (const auto& names : kLaunchers) {
    const int rank = value_of(variable(names.rank));
    if (rank < 0) continue;
    int local = value_of(variable(names.local_rank));
    // srun's PMI-2 sets the rank as Hydra does, and the place on the host under Slurm's own name
    if (local < 0 && value_of(variable("SLURM_PROCID")) == rank) local = value_of(variable("SLURM_LOCALID"));
    return {rank, value_of(variable(names.size)), local, names.launcher};
  }
  return {};
}

}  // namespace shakedown::placement
