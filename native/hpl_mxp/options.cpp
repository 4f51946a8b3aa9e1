#include "options.hpp"

#include "hpl/dat.hpp"

namespace shakedown::hpl_mxp {
namespace {

/// Our own start, where no file says otherwise.
hpl::Dat our_defaults() {
  hpl::Dat dat;
  dat.n = {65536};
  dat.nb = {1024};
  return dat;
}

/// What an HPL.dat says of pivots and rows: there is no pivoting.
std::vector<std::string> without_meaning(const hpl::Dat& dat) {
  auto words = hpl_gpu::without_meaning(dat);
  const auto add = [&](const char* name, std::int64_t value, const char* line) {
    words.push_back(std::string(name) + " " + std::to_string(value) + " (line " + line +
                    "): rows are not exchanged, as there is no pivoting");
  };
  add("SWAP", dat.swap, "26");
  add("swapping threshold", dat.swap_threshold, "27");
  return words;
}

Precision precision_of(const std::string& word) {
  if (word == "fp16") return Precision::f16;
  if (word == "bf16") return Precision::bf16;
  throw usage("--precision '" + word + "'", "fp16, bf16");
}

void read_own(Args& args, Options& o) {
  o.precision = precision_of(args.text("precision", "fp16", "format of the products' factors: fp16, bf16"));
  o.accuracy = args.real("accuracy", o.accuracy, 0, "refine until the scaled residual is at most so large");
  o.refinements = static_cast<int>(args.integer("refinements", o.refinements, 0, "steps of refinement, at most", 1000));
  hpl_gpu::read_tail(args, o.run, kMostBlock);
}

}  // namespace

Options read_options(int argc, char** argv, const std::optional<std::string>& dat, std::vector<std::string>& notices) {
  Options o;
  auto& h = o.run.hpl;
  h.sweep = dat ? hpl::parse_dat(*dat, hpl_gpu::dat_file_of(argc, argv), notices) : our_defaults();
  h.own_grid = !dat;
  Args args(
      argc, argv,
      "HPL-MxP: solve a diagonally dominant A x = b to double precision on P x Q MPI ranks with a GPU each, by LU\n"
      "in mixed precision without pivoting and refinement: the rules of hpl-mxp.org. It is not HPL.\n"
      "Lists between commas are swept. Start several ranks with the mpirun of the MPI it was built with.");
  h.dat_file = args.text("dat", "", "an HPL.dat; options beside it replace its values");
  const auto swap = h.sweep.swap, threshold = h.sweep.swap_threshold;
  hpl::read_system(args, h);
  hpl_gpu::read_device(args, o.run);
  hpl_gpu::read_runs(args, h);
  read_own(args, o);
  args.finish();
  hpl::refuse_too_many(h.sweep);
  hpl_gpu::refuse(o.run, kMostBlock, "1024 to 2560 is where devices are fast");
  for (const auto n : h.sweep.n) {
    if (n == 1 && !h.n_auto) throw usage("N = 1: a diagonal that is the sum of no other entries", "an N above 1");
  }
  hpl_gpu::settle(h);
  if (dat) o.run.ignored = without_meaning(h.sweep);
  if (!dat && (h.sweep.swap != swap || h.sweep.swap_threshold != threshold))
    o.run.ignored.emplace_back("--swap, --swap-threshold: rows are not exchanged, as there is no pivoting");
  h.sweep.depth = {1};
  h.sweep.pfact = h.sweep.rfact = {2};
  h.sweep.nbmin = {kBase};
  h.sweep.ndiv = {2};
  return o;
}

Setup setup_of(const Options& options, const hpl::Variant& variant, bool staged) {
  return {hpl_gpu::base_setup_of(options.run, variant, staged), options.precision, options.accuracy,
          options.refinements};
}

Object params_of(const Options& options, const Setup& setup, const gpu::Info& info) {
  const auto& c = setup.base;
  Object params = hpl_gpu::params_of_grid(c);
  params.add("precision", setup.precision == Precision::f16 ? "fp16" : "bf16");
  params.add("mapping", c.column_major ? "column" : "row").add("bcast", name_of(c.broadcast));
  params.add("segment_bytes", c.segment_bytes).add("tail_nb", setup.tail_nb).add("accuracy", setup.accuracy);
  hpl_gpu::add_device(params, options.run, setup, info);
  return params;
}

}  // namespace shakedown::hpl_mxp
