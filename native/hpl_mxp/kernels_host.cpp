// The kernels' own source, run on the host: see gpu/emulate.hpp.
#include "kernels.cu"  // NOLINT(bugprone-suspicious-include): that is the point
#include "kernels.hpp"

namespace shakedown::hpl_mxp {
namespace {

namespace emulate = gpu::emulate;
constexpr auto kPlain = emulate::Kind::plain, kBarriers = emulate::Kind::barriers;

const gpu::HostKernel kHost[] = {
    emulate::kernel<mxp_generate, kPlain>("mxp_generate"),
    emulate::kernel<mxp_diagonal, kPlain>("mxp_diagonal"),
    emulate::kernel<mxp_row_sums, kPlain>("mxp_row_sums"),
    emulate::kernel<mxp_join, kPlain>("mxp_join"),
    emulate::kernel<mxp_copy, kPlain>("mxp_copy"),
    emulate::kernel<mxp_narrow, kPlain>("mxp_narrow"),
    emulate::kernel<mxp_base, kBarriers>("mxp_base"),
    emulate::kernel<mxp_solve_lower, kBarriers>("mxp_solve_lower"),
    emulate::kernel<mxp_solve_upper, kBarriers>("mxp_solve_upper"),
    emulate::kernel<mxp_take_off, kBarriers>("mxp_take_off"),
};

}  // namespace

gpu::Module module(std::span<const unsigned char> cuda) { return {cuda, kHost}; }

}  // namespace shakedown::hpl_mxp
