// What must be true of the table of models: each loss is the sum of its terms and every term has its meaning, ranges
// warn and refuse, settings are read strictly, what is added is added, and no spoiled path gives a number.
#include "models.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "testing/check.hpp"

namespace shakedown::radio {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

/// A frequency at which the model holds.
ModelSetting setting_for(const Model& model) {
  ModelSetting setting;
  setting.radio.frequency_mhz =
      std::fmin(std::fmax(450, model.frequency_mhz.valid_low), model.frequency_mhz.valid_high);
  return setting;
}

std::vector<double> rough(std::mt19937_64& random, std::size_t points) {
  std::normal_distribution<double> step(0, 5);
  std::vector<double> heights{200};
  while (heights.size() < points) heights.push_back(heights.back() + step(random));
  return heights;
}

bool summand(const Model& model, const Addition& addition, const std::string& name) {
  for (const TermMeaning& term : model.terms) {
    if (name == term.name) return term.summand;
  }
  return name == addition.term.name || name == "raised_to_free_space_db";
}

void test_sums(Checks& checks) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> any(0, 1);
  const TracedPaths traced{3, 95.5, 97, 95.5, 94};
  for (const Model* const model : models()) {
    for (const Addition* const addition : additions()) {
      const std::string names = std::string(model->name) + "+" + addition->name;
      std::set<std::string> seen, meant{"distance_m", "slant_m", addition->term.name};
      for (const TermMeaning& term : model->terms) meant.insert(term.name);
      if (model->at_least_free_space) meant.insert("raised_to_free_space_db");
      ModelSetting setting = setting_for(*model);
      setting.wood_depth_m = 50;
      setting.shadowing_db = 8;
      const PreparedModel prepared = prepare_model(names, setting);
      for (int i = 0; i < 60; ++i) {
        const auto heights = rough(random, 3 + random() % 100);
        const PathLoss loss = path_loss(
            prepared, {1 + 9 * any(random), 1 + 40 * any(random), heights, 5 + 100 * any(random), 1, 2, kNaN, &traced});
        checks.that(loss.error == PathError::none && std::isfinite(loss.loss_db), names + ": a loss");
        double sum = 0;
        for (const Term& term : loss.terms()) {
          seen.insert(term.name);
          if (summand(*model, *addition, term.name)) sum += term.value;
        }
        checks.that(std::fabs(sum - loss.loss_db) < 1e-9, names + ": the sum of its terms");
      }
      checks.that(seen == meant, names + ": every term has its meaning, and every meaning its term");
    }
  }
}

void test_spoiled_paths(Checks& checks) {
  const std::vector<double> flat(20, 100.0), one(1, 100.0);
  std::vector<double> hole = flat, gap = flat;
  hole[7] = kNaN;
  gap.back() = kNaN;
  for (const Model* const model : models()) {
    const PreparedModel prepared = prepare_model(model->name, setting_for(*model));
    const auto error = [&](const RadioPath& path) {
      const PathLoss loss = path_loss(prepared, path);
      checks.that(std::isnan(loss.loss_db), std::string(model->name) + ": no number from a spoiled path");
      checks.that(!error_words(prepared, loss).empty(), std::string(model->name) + ": and the reason");
      return loss.error;
    };
    const auto equal = [&](PathError found, PathError expected) {
      checks.equal(static_cast<int>(found), static_cast<int>(expected), model->name);
    };
    equal(error({2, 10, {}, 100}), PathError::not_finite);
    equal(error({2, 10, one, 100}), PathError::not_finite);
    equal(error({2, 10, gap, 100}), PathError::not_finite);
    for (const double bad : {kNaN, kInfinity, -kInfinity, -1.0})
      equal(error({2, 10, flat, bad}), PathError::not_finite);
    for (const double bad : {kNaN, kInfinity, -kInfinity}) {
      equal(error({bad, 10, flat, 100}), PathError::not_finite);
      equal(error({2, bad, flat, 100}), PathError::not_finite);
    }
    equal(error({2, 10, flat, 0}), PathError::same_place);
    checks.that(error({-1, 10, flat, 100}) != PathError::none, "an antenna below the ground");
    checks.that(error({2, -1, flat, 100}) != PathError::none, "an antenna below the ground");
    const PathLoss over_hole = path_loss(prepared, {2, 10, hole, 100});
    checks.equal(over_hole.error == PathError::not_finite, model->uses_profile,
                 "a hole matters where the profile does");
  }
}

