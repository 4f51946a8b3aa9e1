// Why a run was not faster: what its own measurements say.
#include "runs.hpp"

namespace shakedown::hpl_gpu {

std::vector<hpl::Diagnosis> diagnose(const hpl::Report& report, const Setup& setup, const std::string& staged_why) {
  if (report.seconds.empty()) return {};
  const auto& s = report.shares;
  const auto& c = setup.base;
  const std::string larger = "a larger N";
  Findings found(s);
  found.part(s.panel, "panels that no update hid", larger + ", a smaller NB, or other --panel-blocks");
  found.part(s.solve, "solving for the rows of U", larger + " or a smaller NB");
  found.part(s.rows, "moving rows", larger + (c.p > 1 ? ", or fewer process rows" : ""));
  found.messages(setup, staged_why);
  found.waiting();
  found.part(s.other, "the back substitution", larger);
  found.update({hpl::update_flop(c) * static_cast<double>(report.seconds.size()), report.ceiling_flop,
                report.ceiling_seconds, c.p * c.q},
               "DGEMM with k = " + std::to_string(c.nb), "other --panel-blocks");
  return found.take();
}

}  // namespace shakedown::hpl_gpu
