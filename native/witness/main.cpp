// Sees where it is, leaves a record, and becomes the program behind --: see README.md.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/args.hpp"
#include "witness.hpp"

namespace shakedown::witness {
namespace {

int run(int argc, char** argv) {
  char** const end = argv + argc;
  char** const dashes = std::find_if(argv, end, [](const char* word) { return std::strcmp(word, "--") == 0; });
  Args args(static_cast<int>(dashes - argv), argv,
            "witness: leaves a record of where it runs and becomes the program behind --");
  const std::string folder = args.text("to", "", "folder of the record (empty: it is printed)");
  const std::string side = args.text("side", "inside", "inside or outside of the layer");
  args.finish();
  if (side != "inside" && side != "outside") throw usage("unknown side '" + side + "'", "inside or outside");
  const bool starts = dashes != end && dashes + 1 != end;
  if (!folder.empty() && !starts) throw usage("no program to start", "witness --to FOLDER -- ./a.out ARGUMENTS");
  const std::string text = record(look(), side);
  if (folder.empty()) {
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) throw cannot("the record cannot be printed");
    if (!starts) return kOk;
  } else {
    leave(folder, side, text);
  }
  execvp(dashes[1], dashes + 1);
  throw cannot(std::string(dashes[1]) + ": " + std::strerror(errno),
               side == "inside" ? "it must be seen inside under the path that it has outside" : "install it");
}

}  // namespace
}  // namespace shakedown::witness

int main(int argc, char** argv) { return shakedown::run_main("witness", argc, argv, shakedown::witness::run); }
