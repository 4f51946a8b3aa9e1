// The table of models, and one loss of them, as JSON.
#include "model_kinds.hpp"

namespace shakedown::radio {
namespace {

/// Terms that path_loss adds to those of the model.
constexpr TermMeaning kCommonTerms[] = {
    {"distance_m", false, "between the radios, along the ground", "profile"},
    {"slant_m", false, "straight line between the antennas", "profile"},
};
constexpr TermMeaning kRaised{"raised_to_free_space_db", true,
                              "what raises a formula of measurements to free space, where it gives less", ""};

Json pair(double low, double high) { return {to_json(std::vector<double>{low, high})}; }

Object range_json(const Range& range) {
  return Object()
      .add("valid", pair(range.valid_low, range.valid_high))
      .add("possible", pair(range.possible_low, range.possible_high));
}

std::vector<std::string> words_json(std::span<const char* const> words) { return {words.begin(), words.end()}; }

Object term_json(const TermMeaning& term) {
  return Object()
      .add("name", term.name)
      .add("summand", term.summand)
      .add("meaning", term.meaning)
      .add("source", term.source);
}

std::vector<Json> terms_json(const Model& model) {
  std::vector<Json> terms;
  for (const TermMeaning& term : kCommonTerms) terms.push_back(term_json(term).json());
  for (const TermMeaning& term : model.terms) terms.push_back(term_json(term).json());
  if (model.at_least_free_space) terms.push_back(term_json(kRaised).json());
  return terms;
}

Object model_json(const Model& model) {
  return Object()
      .add("name", model.name)
      .add("title", model.title)
      .add("source", model.source)
      .add("about", model.about)
      .add("uses_profile", model.uses_profile)
      .add("needs_town", model.needs_town)
      .add("frequency_mhz", range_json(model.frequency_mhz).json())
      .add("distance_m", range_json(model.distance_m).json())
      .add("higher_m", range_json(model.higher_m).json())
      .add("lower_m", range_json(model.lower_m).json())
      .add("parameters", words_json(model.parameters))
      .add("terms", terms_json(model));
}

Object addition_json(const Addition& addition) {
  return Object()
      .add("name", addition.name)
      .add("title", addition.title)
      .add("source", addition.source)
      .add("about", addition.about)
      .add("frequency_mhz", range_json(addition.frequency_mhz).json())
      .add("parameters", words_json(addition.parameters))
      .add("term", term_json(addition.term).json());
}

Object parameter_json(const ModelParameter& parameter) {
  const double otherwise = parameter.get(ModelSetting{});
  Object object;
  object.add("name", parameter.name).add("unit", parameter.unit).add("help", parameter.help);
  if (parameter.words.empty()) {
    return object.add("default", otherwise)
        .add("range", pair(parameter.low, parameter.high))
        .add("whole", parameter.whole);
  }
  return object.add("default", parameter.words[static_cast<std::size_t>(otherwise)])
      .add("words", words_json(parameter.words));
}

const TermMeaning* meaning_of(const PreparedModel& prepared, std::string_view name) {
  for (const TermMeaning& term : kCommonTerms) {
    if (name == term.name) return &term;
  }
  for (const TermMeaning& term : prepared.model->terms) {
    if (name == term.name) return &term;
  }
  for (const Addition* const addition : prepared.additions) {
    if (addition != nullptr && name == addition->term.name) return &addition->term;
  }
  return name == kRaised.name ? &kRaised : nullptr;
}

}  // namespace

Json models_json() {
  std::vector<Json> all, added, named;
  for (const Model* const model : models()) all.push_back(model_json(*model).json());
  for (const Addition* const addition : additions()) added.push_back(addition_json(*addition).json());
  for (const ModelParameter& parameter : model_parameters()) named.push_back(parameter_json(parameter).json());
  return Object().add("models", all).add("additions", added).add("parameters", named).json();
}

Json explanation_json(const PreparedModel& prepared, const PathLoss& result) {
  std::vector<Json> terms;
  for (const Term& term : result.terms()) {
    const TermMeaning* const meaning = meaning_of(prepared, term.name);
    Object object;
    object.add("name", term.name).add("value", term.value);
    if (meaning != nullptr) {
      object.add("summand", meaning->summand).add("meaning", meaning->meaning).add("source", meaning->source);
    }
    terms.push_back(object.json());
  }
  std::string name = prepared.model->name;
  for (const Addition* const addition : prepared.additions) {
    if (addition != nullptr) name += std::string("+") + addition->name;
  }
  return Object()
      .add("model", name)
      .add("loss_db", result.loss_db)
      .add("error", error_words(prepared, result))
      .add("warnings", warning_words(prepared, result.warnings))
      .add("terms", terms)
      .json();
}

}  // namespace shakedown::radio
