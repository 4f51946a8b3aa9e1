#include "netlib.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>

#include "common/text.hpp"

namespace shakedown::hpl::netlib {
namespace {

constexpr std::size_t kValuesPerLine = 8;
constexpr std::array<const char*, 6> kBcastTitles = {"1ring", "1ringM", "2ring", "2ringM", "Blong", "BlongM"};
constexpr std::array<const char*, 3> kFactTitles = {"Left", "Crout", "Right"};

std::string rule(char c) { return std::string(80, c) + "\n"; }

/// One parameter of the banner: eight values a line.
template <class Text>
std::string values_line(const char* name, const Values& values, Text&& text_of) {
  std::string text = print("\n%-7s:", name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && i % kValuesPerLine == 0) text += "\n        ";
    text += text_of(values[i]) + " ";
  }
  return text;
}

std::string numbers_line(const char* name, const Values& values) {
  return values_line(name, values, [](std::int64_t value) { return print("%8" PRId64, value); });
}

template <std::size_t kCount>
std::string titles_line(const char* name, const Values& values, const std::array<const char*, kCount>& titles) {
  return values_line(name, values,
                     [&](std::int64_t value) { return print("%8s", titles.at(static_cast<std::size_t>(value))); });
}

char fact_letter(std::int64_t fact) { return fact == 0 ? 'L' : fact == 1 ? 'C' : 'R'; }

/// ctime's text, with its line end, whatever the locale.
std::string clock_text(std::time_t when) {
  static constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm local{};
  if (localtime_r(&when, &local) == nullptr) return "(null)";  // what printf makes of ctime's answer
  return print("%s %s%3d %.2d:%.2d:%.2d %" PRId64 "\n", kDays.at(static_cast<std::size_t>(local.tm_wday)),
               kMonths.at(static_cast<std::size_t>(local.tm_mon)), local.tm_mday, local.tm_hour, local.tm_min,
               local.tm_sec, std::int64_t{1900} + local.tm_year);
}

std::string skipped(const std::string& why) {
  return "HPL ERROR from process # 0, in function HPL_pdtest:\n>>> " + why + " <<<\n\n";
}

std::string swap_text(const Dat& dat) {
  if (dat.swap == 0) return "Binary-exchange";
  if (dat.swap == 1) return "Spread-roll (long)";
  return print("Mix (threshold = %" PRId64 ")", dat.swap_threshold);
}

}  // namespace

std::string header(const Dat& dat, double eps) {
  std::string text = rule('=') +
                     "HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018\n"
                     "Written by A. Petitet and R. Clint Whaley,  Innovative Computing Laboratory, UTK\n"
                     "Modified by Piotr Luszczek, Innovative Computing Laboratory, UTK\n"
                     "Modified by Julien Langou, University of Colorado Denver\n" +
                     rule('=') +
                     "\nAn explanation of the input/output parameters follows:\n"
                     "T/V    : Wall time / encoded variant.\n"
                     "N      : The order of the coefficient matrix A.\n"
                     "NB     : The partitioning blocking factor.\n"
                     "P      : The number of process rows.\n"
                     "Q      : The number of process columns.\n"
                     "Time   : Time in seconds to solve the linear system.\n"
                     "Gflops : Rate of execution for solving the linear system.\n\n"
                     "The following parameter values will be used:\n";
  text += numbers_line("N", dat.n) + numbers_line("NB", dat.nb);
  text += std::string("\nPMAP   : ") + (dat.mapping == 1 ? "Column" : "Row") + "-major process mapping";
  text += numbers_line("P", dat.p) + numbers_line("Q", dat.q);
  text += titles_line("PFACT", dat.pfact, kFactTitles);
  text += numbers_line("NBMIN", dat.nbmin) + numbers_line("NDIV", dat.ndiv);
  text += titles_line("RFACT", dat.rfact, kFactTitles);
  text += titles_line("BCAST", dat.bcast, kBcastTitles);
  text += numbers_line("DEPTH", dat.depth);
  text += "\nSWAP   : " + swap_text(dat);
  text += std::string("\nL1     : ") + (dat.l1_transposed ? "" : "no-") + "transposed form";
  text += std::string("\nU      : ") + (dat.u_transposed ? "" : "no-") + "transposed form";
  text += std::string("\nEQUIL  : ") + (dat.equilibration ? "yes" : "no");
  text += print("\nALIGN  : %" PRId64 " double precision words\n\n", dat.alignment);
  if (!(dat.threshold > 0)) return text;
  text += rule('-') +
          "\n- The matrix A is randomly generated for each test.\n"
          "- The following scaled residual check will be computed:\n"
          "      ||Ax-b||_oo / ( eps * ( || x ||_oo * || A ||_oo + || b ||_oo ) * N )\n";
  text += print("- The relative machine precision (eps) is taken to be      %21.6e\n", eps);
  text += print("- Computational tests pass if scaled residuals are less than         %11.1f\n\n", dat.threshold);
  return text;
}