bool has(const std::vector<std::string>& words, const std::string& part) {
  for (const auto& line : words) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

void test_ranges(Checks& checks) {
  const std::vector<double> ends(2, 0.0);
  ModelSetting setting;
  setting.radio.frequency_mhz = 450;
  const PreparedModel hata = prepare_model("hata", setting);
  checks.equal(path_loss(hata, {30, 1, ends, 1000}).warnings, 0U, "the edge of the range is within");
  const auto warnings = [&](double tx_m, double rx_m, double d) {
    return warning_words(hata, path_loss(hata, {tx_m, rx_m, ends, d}).warnings);
  };
  checks.that(has(warnings(29.9, 1, 1000), "height of the higher antenna is outside"), "a low base");
  checks.that(has(warnings(1, 29.9, 1000), "30 to 200 m"), "the range, whichever end it is");
  checks.that(has(warnings(30, 0.9, 1000), "lower antenna"), "a low mobile");
  checks.that(has(warnings(30, 1, 999), "distance is outside"), "near");
  setting.radio.frequency_mhz = 1600;
  const PreparedModel high = prepare_model("hata+woodland", setting);
  checks.that(has(warning_words(high, path_loss(high, {30, 1, ends, 1000}).warnings), "150 to 1500 MHz"), "high");
  checks.that(path_loss(high, {30, 1, ends, 1000}).error == PathError::none, "a warning leaves the loss");
  setting.radio.frequency_mhz = 20000;
  checks.throws<Error>([&] { prepare_model("hata", setting); }, "far outside is refused");
  setting.radio.frequency_mhz = kNaN;
  checks.throws<Error>([&] { prepare_model("free_space", setting); }, "NaN MHz is refused");
  const PreparedModel itm = prepare_model("itm", {});
  const PathLoss low = path_loss(itm, {0.7, 10, ends, 5000});
  checks.equal(low.warnings, static_cast<std::uint32_t>(kTxHeightUnusual), "itm warns by its own numbers");
  const PathLoss none = path_loss(itm, {0.1, 10, ends, 5000});
  checks.equal(static_cast<int>(none.itm_error), 1000, "and refuses by them");
}

void test_names(Checks& checks) {
  for (const char* const bad : {"", "ITM", "itm+", "+gas", "gas", "itm+gas+gas", "itm+woodland+weissberger", "itm+hata",
                                "itm+gas+woodland+gas", "itm gas"}) {
    checks.throws<Error>([&] { prepare_model(bad, {}); }, std::string("no model: '") + bad + "'");
  }
  ModelSetting open;
  open.surroundings = Surroundings::open;
  open.radio.frequency_mhz = 1800;
  checks.throws<Error>([&] { prepare_model("cost231_hata", open); }, "COST 231 has no open country");
  checks.throws<Error>([&] { prepare_model("walfisch_ikegami", open); }, "nor have roofs");
  ModelSetting bad;
  bad.radio.climate = 9;
  checks.throws<Error>([&] { prepare_model("itm", bad); }, "a climate that there is not");
  checks.that(prepare_model("hata", bad).model != nullptr, "a setting that the model does not read is left alone");
  bad = {};
  bad.radio.permittivity = 1;
  bad.radio.polarization = Polarization::horizontal;
  checks.throws<Error>([&] { prepare_model("itm", bad); }, "ground that ITM refuses");
}

void test_parameters(Checks& checks) {
  for (const ModelParameter& parameter : model_parameters()) {
    const std::string name = parameter.name;
    ModelSetting setting;
    const double otherwise = parameter.get(setting);
    checks.that(otherwise >= parameter.low && otherwise <= parameter.high, name + ": its default is in its range");
    const double other = parameter.whole ? (otherwise == parameter.low ? parameter.high : parameter.low)
                                         : 0.7 * parameter.low + 0.3 * parameter.high;
    if (parameter.words.empty()) {
      set_parameter(setting, name, std::to_string(parameter.whole ? std::floor(other) : other));
      checks.that(parameter.get(setting) != otherwise, name + ": was set");
      for (const char* const bad : {"", " 1", "1 ", "1e999", "nan", "inf", "-1e300", "0x10", "1,5"}) {
        checks.throws<Error>([&] { set_parameter(setting, name, bad); }, name + " '" + bad + "'");
      }
    } else {
      for (std::size_t i = 0; i < parameter.words.size(); ++i) {
        set_parameter(setting, name, parameter.words[i]);
        checks.equal(parameter.get(setting), static_cast<double>(i), name);
      }
      checks.throws<Error>([&] { set_parameter(setting, name, "0"); }, name + " by number");
    }
  }
  ModelSetting setting;
  checks.throws<Error>([&] { set_parameter(setting, "climate", "5.5"); }, "half a climate");
  checks.throws<Error>([&] { set_parameter(setting, "Frequency_mhz", "450"); }, "a name that there is not");
  for (const Model* const model : models()) {
    for (const char* const name : model->parameters) {
      bool known = false;
      for (const ModelParameter& parameter : model_parameters()) known |= std::string(name) == parameter.name;
      checks.that(known, std::string(model->name) + " reads " + name);
    }
  }
}

/// docs/radio-models.md names them all.
void test_page(Checks& checks) {
  std::ifstream file(PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const auto named = [&](const char* name) {
    checks.that(page.find("`" + std::string(name) + "`") != std::string::npos, std::string("the page has ") + name);
  };
  for (const Model* const model : models()) named(model->name);
  for (const Addition* const addition : additions()) named(addition->name);
  for (const ModelParameter& parameter : model_parameters()) named(parameter.name);
}

/// Whatever stands in a setting and a path: a loss that is a number, or an error that says why.
void test_fuzz(Checks& checks) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> any(0, 1);
  const double odd[] = {0, -0.0, 1e-300, -1, 1e300, 1, 1e5, kNaN, kInfinity, -kInfinity};
  const auto number = [&] { return random() % 4 == 0 ? odd[random() % 10] : std::pow(10, 10 * any(random) - 4); };
  int losses = 0, refused = 0;
  for (int i = 0; i < 12'000; ++i) {
    const Model& model = *models()[random() % models().size()];
    ModelSetting setting = setting_for(model);
    for (int spoiled = static_cast<int>(random() % 3); spoiled > 0; --spoiled) {
      const ModelParameter& parameter = model_parameters()[random() % model_parameters().size()];
      if (!parameter.whole) parameter.set(setting, number());
    }
    auto heights = rough(random, random() % 30);
    for (double& height : heights) {
      if (random() % 40 == 0) height = number();
    }
    try {
      const PreparedModel prepared =
          prepare_model(std::string(model.name) + (i % 2 == 0 ? "" : "+gas+woodland"), setting);
      const PathLoss loss = path_loss(prepared, {number(), 1 + 40 * any(random), heights, number(), 1, 2, number()});
      const bool none = loss.error == PathError::none;
      checks.that(none == !std::isnan(loss.loss_db),
                  std::string(model.name) + ": a number or an error, in " + explanation_json(prepared, loss).text);
      checks.that(none == error_words(prepared, loss).empty(), std::string(model.name) + ": and its words");
      checks.that(explanation_json(prepared, loss).text.find("nan") == std::string::npos, "JSON has no NaN");
      ++(none ? losses : refused);
    } catch (const Error& error) {
      checks.equal(static_cast<int>(error.code), static_cast<int>(kUsage), "a setting is refused as one");
      ++refused;
    }
  }
  checks.that(losses > 1200 && refused > 1200, "both happened");
}

}  // namespace
}  // namespace shakedown::radio

int main() {
  shakedown::Checks checks;
  shakedown::radio::test_sums(checks);
  shakedown::radio::test_spoiled_paths(checks);
  shakedown::radio::test_ranges(checks);
  shakedown::radio::test_names(checks);
  shakedown::radio::test_parameters(checks);
  shakedown::radio::test_page(checks);
  shakedown::radio::test_fuzz(checks);
  return checks.end();
}
