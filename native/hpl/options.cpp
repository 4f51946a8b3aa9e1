#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace shakedown::hpl {
namespace {

constexpr const char* kLooking[] = {"left", "crout", "right"};
constexpr const char* kBroadcasts[] = {"1ring", "1ringM", "2ring", "2ringM", "long", "longM"};
constexpr const char* kExchanges[] = {"binary", "long", "mix"};
constexpr const char* kSolves[] = {"recursive", "inverse", "blas"};
constexpr const char* kInjects[] = {"none", "entry", "nan", "singular"};

bool as_xhpl(const char* name) { return std::filesystem::path(name).filename() == "xhpl"; }

/// The code that a word stands for: its place in `names`, which may also be given as its number or its first letter.
template <std::size_t kCount>
std::int64_t code(const std::string& option, const std::string& word, const char* const (&names)[kCount]) {
  std::string known;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (word == names[i] || word == std::to_string(i)) return static_cast<std::int64_t>(i);
    known.append(i > 0 ? ", " : "").append(std::to_string(i)).append(" ").append(names[i]);
  }
  throw usage("--" + option + " '" + word + "' is unknown", "known: " + known);
}

std::string join(const Values& values) {
  std::string text;
  for (const auto value : values) text.append(text.empty() ? "" : ",").append(std::to_string(value));
  return text;
}

template <std::size_t kCount>
Values codes(Args& args, const std::string& name, const Values& otherwise, const char* const (&names)[kCount],
             const std::string& help) {
  Values values;
  for (const auto& word : args.words(name, join(otherwise), help)) values.push_back(code(name, word, names));
  return values;
}

std::vector<double> shares(const std::string& name, const std::vector<std::string>& words) {
  std::vector<double> values;
  for (const auto& word : words) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || !(value > 0 && value <= 1)) {
      throw usage(std::string("--").append(name).append(" '").append(word).append("' is not a share of N"),
                  "write numbers above 0 and up to 1: 1,0.7,0.4");
    }
    values.push_back(value);
  }
  return values;
}

/// Our own start, where no file says otherwise: what was fastest on the machines met so far.
Dat our_defaults() {
  Dat dat;
  dat.n = {8000};
  dat.nb = {192};
  dat.pfact = {0};
  dat.rfact = {2};
  dat.nbmin = {8};
  return dat;
}

}  // namespace

const char* name_of(Looking looking) { return kLooking[static_cast<int>(looking)]; }
const char* name_of(Broadcast broadcast) { return kBroadcasts[static_cast<int>(broadcast)]; }
const char* name_of(Exchange exchange) { return kExchanges[static_cast<int>(exchange)]; }
const char* name_of(Solve solve) { return kSolves[static_cast<int>(solve)]; }

void read_system(Args& args, Options& o) {
  Dat& dat = o.sweep;
  const std::string n = args.text("n", join(dat.n), "orders N between commas; auto: as memory and time allow");
  o.n_auto = n == "auto";
  if (!o.n_auto) dat.n = args.integers("n", join(dat.n), 1, "orders N");
  for (const auto order : dat.n) {
    if (order > kMostInt) throw usage("--n " + std::to_string(order) + " is over 2147483647", "as in HPL.dat");
  }
  dat.nb = args.integers("nb", join(dat.nb), 1, "block sizes NB between commas");
  const auto none = o.own_grid ? std::string() : join(dat.p);
  dat.p = args.integers("p", none, 1, "process rows between commas (default: the squarest grid of all ranks)");
  dat.q = args.integers("q", o.own_grid ? std::string() : join(dat.q), 1, "process columns, paired with --p");
  if (dat.p.size() != dat.q.size()) {
    throw usage("--p has " + std::to_string(dat.p.size()) + " values and --q " + std::to_string(dat.q.size()),
                "they are the sides of the grids, in pairs");
  }
  o.own_grid = dat.p.empty();
  constexpr const char* kMappings[] = {"row", "column"};
  dat.mapping = code("mapping", args.text("mapping", kMappings[dat.mapping], "row or column: how ranks fill the grid"),
                     kMappings);
  dat.bcast = codes(args, "bcast", dat.bcast, kBroadcasts, "broadcasts: 0 1ring to 5 longM, between commas");
  dat.swap = code("swap", args.text("swap", kExchanges[dat.swap], "row exchange: binary, long or mix"), kExchanges);
  dat.swap_threshold =
      args.integer("swap-threshold", dat.swap_threshold, 0, "columns up to which mix takes the binary exchange");
  dat.threshold = args.real("threshold", dat.threshold, -1e300, "of the residual; 0 or less: no check");
}

