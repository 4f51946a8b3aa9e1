#include <algorithm>

#include "common/args.hpp"
#include "multicast.hpp"

namespace shakedown::multicast {
namespace {

template <class T>
struct Word {
  const char* text;
  T value;
};

template <class T, std::size_t N>
T parse(const char* what, const std::string& word, const Word<T> (&known)[N]) {
  std::string all;
  for (const auto& one : known) {
    if (word == one.text) return one.value;
    all += (all.empty() ? "" : ", ") + std::string(one.text);
  }
  throw usage(std::string("unknown ") + what + " '" + word + "'", "known: " + all);
}

constexpr Word<Pattern> kPatterns[] = {{"one-to-many", Pattern::one_to_many}, {"many-to-many", Pattern::many_to_many}};
constexpr Word<Family> kFamilies[] = {{"ipv4", Family::ipv4}, {"ipv6", Family::ipv6}};
constexpr Word<Kernel> kKernels[] = {
    {"join", Kernel::join}, {"latency", Kernel::latency}, {"rate", Kernel::rate}, {"lossless", Kernel::lossless}};
constexpr Word<Inject> kInjects[] = {{"none", Inject::none},
                                     {"drop", Inject::drop},
                                     {"flip", Inject::flip},
                                     {"duplicate", Inject::duplicate},
                                     {"swap", Inject::swap}};
constexpr Word<bool> kWaits[] = {{"sleep", false}, {"spin", true}};
constexpr Word<bool> kWays[] = {{"echo", false}, {"one-way", true}};

void read_what(Args& args, Options& options) {
  for (const auto& word : args.words("patterns", "one-to-many,many-to-many", "who sends: rank 0, or every rank")) {
    options.patterns.push_back(parse("pattern", word, kPatterns));
  }
  for (const auto& word : args.words("families", "ipv4", "ipv4, ipv6, or both between commas")) {
    options.families.push_back(parse("family", word, kFamilies));
  }
  for (const auto& word : args.words("kernels", "join,latency,rate,lossless", "what to measure, between commas")) {
    options.kernels.push_back(parse("kernel", word, kKernels));
  }
  options.sizes =
      args.integers("sizes", "", 2, "how many ranks take part, between commas; default: 2, 4, 8 ... and all");
  options.interface = args.text("interface", "auto", "auto, a name (eth1) or a network (10.77.0.0/24)");
  options.groups = args.words("group", "", "first group's address; for both families one for each; default: drawn");
  options.port = static_cast<int>(args.integer("port", 0, 0, "UDP port; 0: drawn for the job", 65535));
  options.ttl = static_cast<int>(args.integer("ttl", 1, 0, "TTL or hop limit; 0 stays on the host", 255));
  options.spread = static_cast<int>(args.integer("groups", 1, 1, "groups that the senders are dealt out to", 1024));
}

void read_how(Args& args, Options& options) {
  constexpr std::int64_t kHead = sizeof(Header);
  options.bytes = static_cast<std::size_t>(
      args.integer("bytes", 1024, kHead, "UDP payload of a packet", static_cast<std::int64_t>(kMostBytes)));
  options.echo_bytes = static_cast<std::size_t>(
      args.integer("echo-bytes", 64, kHead, "UDP payload of a probe", static_cast<std::int64_t>(kMostBytes)));
  options.rate = args.real("rate", 10000, 0, "packets/s of each sender; 0: as fast as it can");
  options.share = args.real("share", 0, 0, "of a listener's link that all senders together fill; 0: --rate counts");
  options.seconds = args.real("seconds", 0.5, 0.001, "length of one trial");
  options.samples = args.integer("samples", 5, 1, "trials of each case", 1000);
  options.echoes = args.integer("echoes", 200, 1, "round trips to each receiver", 1000000);
  options.resolution = args.real("resolution", 0.05, 0.001, "how near the rate without loss is found");
  options.batch = static_cast<int>(args.integer("batch", 64, 1, "packets in one system call, at most", 1024));
  options.segments = static_cast<int>(
      args.integer("segments", 64, 1, "packets that the kernel may cut out of one piece (UDP_SEGMENT); 1: none", 64));
  options.buffer_bytes =
      static_cast<int>(args.integer("buffer", 8 << 20, 4096, "receive buffer asked of the kernel, bytes", 1 << 30));
  options.settle_s = args.real("settle", 5, 0, "seconds that every pair has to be heard within");
  options.linger_s = args.real("linger", 0.1, 0.001, "seconds of silence after which what is missing is lost");
  options.spin = parse("wait", args.text("wait", "sleep", "how a receiver waits: sleep, spin"), kWaits);
  options.one_way = parse("latency", args.text("latency", "echo", "echo: half a round trip; one-way"), kWays);
  options.verify = !args.flag("no-verify", "do not check what arrives");
  options.inject = parse(
      "damage", args.text("inject", "none", "for tests, to one packet in ten: drop, flip, duplicate, swap"), kInjects);
}

}  // namespace

const char* name_of(Pattern pattern) { return kPatterns[pattern == Pattern::one_to_many ? 0 : 1].text; }

const char* name_of(Kernel kernel) { return kKernels[static_cast<std::size_t>(kernel)].text; }

Options read_options(int argc, char** argv) {
  Args args(argc, argv,
            "UDP multicast between MPI ranks: rate, loss, latency and the highest rate without loss, by group size.\n"
            "Start it with the mpirun of the MPI it was built with, on 2 or more ranks, one a host or several.");
  Options options;
  read_what(args, options);
  read_how(args, options);
  args.finish();
  if (options.patterns.empty() || options.families.empty() || options.kernels.empty()) {
    throw usage("there is nothing to measure", "see --help");
  }
  if (!options.groups.empty() && options.groups.size() != options.families.size()) {
    throw usage("--group names " + std::to_string(options.groups.size()) + " addresses for " +
                    std::to_string(options.families.size()) + " families",
                "one for each, in the order of --families");
  }
  if (options.share > 1) throw usage("--share is above 1", "0.1 fills a tenth of each listener's link");
  if (options.resolution >= 0.5) throw usage("--resolution is half or more", "0.05 finds the rate within 5 %");
  return options;
}

}  // namespace shakedown::multicast
