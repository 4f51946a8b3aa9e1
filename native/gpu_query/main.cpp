// What the driver says of each device, as one JSON object on standard output. src/shakedown/machine/gpu_query.py joins
// it with what the management library says.
#include <cstdio>

#include "gpu/program.hpp"
#include "gpu/query.hpp"

namespace {

int run(int argc, char** argv) {
  using namespace shakedown;
  Args args(argc, argv, "gpu_query: what the driver says of each GPU, as one JSON object; takes no device");
  const gpu::Choice choice = gpu::read_choice(args);
  args.finish();
  std::vector<Json> each;
  for (const auto& device : gpu::query(choice)) each.push_back(device.json());
  Object all;
  all.add("backend", choice.backend).add("devices", each);
  std::printf("%s\n", to_json(all).c_str());
  return kOk;
}

}  // namespace

int main(int argc, char** argv) { return shakedown::run_main("gpu_query", argc, argv, run); }
