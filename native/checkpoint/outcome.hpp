// What became of a step: nothing wrong, or which error of checkpoint.h and in words.
#pragma once

#include <string>
#include <utility>

#include "include/shakedown/checkpoint.h"

namespace shakedown::checkpoint {

struct [[nodiscard]] Outcome {
  int error = SHAKEDOWN_CKPT_OK;
  std::string words;

  [[nodiscard]] bool good() const { return error == SHAKEDOWN_CKPT_OK; }
};

inline Outcome failed(int error, std::string words) { return {error, std::move(words)}; }

}  // namespace shakedown::checkpoint
