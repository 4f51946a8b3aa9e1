// Why a run was not faster: what its own measurements say.
#include "runs.hpp"

namespace shakedown::hpl_mxp {

std::vector<hpl::Diagnosis> diagnose(const Report& report, const Setup& setup, const std::string& staged_why) {
  if (report.seconds.empty()) return {};
  const auto& s = report.shares;
  const auto& c = setup.base;
  const std::string larger = "a larger N";
  hpl_gpu::Findings found(s);
  found.part(s.panel, "diagonal blocks that no update hid", larger + " or a smaller NB");
  found.part(s.solve, "triangular solves that no update hid", larger + " or a smaller NB");
  found.part(s.rows, "casts and copies that no update hid", larger);
  found.messages(setup, staged_why);
  found.waiting();
  found.part(s.other, "solving with the factors and refining", larger);
  found.update({hpl::update_flop(c) * static_cast<double>(report.seconds.size()), report.ceiling_flop,
                report.ceiling_seconds, c.p * c.q},
               std::string("product in ") + word(setup.precision) + " with k = " + std::to_string(c.nb), "another NB");
  return found.take();
}

}  // namespace shakedown::hpl_mxp
