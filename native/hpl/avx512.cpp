#define SHAKEDOWN_ISA avx512
#define SHAKEDOWN_ISA_NAME "avx512"
#define SHAKEDOWN_LANES 8
#include "loops.hpp"