void read_panels(Args& args, Options& o) {
  Dat& dat = o.sweep;
  dat.depth = args.integers("depth", join(dat.depth), 0, "depths of the look-ahead between commas");
  dat.pfact = codes(args, "pfact", dat.pfact, kLooking, "panels: left, crout, right, between commas");
  dat.rfact = codes(args, "rfact", dat.rfact, kLooking, "their recursion: left, crout, right, between commas");
  dat.nbmin = args.integers("nbmin", join(dat.nbmin), 1, "widths at which the recursion ends, between commas");
  dat.ndiv = args.integers("ndiv", join(dat.ndiv), 2, "parts of a recursion step, between commas");
}

void refuse_too_many(const Dat& dat) {
  for (const auto* list :
       {&dat.n, &dat.nb, &dat.p, &dat.pfact, &dat.rfact, &dat.nbmin, &dat.ndiv, &dat.bcast, &dat.depth}) {
    if (list->size() > kMostValues) {
      throw usage("a list has " + std::to_string(list->size()) + " values", "at most 20, as in HPL.dat");
    }
  }
  for (const auto depth : dat.depth) {
    if (depth > 16)
      throw usage("--depth " + std::to_string(depth) + " is above 16", "each keeps a panel more in memory");
  }
}

std::string dat_file_of(int argc, char** argv) {
  std::string file = as_xhpl(argv[0]) ? "HPL.dat" : "";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--dat" && i + 1 < argc) file = argv[i + 1];
    if (word.starts_with("--dat=")) file = word.substr(6);
  }
  return file;
}