std::string table_head() {
  return rule('=') + "T/V                N    NB     P     Q               Time                 Gflops\n" + rule('-');
}

std::string variant_code(const Variant& variant, std::int64_t mapping) {
  return print("W%c%" PRId64 "%" PRId64 "%c%" PRId64 "%c%" PRId64, mapping == 1 ? 'C' : 'R', variant.depth,
               variant.bcast, fact_letter(variant.rfact), variant.ndiv, fact_letter(variant.pfact), variant.nbmin);
}

double gflops(std::int64_t n, double seconds) {
  const auto order = static_cast<double>(n);
  return ((order / 1.0e+9) * (order / seconds)) * ((2.0 / 3.0) * order + (3.0 / 2.0));
}

std::string run(const Run& done) {
  if (!(done.seconds > 0)) return "";
  const Variant& v = done.variant;
  return print("%s%12" PRId64 " %5" PRId64 " %5" PRId64 " %5" PRId64 " %18.2f    %19.4e\n",
               variant_code(v, done.mapping).c_str(), v.n, v.nb, v.p, v.q, done.seconds, gflops(v.n, done.seconds)) +
         "HPL_pdgesv() start time " + clock_text(done.start) + "\n" + "HPL_pdgesv() end time   " +
         clock_text(done.end) + "\n";
}

bool passed(const Check& check, double threshold) { return check.scaled < threshold; }

std::string residual(const Check& check, double threshold) {
  if (threshold <= 0) return "";
  std::string text = rule('-');
  text += print("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= %16.8e ...... %s\n", check.scaled,
                passed(check, threshold) ? "PASSED" : "FAILED");
  if (!(check.scaled >= threshold)) return text;
  text += print("||Ax-b||_oo  . . . . . . . . . . . . . . . . . = %18.6f\n", check.residual);
  text += print("||A||_oo . . . . . . . . . . . . . . . . . . . = %18.6f\n", check.a_inf);
  text += print("||A||_1  . . . . . . . . . . . . . . . . . . . = %18.6f\n", check.a_one);
  text += print("||x||_oo . . . . . . . . . . . . . . . . . . . = %18.6f\n", check.x_inf);
  text += print("||x||_1  . . . . . . . . . . . . . . . . . . . = %18.6f\n", check.x_one);
  text += print("||b||_oo . . . . . . . . . . . . . . . . . . . = %18.6f\n", check.b_inf);
  return text;
}

std::string summary(const Tally& tally, double threshold) {
  const auto line = [](std::int64_t count, const char* what) {
    return print("         %6" PRId64 " %s\n", count, what);
  };
  std::string text = rule('=') + print("\nFinished %6" PRId64 " tests with the following results:\n",
                                       tally.passed + tally.failed + tally.skipped);
  if (threshold > 0) {
    text += line(tally.passed, "tests completed and passed residual checks,");
    text += line(tally.failed, "tests completed and failed residual checks,");
  } else {
    text += line(tally.passed, "tests completed without checking,");
  }
  text += line(tally.skipped, "tests skipped because of illegal input values.");
  return text + rule('-') + "\nEnd of Tests.\n" + rule('=');
}

std::string no_memory(std::int64_t row, std::int64_t column) {
  return skipped(print("[%" PRId64 ",%" PRId64 "] Memory allocation failed for A, x and b. Skip.", row, column));
}

std::string solve_failed(std::int64_t info) {
  return skipped(print("Error code returned by solve is %" PRId64 ", skip", info));
}

}  // namespace shakedown::hpl::netlib
