#include "kernels.hpp"

namespace shakedown::hpl_mxp {

Kernels::Kernels(gpu::Device& device, const gpu::Module& code)
    : generate(device, code, "mxp_generate"),
      diagonal(device, code, "mxp_diagonal"),
      row_sums(device, code, "mxp_row_sums"),
      join(device, code, "mxp_join"),
      copy(device, code, "mxp_copy"),
      narrow(device, code, "mxp_narrow"),
      base(device, code, "mxp_base"),
      solve_lower(device, code, "mxp_solve_lower"),
      solve_upper(device, code, "mxp_solve_upper"),
      take_off(device, code, "mxp_take_off") {
  if (device.info().backend != "host") return;
  threads = triangle_threads = 64;  // two warps are enough for what they must tell each other
}

}  // namespace shakedown::hpl_mxp
