#include "kernels.hpp"

#include <algorithm>

namespace shakedown::hpl_gpu {

Kernels::Kernels(gpu::Device& device, const gpu::Module& code)
    : generate(device, code, "hpl_generate"),
      row_sums(device, code, "hpl_row_sums"),
      column_sums(device, code, "hpl_column_sums"),
      copy(device, code, "hpl_copy"),
      base_shared(device, code, "hpl_base_shared"),
      base_global(device, code, "hpl_base_global"),
      permute(device, code, "hpl_permute"),
      place(device, code, "hpl_place"),
      gather(device, code, "hpl_gather"),
      scatter(device, code, "hpl_scatter"),
      turn(device, code, "hpl_turn"),
      reorder(device, code, "hpl_reorder"),
      solve_upper(device, code, "hpl_solve_upper"),
      take_off(device, code, "hpl_take_off"),
      device_side(device.info().backend != "host") {
  if (device_side) return;
  threads = 64;  // two warps are enough for what they must tell each other
  base_threads = 64;
}

BaseShape base_shape(Index rows, int width, const BaseLimits& limits) {
  BaseShape shape;
  const Index most = static_cast<Index>(limits.shared_bytes) / (static_cast<Index>(sizeof(double)) * width) / 32 * 32;
  const auto blocks_for = [&](Index each) { return (std::max<Index>(rows, 1) + each - 1) / each; };
  const auto limit = static_cast<Index>(std::max(1u, limits.blocks));
  Index each = std::max<Index>(32, limits.rows_wanted);
  if (blocks_for(each) > limit) each = hpl::round_up((std::max<Index>(rows, 1) + limit - 1) / limit, 32);
  shape.resident = each <= most;
  shape.each = each;
  shape.at_once = limits.at_once;
  shape.blocks = static_cast<unsigned>(blocks_for(each));
  if (shape.resident) shape.shared_bytes = static_cast<unsigned>(each * width * static_cast<Index>(sizeof(double)));
  return shape;
}

}  // namespace shakedown::hpl_gpu
