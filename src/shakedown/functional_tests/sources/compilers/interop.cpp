// The C++ part of the program of three languages: it throws and catches below frames of C and Fortran.
#include <numeric>
#include <stdexcept>
#include <vector>

extern "C" int interop_guarded(int n, const double* values, int (*callback)(int)) {
  try {
    const std::vector<double> copy(values, values + n);
    if (copy.empty()) throw std::invalid_argument("nothing to add");
    const int sum = callback(static_cast<int>(std::accumulate(copy.begin(), copy.end(), 0.0)));
    if (sum > 0) throw sum;
    return -1;
  } catch (const int sum) {
    return sum;
  } catch (const std::exception&) {
    return -2;
  }
}
