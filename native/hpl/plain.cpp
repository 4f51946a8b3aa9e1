#define SHAKEDOWN_ISA plain
#define SHAKEDOWN_ISA_NAME "plain"
#define SHAKEDOWN_LANES 2
#include "loops.hpp"
