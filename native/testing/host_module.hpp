// Where the fake driver (fake_cuda.cpp) finds the kernels of the program that loads it: the program exports this
// function.
#pragma once

#include "gpu/gpu.hpp"

extern "C" const shakedown::gpu::Module* shakedown_host_module();