Options read_options(int argc, char** argv, const std::optional<std::string>& dat, std::vector<std::string>& notices) {
  Options o;
  const bool xhpl = as_xhpl(argv[0]);
  o.sweep = dat ? parse_dat(*dat, dat_file_of(argc, argv), notices) : our_defaults();
  o.own_grid = !dat;
  Args args(
      argc, argv,
      "High-Performance Linpack: solve A x = b on P x Q MPI ranks with a team of threads each, by netlib HPL 2.3's\n"
      "rules. Lists between commas are swept. Start several ranks with the mpirun of the MPI it was built with.");
  o.dat_file = args.text("dat", xhpl ? "HPL.dat" : "", "an HPL.dat; options beside it replace its values");
  read_system(args, o);
  read_panels(args, o);
  o.threads = static_cast<int>(
      args.integer("threads", 0, 0, "threads of a rank; 0: its binding's cores, or its share", 1 << 15));
  o.cpus = args.text("cpus", "", "the CPUs of each host, dealt to its ranks in order, such as 0-7,16-23");
  o.panel_threads =
      static_cast<int>(args.integer("panel-threads", 0, 0, "threads that factor a panel; 0: chosen for each", 1 << 15));
  o.library =
      args.text("library", "", "path of the BLAS library (default: libopenblas, libblis, libmkl_rt or libblas)");
  o.pages_word = args.text("pages", "huge", "huge, base or hugetlb pages for the matrix");
  o.pages = parse_pages(o.pages_word);
  o.solve = static_cast<Solve>(
      code("trsm", args.text("trsm", "recursive", "rows of U: recursive, inverse or blas"), kSolves));
  o.split =
      args.real("split", o.split, 0, "part of the columns whose row exchange hides behind the rest's update, to 1");
  o.segment_bytes = args.integer("segment", 1 << 20, 8, "bytes of a panel that are sent in one piece");
  o.progress_thread = args.flag("progress-thread", "a thread of its own for MPI, beside those that compute");
  o.samples = args.integer("samples", 1, 1, "solve at least so many times");
  o.seconds = args.real("seconds", 0, 0, "solve again for at least so many seconds");
  o.repeat_in_place = args.flag("repeat-in-place", "repeat without making the matrix again; only the first is checked");
  o.windows = shares("windows", args.words("windows", "", "shares of N: time some panels there, no whole run"));
  o.window_panels = args.integer("window-panels", 4, 1, "panels of a window");
  o.per_host = args.flag("per-host", "every host solves its own system at the same time");
  o.ceiling = !args.flag("no-ceiling", "leave out the DGEMM with k = NB beside each run");
  o.netlib_file = args.text("netlib", "", "write netlib's output there too; - is standard output");
  o.events_file = args.text("events", xhpl ? "HPL.events.jsonl" : "", "write the events there, not to standard output");
  o.memory_share = args.real("memory-share", 0.8, 0, "for --n auto: of the memory that is free, to 1");
  o.time_limit_s = args.real("time-limit", 0, 0, "for --n auto: seconds that a solution may take; 0: any");
  o.allow_oversubscribe = args.flag("allow-oversubscribe", "let threads share a CPU: for tests, not for figures");
  o.isa = args.text("isa", "auto", "instruction set of the loops around the BLAS: auto, avx512, avx2 or plain");
  o.inject = static_cast<Inject>(code(
      "inject", args.text("inject", "none", "damage the matrix, for tests: none, entry, nan, singular"), kInjects));
  args.finish();
  refuse_too_many(o.sweep);
  if (o.split > 1) throw usage("--split is above 1", "it is a part of the columns");
  if (o.memory_share > 1) throw usage("--memory-share is above 1", "it is a part of the memory that is free");
  if (xhpl && o.netlib_file.empty()) {
    o.netlib_file = o.sweep.device == kStdout ? "-" : o.sweep.device == kStderr ? "2" : o.sweep.output_file;
  }
  o.events = o.netlib_file != "-" || !o.events_file.empty();
  return o;
}

Config config_of(const Options& options, const Variant& variant) {
  Config config;
  config.n = variant.n;
  config.nb = std::min(variant.nb, variant.n);
  config.p = static_cast<int>(variant.p);
  config.q = static_cast<int>(variant.q);
  config.column_major = options.sweep.mapping == 1;
  config.broadcast = static_cast<Broadcast>(variant.bcast);
  config.depth = static_cast<int>(variant.depth);
  config.pfact = static_cast<Looking>(variant.pfact);
  config.rfact = static_cast<Looking>(variant.rfact);
  config.nbmin = variant.nbmin;
  config.ndiv = static_cast<int>(std::min<std::int64_t>(variant.ndiv, 1 << 20));
  config.exchange = static_cast<Exchange>(options.sweep.swap);
  config.exchange_threshold = options.sweep.swap_threshold;
  config.solve = options.solve;
  config.split = options.split;
  config.segment_bytes = options.segment_bytes;
  config.panel_threads = options.panel_threads;
  config.progress_thread = options.progress_thread;
  return config;
}

Object params_of(const Options& options, const Config& config, int threads) {
  Object params;
  params.add("n", config.n).add("nb", config.nb).add("p", config.p).add("q", config.q);
  params.add("ranks", config.p * config.q).add("threads", threads);
  params.add("mapping", config.column_major ? "column" : "row").add("bcast", name_of(config.broadcast));
  params.add("depth", config.depth).add("pfact", name_of(config.pfact)).add("rfact", name_of(config.rfact));
  params.add("nbmin", config.nbmin).add("ndiv", config.ndiv).add("swap", name_of(config.exchange));
  params.add("swap_threshold", config.exchange_threshold).add("trsm", name_of(config.solve));
  params.add("split", config.split).add("segment_bytes", config.segment_bytes);
  params.add("panel_threads", config.panel_threads).add("pages", options.pages_word);
  params.add("progress_thread", config.progress_thread);
  return params;
}

}  // namespace shakedown::hpl
