// The kernels' own source, run on the host: see gpu/emulate.hpp.
#include "kernels.cu"  // NOLINT(bugprone-suspicious-include): that is the point
#include "kernels.hpp"

namespace shakedown::hpl_gpu {
namespace {

namespace emulate = gpu::emulate;
constexpr auto kPlain = emulate::Kind::plain, kBarriers = emulate::Kind::barriers, kTogether = emulate::Kind::together;

const gpu::HostKernel kHost[] = {
    emulate::kernel<hpl_generate, kPlain>("hpl_generate"),
    emulate::kernel<hpl_row_sums, kPlain>("hpl_row_sums"),
    emulate::kernel<hpl_column_sums, kPlain>("hpl_column_sums"),
    emulate::kernel<hpl_copy, kPlain>("hpl_copy"),
    emulate::kernel<hpl_base_shared, kTogether>("hpl_base_shared"),
    emulate::kernel<hpl_base_global, kTogether>("hpl_base_global"),
    emulate::kernel<hpl_permute, kBarriers>("hpl_permute"),
    emulate::kernel<hpl_place, kPlain>("hpl_place"),
    emulate::kernel<hpl_gather, kBarriers>("hpl_gather"),
    emulate::kernel<hpl_scatter, kPlain>("hpl_scatter"),
    emulate::kernel<hpl_turn, kBarriers>("hpl_turn"),
    emulate::kernel<hpl_reorder, kPlain>("hpl_reorder"),
    emulate::kernel<hpl_solve_upper, kBarriers>("hpl_solve_upper"),
    emulate::kernel<hpl_take_off, kBarriers>("hpl_take_off"),
};

}  // namespace

gpu::Module module(std::span<const unsigned char> cuda) { return {cuda, kHost}; }

}  // namespace shakedown::hpl_gpu
