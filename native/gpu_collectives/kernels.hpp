// The kernels of this program: their images, and their arguments as launches give them.
#pragma once

#include "content.hpp"
#include "gpu/gpu.hpp"

namespace shakedown::gpu_collectives {

extern const gpu::Module kModule;

using MakeInput = gpu::Kernel<void*, int, Word, int, std::size_t>;
using Compare = gpu::Kernel<const void*, Origin, std::size_t, Word*>;
inline constexpr gpu::Grid kGrid{.blocks = 2048, .threads = 256};

}  // namespace shakedown::gpu_collectives
