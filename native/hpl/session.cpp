#include "session.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

namespace shakedown::hpl {

File open_output(const std::string& name) {
  if (name.empty()) return nullptr;
  if (name == "-") return File(stdout);
  if (name == "2") return File(stderr);
  std::FILE* file = std::fopen(name.c_str(), "w");
  if (file == nullptr) throw cannot("cannot write " + name + ": " + std::strerror(errno), "name another file");
  return File(file);
}

std::string read_everywhere(const std::string& name) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::string text;
  together(MPI_COMM_WORLD, [&] {
    if (rank != 0) return;
    std::ifstream file(name, std::ios::binary);
    if (!file) throw usage("cannot read " + name + ": " + std::strerror(errno), "name an HPL.dat with --dat");
    std::ostringstream all;
    all << file.rdbuf();
    text = all.str();
  });
  auto length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  return text;
}

void choose_grid(Options& options, int size) {
  if (!options.own_grid) {
    if (const auto need = ranks_needed(options.sweep); need > size) {
      throw usage("the largest grid needs " + std::to_string(need) + " ranks, and there are " + std::to_string(size) +
                      (options.per_host ? " on a host" : ""),
                  "start it with mpirun -np " + std::to_string(need) + ", or name a smaller grid");
    }
    return;
  }
  int p = static_cast<int>(std::sqrt(static_cast<double>(size)) + 1e-9);
  while (size % p != 0) --p;
  options.sweep.p = {p};
  options.sweep.q = {size / p};
}

Scribe::Scribe(const std::string& name, const Dat& dat) : file_(open_output(name)), dat_(dat) {
  write(netlib::header(dat, 0x1p-53));
  if (!(dat.threshold > 0)) write(netlib::table_head());
}

void Scribe::ran(const Variant& variant, const Report& report) {
  if (dat_.threshold > 0) write(netlib::table_head());
  netlib::Run done{variant, dat_.mapping, report.seconds.front(), report.spans.front().begin_ns / 1'000'000'000,
                   report.spans.front().end_ns / 1'000'000'000};
  write(netlib::run(done));
  const auto& c = report.check;
  const netlib::Check check{c.residual, c.error_norm, c.a_norm, c.a_one, c.x_norm, c.x_one, c.b_norm};
  write(netlib::residual(check, dat_.threshold));
  const bool passed = !(dat_.threshold > 0) || netlib::passed(check, dat_.threshold);
  ++(passed ? tally_.passed : tally_.failed);
}

void Scribe::skipped() {
  write(netlib::no_memory(0, 0));
  ++tally_.skipped;
}

void Scribe::end() { write(netlib::summary(tally_, dat_.threshold)); }

void Scribe::write(const std::string& text) {
  if (file_ == nullptr) return;
  std::fwrite(text.data(), 1, text.size(), file_.get());
  std::fflush(file_.get());
}

void emit_report(Emitter& emitter, const Options& options, const Object& params, const Report& report, Index n) {
  if (!report.ceiling_seconds.empty() && report.ceiling_flop > 0) {
    emitter.series({"ceiling", params, Object().add("flop", report.ceiling_flop), report.ceiling_seconds, 0, 0,
                    report.ceiling_spans},
                   nullptr);
  }
  if (!report.seconds.empty()) {
    const Residual residual{report.check.residual, options.sweep.threshold, "HPL scaled residual"};
    emitter.series({"hpl", params, Object().add("flop", flop_count(n)), report.seconds, 0, 0, report.spans},
                   report.checked ? &residual : nullptr);
    for (const auto& account : kAccounts) {
      const double part = report.shares.*account.seconds / total(report.shares);
      emitter.series({account.name,
                      params,
                      Object().add("value", part),
                      {},
                      report.spans.front().begin_ns,
                      report.spans.back().end_ns},
                     nullptr);
    }
  }
  for (const auto& window : report.windows) {
    Object of = params;
    of.add("order", static_cast<Index>(window.order)).add("panels", static_cast<Index>(window.panels));
    emitter.series({"window", of, Object().add("flop", window.flop), {window.seconds}, 0, 0, {window.span}}, nullptr);
  }
}

}  // namespace shakedown::hpl
