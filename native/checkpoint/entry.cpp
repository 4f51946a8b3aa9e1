// The shared library is made of the functions of checkpoint.cpp, which this makes the linker take.
#include "include/shakedown/checkpoint.h"

extern "C" [[gnu::used]] const char* const shakedown_ckpt_library = "shakedown checkpoint 1";
