#include "common/args.hpp"
#include "shmem.hpp"

namespace shakedown::shmem {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

std::string all_names() {
  std::string text;
  for (int i = 0; i < kOperations; ++i) text += std::string(i > 0 ? "," : "") + name_of(static_cast<Operation>(i));
  return text;
}

Operation operation_of(const std::string& word) {
  for (int i = 0; i < kOperations; ++i) {
    if (word == name_of(static_cast<Operation>(i))) return static_cast<Operation>(i);
  }
  throw usage("unknown operation '" + word + "'", "known: " + all_names());
}

}  // namespace

Options read_options(int argc, char** argv) {
  Args args(
      argc, argv,
      "One-sided operations of OpenSHMEM: PE 0 puts, gets, adds and swaps in the memory of PE 1; and those of all "
      "PEs.\nStart it with the launcher of the OpenSHMEM it was built with (oshrun, srun); each PE pins itself.");
  Options options;
  for (const auto& word : args.words("operations", all_names(), "what to measure, between commas")) {
    options.operations.push_back(operation_of(word));
  }
  for (const auto bytes : args.integers("sizes", "8,64,512,4096,32768,262144,1048576", 1,
                                        "bytes of a put, of a get, or of each PE's block; of all PEs multiples of 8")) {
    if (bytes > kMostBytes) throw usage("--sizes: " + std::to_string(bytes) + " bytes are too many", "at most 2^40");
    options.sizes.push_back(static_cast<std::size_t>(bytes));
  }
  for (const auto bytes :
       args.integers("atomic-bytes", "4,8", 4, "bytes of the word of an atomic operation: 4 (int), 8 (long long)")) {
    if (bytes != 4 && bytes != 8) throw usage("--atomic-bytes: a word is of 4 or 8 bytes");
    options.atomic_bytes.push_back(static_cast<std::size_t>(bytes));
  }
  options.in_flight =
      static_cast<int>(args.integer("in-flight", 64, 1, "puts or gets under way at once for the rate", 65536));
  options.samples = args.integer("samples", 100, 1, "so many samples of each case", 1'000'000);
  options.budget_s = args.real("budget-s", 0.5, 0,
                               "a case that has 10 samples ends after so many seconds, even with fewer than asked");
  options.sample_s = 1e-6 * args.real("sample-us", 100, 0, "a sample of two PEs is made at least so long, in us", 1e7);
  options.silent_s =
      args.real("silent-s", 60, 0, "a case without an answer for so many seconds ends the job; 0: never");
  options.contended =
      args.integer("contended", 500, 2, "operations of each PE in the check of both at once", 1'000'000);
  options.world_size = args.integer("world-size", 0, 0, "how many PEs were started; another number is refused; 0: any");
  options.cpus = args.text("cpus", "", "deal the CPUs of this list to the PEs of each host");
  options.allow_oversubscribe = args.flag("allow-oversubscribe", "let PEs share a CPU: for tests, not for figures");
  options.verify = !args.flag("no-verify", "do not check what arrives");
  args.finish();
  if (options.operations.empty() || options.sizes.empty() || options.atomic_bytes.empty()) {
    throw usage("there is nothing to measure", "see --help");
  }
  for (const Operation operation : options.operations) {
    if (!is_of_all(operation) || operation == Operation::barrier) continue;
    for (const auto bytes : options.sizes) {
      if (bytes % sizeof(Word) == 0) continue;
      throw usage("--sizes: " + std::to_string(bytes) + " bytes are not a whole number of 64-bit words, and " +
                      name_of(operation) + " is of such words",
                  "name multiples of 8");
    }
  }
  return options;
}

}  // namespace shakedown::shmem
