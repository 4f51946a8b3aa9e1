// Included before every source of a program that runs on a simulated machine (SimGrid's SMPI): what it asks of its
// kernel is answered by the simulation. SMPI's own header does so for clocks and sleeps; here are a host's name and its
// CPUs.
#pragma once

#include <sched.h>
#include <smpi/smpi_helpers.h>
#include <unistd.h>

#include <cstddef>

namespace shakedown::simulated {
/// The simulated host that the calling rank is on.
int host_name(char* name, std::size_t size);
/// Every simulated host has so many CPUs, all usable.
int allowed_cpus(std::size_t bytes, cpu_set_t* set);
}  // namespace shakedown::simulated

#define gethostname(name, size) shakedown::simulated::host_name(name, size)
#define sched_getaffinity(pid, bytes, set) shakedown::simulated::allowed_cpus(bytes, set)
#define sched_setaffinity(pid, bytes, set) (static_cast<void>(set), 0)
