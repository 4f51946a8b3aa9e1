// What programs that solve HPL's system do alike: the files that they read and write, the grid, the texts and events of
// a run.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "netlib.hpp"
#include "runs.hpp"

namespace shakedown::hpl {

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdout && file != stderr) std::fclose(file);
  }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// "-" and "2" are the standard streams; empty: none. Throws where it cannot be written.
File open_output(const std::string& name);

/// The text of a file, from rank 0, on every rank. Throws on every rank alike.
std::string read_everywhere(const std::string& name);

/// Where no grid was given: of the grids of `size` ranks the squarest, P <= Q. Throws where one that was needs more.
void choose_grid(Options& options, int size);

/// The texts of the sweep's runs, for the scripts of netlib's users.
class Scribe {
 public:
  Scribe(const std::string& name, const Dat& dat);
  void ran(const Variant& variant, const Report& report);
  void skipped();
  void end();

 private:
  void write(const std::string& text);
  File file_;
  const Dat& dat_;
  netlib::Tally tally_;
};

/// The cases of a run: its ceiling, the solution with its check, where the time went, its windows.
void emit_report(Emitter& emitter, const Options& options, const Object& params, const Report& report, Index n);

}  // namespace shakedown::hpl
