#define SHAKEDOWN_ISA avx2
#define SHAKEDOWN_ISA_NAME "avx2"
#define SHAKEDOWN_LANES 4
#include "loops.hpp"
