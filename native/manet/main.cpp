// manet: an emulated network of radios under load. The story: parse -> make nodes -> frames as fast as they go ->
// delays -> losses of each link -> unmake -> emit.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "binomial.hpp"
#include "common/args.hpp"
#include "common/clock.hpp"
#include "common/emit.hpp"
#include "manet.hpp"

namespace shakedown::manet {
namespace {

using radio_forwarder::Channel;
using radio_forwarder::Modulation;

constexpr int kNeighbours = 20;
constexpr std::uint32_t kLossRadios = 50;  // whose losses are counted: 1,000 links

struct Options {
  std::uint32_t nodes = 50;
  int threads = 2;
  std::vector<std::string> kernels;
  std::size_t bytes = 100;
  std::int64_t frames = 100'000, samples = 5, delay_frames = 4000, loss_frames = 1000;
  double seconds = 0, delay_rate = 20'000;
  std::uint64_t seed = 1;
  double shift_db = 0;
  bool verify = true;
};

Options parse(int argc, char** argv) {
  Args args(argc, argv, "manet: frames through an emulated network of radios, from TAP to TAP");
  Options o;
  o.nodes = static_cast<std::uint32_t>(
      args.integer("radios", 50, 2, "nodes of the network, each a namespace with a TAP", 65534));
  o.threads = static_cast<int>(args.integer("threads", 2, 1, "that forward", 256));
  o.kernels = args.words("kernels", "rate,delay,loss", "rate, delay, loss; radios come up and down with any");
  o.bytes = static_cast<std::size_t>(args.integer("bytes", 100, 64, "of a frame", 1514));
  o.frames = args.integer("frames", 100'000, 1, "of a sample of rate", std::int64_t{1} << 32);
  o.samples = args.integer("samples", 5, 1, "of rate at least", 1'000'000);
  o.seconds = args.real("seconds", 0, 0, "rate lasts at least so long");
  o.delay_rate = args.real("delay-rate", 20'000, 1, "frames/s at which delays are found", 1e6);
  o.delay_frames = args.integer("delay-frames", 4000, 1, "whose delay is found", 1'000'000);
  o.loss_frames = args.integer("loss-frames", 1000, 100, "of each node, for losses", 1'000'000);
  o.seed = static_cast<std::uint64_t>(args.integer("seed", 1, 0, "of the random numbers"));
  o.shift_db =
      args.real("shift-db", 0, -100, "give the forwarder links that are so much better, to see the check fail", 100);
  o.verify = !args.flag("no-verify", "leave the checks out");
  args.finish();
  for (const auto& kernel : o.kernels) {
    if (kernel != "rate" && kernel != "delay" && kernel != "loss")
      throw usage("--kernels '" + kernel + "' is none", "rate, delay, loss");
  }
  return o;
}

[[nodiscard]] bool wants(const Options& options, const std::string& kernel) {
  return std::find(options.kernels.begin(), options.kernels.end(), kernel) != options.kernels.end();
}

/// An ordinary user's namespaces lie below a user namespace.
void become_able() {
  if (geteuid() == 0) return;
  const std::string user = "0 " + std::to_string(getuid()) + " 1", group = "0 " + std::to_string(getgid()) + " 1";
  if (unshare(CLONE_NEWUSER) != 0) {
    throw cannot(std::string("make a user namespace: ") + std::strerror(errno),
                 "as root, or where an ordinary user may make user namespaces (sysctl user.max_user_namespaces)");
  }
  const auto put = [](const char* path, const std::string& text) {
    const Handle file(open(path, O_WRONLY | O_CLOEXEC));
    if (write(file.fd(), text.data(), text.size()) < 0) throw cannot(std::string(path) + ": " + std::strerror(errno));
  };
  put("/proc/self/setgroups", "deny");
  put("/proc/self/uid_map", user);
  put("/proc/self/gid_map", group);
}

Case case_of(const Options& options, const std::string& kernel) {
  Case result;
  result.kernel = kernel;
  result.params.add("radios", options.nodes).add("threads", options.threads).add("bytes", options.bytes);
  return result;
}

/// Links of each node to the next one alone, at which all is received.
std::vector<LinkChange> ring(std::uint32_t nodes) {
  std::vector<LinkChange> links;
  for (std::uint32_t node = 1; node <= nodes; ++node) links.push_back({node, node % nodes + 1, 60, 0});
  return links;
}

void measure_rate(const Options& options, Emitter& emitter, std::vector<Node>& nodes) {
  Channel channel;
  channel.serialise = false;
  Forwarder forwarder(channel, nodes, options.threads);
  forwarder.links().change(ring(options.nodes));
  Case result = case_of(options, "rate");
  std::int64_t missing = 0, lost = 0;
  {
    const PhaseMark phase(emitter, "warmup", "rate");
    forward_all(forwarder, nodes, std::min<std::int64_t>(options.frames, 10'000), options.bytes, missing);
  }
  {
    const PhaseMark phase(emitter, "measure", "rate");
    const double begin = now_s();
    result.begin_ns = unix_ns();
    while (std::ssize(result.seconds) < options.samples || now_s() - begin < options.seconds) {
      const std::int64_t sample_ns = unix_ns();
      result.seconds.push_back(forward_all(forwarder, nodes, options.frames, options.bytes, missing));
      result.spans.push_back({sample_ns, sample_ns + static_cast<std::int64_t>(1e9 * result.seconds.back())});
      lost += std::max<std::int64_t>(missing, 0);
      emitter.progress(std::min(1.0, static_cast<double>(result.seconds.size()) / static_cast<double>(options.samples)),
                       "rate");
    }
    result.end_ns = unix_ns();
  }
  result.work.add("frames", options.frames).add("bytes", options.frames * static_cast<std::int64_t>(options.bytes));
  const Residual residual{static_cast<double>(lost), 0, "frames that did not reach their receiver"};
  emitter.series(result, options.verify ? &residual : nullptr);
}

void measure_delay(const Options& options, Emitter& emitter, std::vector<Node>& nodes) {
  Channel channel;
  channel.serialise = false;
  Forwarder forwarder(channel, nodes, options.threads);
  forwarder.links().change(ring(options.nodes));
  Case result = case_of(options, "delay");
  const PhaseMark phase(emitter, "measure", "delay");
  delays(nodes, options.delay_rate, std::min<std::int64_t>(options.delay_frames, 500), options.bytes);
  result.seconds = delays(nodes, options.delay_rate, options.delay_frames, options.bytes);
  const double lost = result.seconds.empty() ? 1 : 0;
  if (lost > 0) result.seconds.push_back(0);
  result.params.add("frames_per_s", options.delay_rate);
  result.work.add("frames", std::int64_t{1});
  const Residual residual{lost, 0, "frames that did not reach their receiver"};
  emitter.series(result, options.verify ? &residual : nullptr);
}

void measure_loss(const Options& options, Emitter& emitter, std::vector<Node>& nodes) {
  Channel channel;
  channel.serialise = false;
  channel.seed = options.seed;
  channel.waveform.modulation = Modulation::logistic;
  Forwarder forwarder(channel, nodes, options.threads);
  const std::uint32_t count = std::min(options.nodes, kLossRadios);
  const int neighbours = static_cast<int>(std::min<std::uint32_t>(kNeighbours, count - 1));
  const std::uint32_t all = count * static_cast<std::uint32_t>(neighbours);
  // The link to the k-th next node of node i: probabilities from 2 to 98 %, all different, in no order.
  const auto likely = [&](std::uint32_t from, std::uint32_t to) {
    const std::uint32_t step = (to + count - from) % count;
    if (step == 0 || step > static_cast<std::uint32_t>(neighbours)) return -1.0;
    const std::uint64_t number =
        (std::uint64_t{from - 1} * static_cast<std::uint64_t>(neighbours) + step - 1) * 611953 % all;
    return 0.02 + 0.96 * (static_cast<double>(number) + 0.5) / all;
  };
  std::vector<LinkChange> links;
  for (std::uint32_t from = 1; from <= count; ++from) {
    for (int step = 1; step <= neighbours; ++step) {
      const std::uint32_t to = (from + static_cast<std::uint32_t>(step) - 1) % count + 1;
      const double share = likely(from, to);
      const double snr = channel.waveform.snr_half_db + channel.waveform.slope_db * std::log(share / (1 - share));
      links.push_back({from, to, static_cast<float>(snr + options.shift_db), 0});
    }
  }
  forwarder.links().change(links);
  Case result = case_of(options, "loss");
  const PhaseMark phase(emitter, "measure", "loss");
  const double begin = now_s();
  const Loss loss = losses(forwarder, nodes, count, options.loss_frames, options.bytes, likely);
  result.seconds.push_back(now_s() - begin);
  result.params.add("links", loss.links).add("frames", options.loss_frames);
  result.work.add("links", loss.links).add("outside", loss.outside).add("least_tail", loss.least);
  result.work.add("uncounted", loss.uncounted);
  result.work.add("outside_share", static_cast<double>(loss.outside) / static_cast<double>(loss.links));
  // So many of so many are outside 99 % by chance once in a million runs; none is out of all reason.
  const auto most = most_likely(loss.links, 0.01, 1e-6);
  const bool absurd = loss.uncounted != 0 || loss.least * static_cast<double>(2 * loss.links) < 1e-6;
  const Residual residual{
      absurd ? static_cast<double>(loss.links) : static_cast<double>(loss.outside), static_cast<double>(most),
      "links outside the binomial 99 % interval of their probability; all, where one is beyond 1e-6 of "
      "chance or a frame was not counted"};
  emitter.series(result, options.verify ? &residual : nullptr);
}

/// Close all nodes, and wait until the kernel has taken them apart, which it does behind the last close.
void take_down(std::vector<Node>& nodes) {
  nodes.clear();
  const double begin = now_s();
  for (int quiet = 0; quiet < 3 && now_s() - begin < 300;) {
    usleep(10'000);
    quiet = kernel_is_at_it() ? 0 : quiet + 1;
  }
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  become_able();
  radio_forwarder::allow_files(options.nodes + 128);
  Emitter emitter;
  emitter.start("manet", argc, argv, Object().add("radios", options.nodes).add("threads", options.threads));
  Case up = case_of(options, "up"), down = case_of(options, "down");
  const std::uint64_t kernel_before = kernel_bytes();
  std::vector<Node> nodes;
  const auto timed = [](Case& result, auto&& act) {
    result.begin_ns = unix_ns();
    const double begin = now_s();
    act();
    result.seconds.push_back(now_s() - begin);
    result.end_ns = unix_ns();
  };
  {
    const PhaseMark phase(emitter, "init", "nodes");
    radio_forwarder::NodeSettings settings;
    settings.last = options.nodes;
    settings.threads = options.threads;
    settings.ipv6 = false;  // what is counted is ours alone
    timed(up, [&] { nodes = radio_forwarder::make_nodes(settings); });
  }
  const std::uint64_t kernel_after = kernel_bytes();
  emitter.facts(Object().add("kernel_bytes", kernel_after - std::min(kernel_after, kernel_before)));
  up.work.add("radios", options.nodes);
  emitter.series(up, nullptr);
  if (wants(options, "rate")) measure_rate(options, emitter, nodes);
  if (wants(options, "delay")) measure_delay(options, emitter, nodes);
  if (wants(options, "loss")) measure_loss(options, emitter, nodes);
  timed(down, [&] { take_down(nodes); });
  down.work.add("radios", options.nodes);
  emitter.series(down, nullptr);
  emitter.end();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::manet

int main(int argc, char** argv) { return shakedown::run_main("manet", argc, argv, shakedown::manet::run); }
