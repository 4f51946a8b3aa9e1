// radio_engine: the losses between radios over terrain, for as long as somebody asks. The story: parse -> read the
// terrain -> say that it is ready -> answer requests until the pipe ends.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "common/args.hpp"
#include "common/isa.hpp"
#include "common/team.hpp"
#include "frames.hpp"
#include "radio/models.hpp"
#include "session.hpp"

namespace shakedown::radio {
namespace {

struct Options {
  std::string terrain, town, isa, cpus;
  Grid grid;
  HeightKind kind = HeightKind::int16;
  double scale_m = 1, offset_m = 0;
  PreparedModel model;
  ProfilePoints points;
  Precision precision = Precision::fp64;
  int threads = 0;
};

/// One of two words.
bool is_first(Args& args, const std::string& name, const char* first, const char* second, const std::string& help) {
  const std::string word = args.text(name, first, help);
  if (word != first && word != second) {
    throw usage("--" + name + " '" + word + "' is not known", std::string(first) + " or " + second);
  }
  return word == first;
}

void parse_terrain(Args& args, Options& o) {
  o.terrain = args.text("terrain", "", "file of heights, row by row from the north, each row from the west");
  o.grid.rows = static_cast<int>(args.integer("rows", 2, 2, "of the terrain", 1 << 30));
  o.grid.columns = static_cast<int>(args.integer("columns", 2, 2, "of the terrain", 1 << 30));
  o.grid.north_deg = args.real("north-deg", 0, -90, "latitude of the first row", 90);
  o.grid.west_deg = args.real("west-deg", 0, -720, "longitude of the first column", 720);
  o.grid.row_deg = args.real("row-deg", 1.0 / 3600, 1e-9, "degrees between rows", 90);
  o.grid.column_deg = args.real("column-deg", 1.0 / 3600, 1e-9, "degrees between columns", 180);
  o.kind = is_first(args, "kind", "int16", "float32", "of the heights: int16 (-32768: not known) or float32")
               ? HeightKind::int16
               : HeightKind::float32;
  o.scale_m = args.real("scale-m", 1, 1e-9, "metres of 1 in the file");
  o.offset_m = args.real("offset-m", 0, -1e5, "metres of 0 in the file", 1e5);
}

void parse_model(Args& args, Options& o) {
  const std::string names =
      args.text("model", "itm", "a model's name, and what is added to it (itm+gas); see --models");
  ModelSetting setting;
  for (const ModelParameter& parameter : model_parameters()) {
    std::string name = parameter.name;
    std::ranges::replace(name, '_', '-');
    const std::string text = args.text(name, "", std::string(parameter.help) + " " + parameter.unit);
    if (!text.empty()) set_parameter(setting, parameter.name, text);
  }
  o.points.fixed = static_cast<int>(args.integer("points", 500, 3, "of each profile, with both ends", kMostPoints));
  o.points.spacing_m = args.real("spacing-m", 0, 0, "between the points of a profile at most; 0: --points", 1e6);
  if (o.points.spacing_m > 0) o.points.fixed = 0;
  o.model = prepare_model(names, setting);
  o.town = args.text("town", "", "file of buildings, for a model that needs a town: native/radio/rays/town_file.hpp");
}

Options parse_options(int argc, char** argv) {
  Args args(
      argc, argv,
      "radio_engine: the losses between radios over terrain. Reads requests from standard input and writes replies "
      "to standard output: see native/radio_engine/README.md.");
  Options o;
  parse_terrain(args, o);
  parse_model(args, o);
  o.precision =
      is_first(args, "precision", "fp64", "fp32", "fp64, or fp32: losses within 0.05 dB, nearly twice as fast")
          ? Precision::fp64
          : Precision::fp32;
  o.threads = static_cast<int>(
      args.integer("threads", static_cast<std::int64_t>(allowed_cpus().size()), 1, "that find losses", 1 << 16));
  o.isa = args.text("isa", "auto", "avx512, avx2, neon or plain; auto: the widest that runs here");
  o.cpus = args.text("cpus", "", "pin thread i to the i-th CPU of this list (0-3,8); default: cores first");
  const bool models = args.flag("models", "print the models with their parameters as JSON, and end");
  args.finish();
  if (models) {
    std::printf("%s\n", models_json().text.c_str());
    std::exit(kOk);
  }
  if (o.terrain.empty()) throw usage("no terrain was given", "--terrain FILE");
  const std::string model = o.model.model->name;
  if (o.model.model->needs_town && o.town.empty())
    throw usage("the model " + model + " needs a town", "give buildings");
  if (!o.model.model->needs_town && !o.town.empty()) {
    throw usage("the model " + model + " reads no buildings", "leave them out, or choose the model rays");
  }
  return o;
}

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  std::signal(SIGPIPE, SIG_IGN);  // who no longer reads is an error in words
  const Isa& isa = isa_of(choose_isa(options.isa, isas_built()));
  const Model& model = *options.model.model;
  const AntennaRange antennas{model.lower_m.possible_low, model.higher_m.possible_high};
  const Map map(options.terrain, options.grid, options.kind, options.scale_m, options.offset_m, antennas);
  std::optional<const Tracing> tracing;
  if (!options.town.empty()) tracing.emplace(options.town, options.model.setting);
  const Finder finder(map, isa, options.precision, options.model, options.points, tracing ? &*tracing : nullptr);
  Team team(choose_cpus(options.threads, options.cpus));
  write_reply(STDOUT_FILENO, Object()
                                 .add("engine", "radio_engine")
                                 .add("isa", isa.name)
                                 .add("threads", team.size())
                                 .add("warnings", warning_words(options.model, options.model.warnings))
                                 .add("holes", map.ground().has_holes()));
  serve_requests(STDIN_FILENO, STDOUT_FILENO, team, finder);
  return kOk;
}

}  // namespace
}  // namespace shakedown::radio

int main(int argc, char** argv) { return shakedown::run_main("radio_engine", argc, argv, shakedown::radio::run); }
