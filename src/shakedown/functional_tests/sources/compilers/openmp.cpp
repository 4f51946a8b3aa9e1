// OpenMP in C++: the same program by the C++ compiler and its runtime.
#include "openmp.c"
