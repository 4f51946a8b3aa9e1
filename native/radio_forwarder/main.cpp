// The radios of an emulation on one host: nodes as network namespaces with TAPs, and the frames between them. The
// story: parse -> process 1 of namespaces of its own -> make nodes -> forward and answer until it is ended -> emit.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "channel.hpp"
#include "common/args.hpp"
#include "common/clock.hpp"
#include "common/emit.hpp"
#include "control.hpp"
#include "ethernet.hpp"
#include "forwarder.hpp"
#include "reception.hpp"

namespace shakedown::radio_forwarder {
namespace {

struct Options {
  std::string directory;
  std::uint32_t nodes = 0;
  NodeSettings made;
  Channel channel;
  int threads = 2;
  std::string own;
  std::vector<std::string> others;
  bool user = false;
  std::vector<double> at_snr_db;  // not empty: only the probabilities of reception are asked for
  std::size_t frame_bytes = 0;
};

/// Throws a usage error for a word that is no number.
std::vector<double> numbers_of(const char* option, const std::vector<std::string>& words) {
  std::vector<double> numbers;
  numbers.reserve(words.size());
  for (const std::string& word : words) {
    double number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(number)) {
      throw usage(std::string("--") + option + " '" + word + "' is not a valid number", "give them as 3,4.5,6");
    }
    numbers.push_back(number);
  }
  return numbers;
}

Options parse(int argc, char** argv) {
  Args args(argc, argv, "radio_forwarder: nodes with TAPs, and frames between them by the losses of the moment");
  Options o;
  o.directory = args.text("directory", "", "folder for the control socket `control`");
  o.nodes = static_cast<std::uint32_t>(args.integer("nodes", 2, 1, "nodes of the emulation", kMostNodes));
  o.made.first = static_cast<std::uint32_t>(args.integer("first", 1, 1, "first node of this host", kMostNodes));
  const auto last = args.integer("last", 0, 0, "last node of this host; 0: the last of all", kMostNodes);
  o.made.last = last == 0 ? o.nodes : static_cast<std::uint32_t>(last);
  o.made.mtu = static_cast<int>(args.integer("mtu", 1500, 576, "of the nodes' interfaces, bytes", 9000));
  o.made.routed = args.flag("routed", "addresses of one host each, and forwarding: for routing daemons");
  o.threads = static_cast<int>(args.integer("threads", 2, 1, "that forward", 256));
  o.made.threads = o.threads;
  o.channel = parse_channel(args);
  o.channel.most_bytes = static_cast<std::size_t>(o.made.mtu) + kHeadBytes;
  o.own = args.text("own", "", "address:port at which this host listens for the others");
  o.others = args.words("others", "", "address:port of the other hosts, or of one multicast group");
  o.user = args.flag("user", "below a user namespace: as an ordinary user");
  o.at_snr_db =
      numbers_of("at-snr-db", args.words("at-snr-db", "", "print the probability of reception at each, and end"));
  o.frame_bytes = static_cast<std::size_t>(
      args.integer("frame-bytes", 1000, 1, "of the frames that --at-snr-db is about", 1 << 20));
  args.finish();
  if (!o.at_snr_db.empty()) return o;
  if (o.directory.empty()) throw usage("--directory is missing", "a folder for the control socket");
  if (o.made.first > o.made.last || o.made.last > o.nodes) throw usage("--first to --last are not among --nodes");
  if (o.others.empty() != (o.made.first == 1 && o.made.last == o.nodes))
    throw usage("--others, and --first or --last, belong together",
                "give the addresses of the hosts with the other nodes");
  return o;
}

void write_file(const char* path, const std::string& text) {
  const Handle file(open(path, O_WRONLY | O_CLOEXEC));
  if (file.fd() < 0 || write(file.fd(), text.data(), text.size()) != std::ssize(text))
    throw cannot(std::string("write ") + path + ": " + std::strerror(errno));
}

/// Namespaces of its own: of processes, so that its end is that of all that runs in the nodes; of mounts, for their
/// /proc; and, for an ordinary user, of users.
void leave_namespaces(bool user) {
  const uid_t uid = getuid();
  const gid_t gid = getgid();
  if (unshare((user ? CLONE_NEWUSER : 0) | CLONE_NEWPID | CLONE_NEWNS) != 0) {
    throw cannot(std::string("make namespaces: ") + std::strerror(errno),
                 user ? "this kernel lets no ordinary user make user namespaces (sysctl user.max_user_namespaces)"
                      : "as root, or with --user");
  }
  if (!user) return;
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
  write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
}

void mount_proc() {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    throw cannot(std::string("mount /proc: ") + std::strerror(errno));
  }
}

int signal_handle() {
  sigset_t set;
  sigemptyset(&set);
  for (const int one : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, one);
  sigprocmask(SIG_BLOCK, &set, nullptr);  // before any thread: all of them inherit it
  return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/// Process 1 of the emulation.
int run_nodes(const Options& options, int argc, char** argv) {
  mount_proc();
  const int signals = signal_handle();
  Emitter emitter;
  emitter.start("radio_forwarder", argc, argv, Object().add("nodes", options.nodes).add("threads", options.threads));
  allow_files(options.made.last - options.made.first + 1);
  Hosts hosts = open_hosts(options.own, options.others, options.channel.seed);
  std::vector<Node> nodes;
  const double begin = now_s();
  {
    const PhaseMark phase(emitter, "init", "nodes");
    nodes = make_nodes(options.made);
    nodes.resize(options.nodes + 1);
  }
  emitter.facts(Object().add("nodes_s", now_s() - begin));
  Case result;
  result.kernel = "forward";
  result.begin_ns = unix_ns();
  const double start = now_s();
  {
    Forwarder forwarder(options.channel, nodes, options.threads, std::move(hosts));
    {
      Control control(forwarder, nodes, options.directory + "/control");
      const PhaseMark phase(emitter, "measure", "forwarding");
      control.serve(signals);
    }
    result.work = forwarder.totals().numbers();
    emitter.facts(Object().add("counts", forwarder.totals().json().json()));
  }
  result.seconds.push_back(now_s() - start);
  result.end_ns = unix_ns();
  result.params.add("nodes", options.nodes).add("threads", options.threads);
  emitter.series(result, nullptr);
  emitter.end();
  return kOk;
}

/// A line for each ratio, with all digits that tell it from others.
int print_probabilities(const Options& options) {
  for (const double snr_db : options.at_snr_db) {
    std::printf("%.17g\n", success(reception(options.channel.waveform, snr_db), options.frame_bytes));
  }
  return kOk;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (!options.at_snr_db.empty()) return print_probabilities(options);
  leave_namespaces(options.user);
  const pid_t child = fork();
  if (child < 0) throw cannot(std::string("fork: ") + std::strerror(errno));
  if (child == 0) return run_nodes(options, argc, argv);
  // The first process stays, so that who started it sees the end; killed alone, it takes nothing with it.
  for (const int one : {SIGTERM, SIGINT, SIGHUP}) signal(one, SIG_IGN);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  throw cannot(std::string("the forwarder was ended by signal ") + strsignal(WTERMSIG(status)));
}

}  // namespace
}  // namespace shakedown::radio_forwarder

int main(int argc, char** argv) {
  return shakedown::run_main("radio_forwarder", argc, argv, shakedown::radio_forwarder::run);
}
