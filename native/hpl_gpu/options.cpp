#include "options.hpp"

#include "hpl/dat.hpp"
#include "hpl/session.hpp"

namespace shakedown::hpl_gpu {
namespace {

constexpr Index kMostBlock = 2048;  // columns of a panel: its triangle stays in a block's shared memory

/// Our own start, where no file says otherwise.
hpl::Dat our_defaults() {
  hpl::Dat dat;
  dat.n = {32768};
  dat.nb = {512};
  return dat;
}

std::string join(const hpl::Values& values) {
  std::string text;
  for (const auto value : values) text.append(text.empty() ? "" : ",").append(std::to_string(value));
  return text;
}

/// What is always done, whatever a file says: so that the texts tell of what was run.
void fix(hpl::Dat& dat) {
  dat.depth = {1};
  dat.rfact = {2};
  dat.pfact = {1};
  dat.nbmin = {kBase};
  dat.ndiv = {2};
}

void read_own(Args& args, Options& o) {
  read_tail(args, o, kMostBlock);
  o.panel_blocks = static_cast<unsigned>(args.integer(
      "panel-blocks", 0, 0, "blocks of the panel's kernel, at most; 0: a quarter of the multiprocessors", 1024));
  o.hpl.split =
      args.real("split", o.hpl.split, 0, "part of the columns whose row exchange hides behind the rest's update, to 1");
  o.hpl.netlib_file = args.text("netlib", "", "write netlib's output there too; - is standard output");
}

}  // namespace

void read_device(Args& args, Options& o) {
  o.choice = gpu::read_choice(args);
  o.aware = args.text("aware", "auto", "whether MPI takes addresses of devices: yes, no (through pinned memory), auto");
  o.share_devices = args.flag("share-devices", "let ranks share a device: for tests, not for figures");
  o.nvml =
      args.text("nvml", "libnvidia-ml.so.1", "the management library, queried for clock and power; empty: not queried");
}

void read_runs(Args& args, hpl::Options& h) {
  h.segment_bytes = args.integer("segment", 4 << 20, 8, "bytes of a panel that are sent in one piece");
  h.samples = args.integer("samples", 1, 1, "solve at least so many times");
  h.seconds = args.real("seconds", 0, 0, "solve again for at least so many seconds");
  h.per_host = args.flag("per-host", "every host solves its own system at the same time");
  h.ceiling = !args.flag("no-ceiling", "leave out the matrix product with k = NB beside each run");
  h.events_file = args.text("events", "", "write the events there, not to standard output");
  h.memory_share = args.real("memory-share", 0.95, 0, "for --n auto: of the device's memory that is free, to 1");
  h.time_limit_s = args.real("time-limit", 0, 0, "for --n auto: seconds that a solution may take; 0: any");
  static const std::vector<std::string> kInjects = {"none", "entry", "nan", "singular"};
  const std::string inject = args.text("inject", "none", "damage the matrix, for tests: none, entry, nan, singular");
  const auto found = std::find(kInjects.begin(), kInjects.end(), inject);
  if (found == kInjects.end()) throw usage("--inject '" + inject + "'", "none, entry, nan, singular");
  h.inject = static_cast<hpl::Inject>(found - kInjects.begin());
}

void read_tail(Args& args, Options& o, Index most_block) {
  o.tail_nb = args.integer("tail-nb", 0, 0, "columns of a panel in the tail of a run; 0: as everywhere", most_block);
  o.tail_share = args.real("tail-share", o.tail_share, 0, "of N, the part that is the tail, to 1");
}

void refuse(const Options& o, Index most_block, const char* why) {
  const auto& h = o.hpl;
  if (h.split > 1) throw usage("--split is above 1", "it is a part of the columns");
  if (o.tail_share > 1) throw usage("--tail-share is above 1", "it is a part of N");
  if (h.memory_share > 1) throw usage("--memory-share is above 1", "it is a part of the memory that is free");
  if (o.aware != "auto" && o.aware != "yes" && o.aware != "no")
    throw usage("--aware '" + o.aware + "'", "auto, yes, no");
  for (const auto nb : h.sweep.nb) {
    if (nb > most_block) throw usage("NB = " + std::to_string(nb) + " is above " + std::to_string(most_block), why);
  }
}

void settle(hpl::Options& h) {
  h.threads = 1;  // one drives the device
  h.allow_oversubscribe = true;
  h.events = h.netlib_file != "-" || !h.events_file.empty();
}

std::string dat_file_of(int argc, char** argv) { return hpl::dat_file_of(argc, argv); }

std::optional<std::string> dat_text(int argc, char** argv) {
  const auto name = dat_file_of(argc, argv);
  if (name.empty()) return std::nullopt;
  return hpl::read_everywhere(name);
}

std::vector<std::string> without_meaning(const hpl::Dat& dat) {
  auto words = hpl::ignored(dat);
  const auto add = [&](const std::string& name, const hpl::Values& values, int line, const char* why) {
    words.push_back(name + " " + join(values) + " (line " + std::to_string(line) + "): " + why);
  };
  add("PFACT", dat.pfact, 15, "the device factors 32 columns at a time its own way");
  add("NBMIN", dat.nbmin, 17, "it is 32 on a device");
  add("NDIV", dat.ndiv, 19, "panels are halved");
  add("RFACT", dat.rfact, 21, "the recursion is right-looking");
  add("DEPTH", dat.depth, 25, "it is 1 on a device");
  return words;
}

Options read_options(int argc, char** argv, const std::optional<std::string>& dat, std::vector<std::string>& notices) {
  Options o;
  auto& h = o.hpl;
  h.sweep = dat ? hpl::parse_dat(*dat, dat_file_of(argc, argv), notices) : our_defaults();
  h.own_grid = !dat;
  Args args(
      argc, argv,
      "High-Performance Linpack on GPUs: solve A x = b on P x Q MPI ranks with a GPU each, by netlib HPL 2.3's rules.\n"
      "Lists between commas are swept. Start several ranks with the mpirun of the MPI it was built with.");
  h.dat_file = args.text("dat", "", "an HPL.dat; options beside it replace its values");
  hpl::read_system(args, h);
  read_device(args, o);
  read_runs(args, h);
  read_own(args, o);
  args.finish();
  hpl::refuse_too_many(h.sweep);
  refuse(o, kMostBlock, "512 to 1024 is where devices are fast");
  settle(h);
  if (dat) o.ignored = without_meaning(h.sweep);
  fix(h.sweep);
  return o;
}

BaseSetup base_setup_of(const Options& options, const hpl::Variant& variant, bool staged) {
  return {hpl::config_of(options.hpl, variant), options.tail_nb, options.tail_share, staged, options.share_devices};
}

Setup setup_of(const Options& options, const hpl::Variant& variant, bool staged) {
  return {base_setup_of(options, variant, staged), options.panel_blocks};
}

Object params_of_grid(const hpl::Config& c) {
  Object params;
  params.add("n", c.n).add("nb", c.nb).add("p", c.p).add("q", c.q).add("ranks", c.p * c.q);
  return params;
}

void add_device(Object& params, const Options& options, const BaseSetup& setup, const gpu::Info& info) {
  const bool alone = setup.base.p * setup.base.q == 1;
  params.add("messages", alone ? "none" : setup.staged ? "staged" : "direct");
  params.add("device", info.name).add("backend", options.choice.backend);
}

Object params_of(const Options& options, const Setup& setup, const gpu::Info& info) {
  const auto& c = setup.base;
  Object params = params_of_grid(c);
  params.add("mapping", c.column_major ? "column" : "row").add("bcast", name_of(c.broadcast));
  params.add("swap", name_of(c.exchange)).add("swap_threshold", c.exchange_threshold).add("split", c.split);
  params.add("segment_bytes", c.segment_bytes).add("tail_nb", setup.tail_nb).add("panel_blocks", setup.panel_blocks);
  add_device(params, options, setup, info);
  return params;
}

}  // namespace shakedown::hpl_gpu
