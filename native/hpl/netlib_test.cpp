// netlib HPL 2.3's text, byte by byte.
#include "netlib.hpp"

#include <cstdlib>
#include <limits>

#include "testing/check.hpp"

namespace shakedown::hpl::netlib {
namespace {

constexpr double kEps = 0x1p-53;

std::time_t utc(int year, int month, int day, int hour, int minute, int second) {
  std::tm parts{};
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_hour = hour;
  parts.tm_min = minute;
  parts.tm_sec = second;
  return timegm(&parts);
}

/// A whole output of netlib HPL 2.3: four ranks of an i.MX8QM, 9 June 2022, as its owner published it.
const char* const kWhole =
    "================================================================================\n"
    "HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018\n"
    "Written by A. Petitet and R. Clint Whaley,  Innovative Computing Laboratory, UTK\n"
    "Modified by Piotr Luszczek, Innovative Computing Laboratory, UTK\n"
    "Modified by Julien Langou, University of Colorado Denver\n"
    "================================================================================\n"
    "\n"
    "An explanation of the input/output parameters follows:\n"
    "T/V    : Wall time / encoded variant.\n"
    "N      : The order of the coefficient matrix A.\n"
    "NB     : The partitioning blocking factor.\n"
    "P      : The number of process rows.\n"
    "Q      : The number of process columns.\n"
    "Time   : Time in seconds to solve the linear system.\n"
    "Gflops : Rate of execution for solving the linear system.\n"
    "\n"
    "The following parameter values will be used:\n"
    "\n"
    "N      :   19000 \n"
    "NB     :     192 \n"
    "PMAP   : Row-major process mapping\n"
    "P      :       2 \n"
    "Q      :       2 \n"
    "PFACT  :   Right \n"
    "NBMIN  :       4 \n"
    "NDIV   :       2 \n"
    "RFACT  :   Crout \n"
    "BCAST  :  1ringM \n"
    "DEPTH  :       1 \n"
    "SWAP   : Mix (threshold = 64)\n"
    "L1     : transposed form\n"
    "U      : transposed form\n"
    "EQUIL  : yes\n"
    "ALIGN  : 8 double precision words\n"
    "\n"
    "--------------------------------------------------------------------------------\n"
    "\n"
    "- The matrix A is randomly generated for each test.\n"
    "- The following scaled residual check will be computed:\n"
    "      ||Ax-b||_oo / ( eps * ( || x ||_oo * || A ||_oo + || b ||_oo ) * N )\n"
    "- The relative machine precision (eps) is taken to be               1.110223e-16\n"
    "- Computational tests pass if scaled residuals are less than                16.0\n"
    "\n"
    "================================================================================\n"
    "T/V                N    NB     P     Q               Time                 Gflops\n"
    "--------------------------------------------------------------------------------\n"
    "WR11C2R4       19000   192     2     2             518.02             8.8283e+00\n"
    "HPL_pdgesv() start time Thu Jun  9 09:33:35 2022\n"
    "\n"
    "HPL_pdgesv() end time   Thu Jun  9 09:42:13 2022\n"
    "\n"
    "--------------------------------------------------------------------------------\n"
    "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   4.89711678e-03 ...... PASSED\n"
    "================================================================================\n"
    "\n"
    "Finished      1 tests with the following results:\n"
    "              1 tests completed and passed residual checks,\n"
    "              0 tests completed and failed residual checks,\n"
    "              0 tests skipped because of illegal input values.\n"
    "--------------------------------------------------------------------------------\n"
    "\n"
    "End of Tests.\n"
    "================================================================================\n";

void whole_output(Checks& checks) {
  Dat dat;
  dat.n = {19000};
  dat.nb = {192};
  dat.p = {2};
  dat.q = {2};
  const Run done = {run_at(dat, 0), dat.mapping, 518.018, utc(2022, 6, 9, 9, 33, 35), utc(2022, 6, 9, 9, 42, 13)};
  Check check;
  check.scaled = 4.89711678e-03;
  checks.equal(
      header(dat, kEps) + table_head() + run(done) + residual(check, dat.threshold) + summary({1, 0, 0}, dat.threshold),
      std::string(kWhole), "a whole output");
}

void lists_break_after_eight(Checks& checks) {
  Dat dat;
  dat.n = {1, 2, 3, 4, 5, 6, 7, 8};
  dat.nb = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  dat.nbmin = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 123456789};
  dat.bcast = {0, 1, 2, 3, 4, 5, 0, 0, 5};
  dat.pfact = {0, 1, 2};
  dat.rfact = {2, 1, 0};
  dat.mapping = 1;
  dat.swap = 0;
  dat.l1_transposed = false;
  dat.u_transposed = false;
  dat.equilibration = false;
  dat.alignment = 16;
  dat.threshold = 0;
  const std::string text = header(dat, kEps);
  checks.equal(text.substr(text.find("\n\nN      :") + 1),
               std::string("\nN      :       1        2        3        4        5        6        7        8 \n"
                           "NB     :       1        2        3        4        5        6        7        8 \n"
                           "               9       10       11       12       13       14       15       16 \n"
                           "PMAP   : Column-major process mapping\n"
                           "P      :       1 \n"
                           "Q      :       1 \n"
                           "PFACT  :    Left    Crout    Right \n"
                           "NBMIN  :       1        2        3        4        5        6        7        8 \n"
                           "               9       10       11       12       13       14       15       16 \n"
                           "              17       18       19 123456789 \n"
                           "NDIV   :       2 \n"
                           "RFACT  :   Right    Crout     Left \n"
                           "BCAST  :   1ring   1ringM    2ring   2ringM    Blong   BlongM    1ring    1ring \n"
                           "          BlongM \n"
                           "DEPTH  :       1 \n"
                           "SWAP   : Binary-exchange\n"
                           "L1     : no-transposed form\n"
                           "U      : no-transposed form\n"
                           "EQUIL  : no\n"
                           "ALIGN  : 16 double precision words\n\n"),
               "lists, and no word of a check where there is none");
  dat.swap = 1;
  checks.that(header(dat, kEps).find("\nSWAP   : Spread-roll (long)\n") != std::string::npos, "the long swap");
}

void run_lines(Checks& checks) {
  // From a run of AMD's build of HPL 2.3 (microsoft/superbenchmark, tests/data), whose variant carries an X for a
  // broadcast of its own.
  Run done = {{384000, 384, 1, 2, 0, 0, 2, 1, 48, 8}, 0, 4645.37, 0, 0};
  done.start = utc(2023, 2, 3, 16, 33, 45);
  done.end = utc(2023, 2, 3, 17, 51, 10);
  std::string text = run(done);
  checks.equal(text.substr(0, 9), std::string("WR00R8C48"), "the variant");
  text[3] = 'X';
  checks.equal(text,
               std::string("WR0XR8C48      384000   384     1     2            4645.37             8.1261e+03\n"
                           "HPL_pdgesv() start time Fri Feb  3 16:33:45 2023\n\n"
                           "HPL_pdgesv() end time   Fri Feb  3 17:51:10 2023\n\n"),
               "a run");
  done = {{24440832, 123456, 1234567, 20, 12, 5, 0, 2, 100, 16}, 1, 1e17, 0, 0};
  checks.equal(
      run(done).substr(0, run(done).find('\n')),
      std::string("WC125L16R100    24440832 123456 1234567    20 100000000000000000.00             9.7332e-05"),
      "numbers wider than their columns");
  done.seconds = 0;
  checks.equal(run(done), std::string(), "netlib prints no line for a run that took no time");
  done.seconds = std::numeric_limits<double>::quiet_NaN();
  checks.equal(run(done), std::string(), "nor for a time that is no number");
}

void variants(Checks& checks) {
  const auto code = [](std::int64_t rfact, std::int64_t pfact, std::int64_t bcast, std::int64_t mapping) {
    return variant_code({0, 0, 0, 0, 1, bcast, rfact, pfact, 4, 2}, mapping);
  };
  checks.equal(code(1, 2, 1, 0), std::string("WR11C2R4"), "netlib's example");
  checks.equal(code(0, 1, 3, 1), std::string("WC13L2C4"), "left, crout, column-major");
  checks.equal(code(2, 0, 5, 0), std::string("WR15R2L4"), "right, left");
}

void residuals(Checks& checks) {
  Check check;
  check.scaled = 4.12139792e-03;
  const std::string rule(80, '-');
  checks.equal(residual(check, 16),
               rule + "\n||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   4.12139792e-03 ...... PASSED\n", "passed");
  check = {16,
           7.6605388699135801e-15,
           28.570777946416438,
           27.783703556184683,
           2.7754205916667063,
           77.951230991089204,
           0.4939698941111188};
  checks.equal(residual(check, 16),
               rule +
                   "\n||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   1.60000000e+01 ...... FAILED\n"
                   "||Ax-b||_oo  . . . . . . . . . . . . . . . . . =           0.000000\n"
                   "||A||_oo . . . . . . . . . . . . . . . . . . . =          28.570778\n"
                   "||A||_1  . . . . . . . . . . . . . . . . . . . =          27.783704\n"
                   "||x||_oo . . . . . . . . . . . . . . . . . . . =           2.775421\n"
                   "||x||_1  . . . . . . . . . . . . . . . . . . . =          77.951231\n"
                   "||b||_oo . . . . . . . . . . . . . . . . . . . =           0.493970\n",
               "failed: the threshold itself is too much");
  check.scaled = std::numeric_limits<double>::quiet_NaN();
  checks.equal(residual(check, 16),
               rule + "\n||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=              nan ...... FAILED\n", "NaN");
  checks.that(!passed(check, 16), "NaN never passes");
  check.scaled = std::numeric_limits<double>::infinity();
  checks.that(!passed(check, 16) && residual(check, 16).find("=              inf ...... FAILED") != std::string::npos,
              "nor does infinity");
  checks.equal(residual(check, 0), std::string(), "no check, no text");
  checks.equal(residual(check, -16), std::string(), "no check, no text");
}

void summaries(Checks& checks) {
  const std::string above = std::string(80, '=') + "\n";
  const std::string below = std::string(80, '-') + "\n\nEnd of Tests.\n" + above;
  checks.equal(summary({860, 3, 1}, 16),
               above +
                   "\nFinished    864 tests with the following results:\n"
                   "            860 tests completed and passed residual checks,\n"
                   "              3 tests completed and failed residual checks,\n"
                   "              1 tests skipped because of illegal input values.\n" +
                   below,
               "checked");
  checks.equal(summary({5, 0, 12345678}, -1),
               above +
                   "\nFinished 12345683 tests with the following results:\n"
                   "              5 tests completed without checking,\n"
                   "         12345678 tests skipped because of illegal input values.\n" +
                   below,
               "not checked");
  checks.equal(no_memory(1, 0),
               std::string("HPL ERROR from process # 0, in function HPL_pdtest:\n"
                           ">>> [1,0] Memory allocation failed for A, x and b. Skip. <<<\n\n"),
               "no memory");
  checks.equal(solve_failed(7),
               std::string("HPL ERROR from process # 0, in function HPL_pdtest:\n"
                           ">>> Error code returned by solve is 7, skip <<<\n\n"),
               "no solution");
}

}  // namespace
}  // namespace shakedown::hpl::netlib

int main() {
  using namespace shakedown::hpl::netlib;
  setenv("TZ", "UTC0", 1);
  tzset();
  shakedown::Checks checks;
  whole_output(checks);
  lists_break_after_eight(checks);
  run_lines(checks);
  variants(checks);
  residuals(checks);
  summaries(checks);
  return checks.end();
}
