// A file system: parse -> find the others -> make a place to work in -> features -> bandwidth -> small files -> emit.
#include <signal.h>

#include <algorithm>
#include <set>

#include "common/clock.hpp"
#include "filesystem.hpp"

namespace shakedown::filesystem {
namespace {

constexpr double kSpare = 1.05;  // of the space that the files take

bool asked(const Options& options, Kernel kernel) {
  return std::find(options.kernels.begin(), options.kernels.end(), kernel) != options.kernels.end();
}

bool asked_speed(const Options& options) {
  return asked(options, Kernel::write) || asked(options, Kernel::rewrite) || asked(options, Kernel::read);
}

/// Before anything is written: is there room for the largest pattern of all ranks?
void require_room(const Options& options, const FileSystem& found) {
  const auto threads = static_cast<std::uint64_t>(*std::max_element(options.threads.begin(), options.threads.end()));
  const auto files = threads * static_cast<std::uint64_t>(options.ranks);
  const double bytes =
      asked_speed(options) ? kSpare * static_cast<double>(files) * static_cast<double>(options.size) : 0;
  if (found.bounded && bytes > static_cast<double>(found.free_bytes)) {
    throw cannot("the files take " + std::to_string(static_cast<std::uint64_t>(bytes)) + " bytes, and " +
                     std::to_string(found.free_bytes) + " are free on " + found.mount_point,
                 "smaller files (--size), fewer threads or ranks, or a folder elsewhere (--directory)");
  }
  const auto small = asked(options, Kernel::metadata) ? files * static_cast<std::uint64_t>(options.files) : 0;
  if (found.free_files > 0 && small > found.free_files) {
    throw cannot(std::to_string(small) + " small files are requested, and " + std::to_string(found.free_files) +
                     " can still be made on " + found.mount_point,
                 "fewer of them (--files)");
  }
}

/// Rank 0's folder, which all must see: a folder that is local to each host is not one file system.
std::string common_place(Peers& peers, const std::string& mine) {
  std::string place = peers.share(mine)[0];
  peers.together([&] {
    if (access(place.c_str(), W_OK) != 0) {
      throw cannot(host_name() + " does not see " + place + ", which rank 0 has made",
                   "--directory names a folder that all hosts share; one that each host has for itself is measured "
                   "host by host");
    }
  });
  return place;
}

Object facts_of(Peers& peers, const Options& options, const FileSystem& found, const std::string& cache) {
  std::vector<Object> ranks;
  std::set<std::string> hosts;
  const auto names = peers.share(host_name());
  for (std::size_t i = 0; i < names.size(); ++i) {
    ranks.push_back(Object().add("rank", i).add("host", names[i]));
    hosts.insert(names[i]);
  }
  Object facts;
  facts.add("world_size", peers.size()).add("hosts", std::vector<std::string>(hosts.begin(), hosts.end()));
  facts.add("ranks", ranks).add("directory", options.directory).add("type", found.type).add("where", found.where);
  facts.add("mount_point", found.mount_point).add("source", found.source).add("free_bytes", found.free_bytes);
  facts.add("cache", cache).add("verified", options.verify);
  return facts;
}

void emit_features(Emitter& emitter, Peers& peers, const std::vector<Finding>& findings, std::int64_t begin_ns) {
  std::int64_t holds = 0;
  std::int64_t absent = 0;
  std::int64_t failed = 0;
  std::vector<Object> listed;
  for (const auto& one : findings) {
    holds += one.state == State::holds ? 1 : 0;
    absent += one.state == State::absent ? 1 : 0;
    const bool fails = one.state == State::broken || (one.required && one.state != State::holds);
    failed += fails ? 1 : 0;
    Object entry;
    entry.add("feature", one.name).add("what", one.what).add("state", name_of(one.state)).add("required", one.required);
    if (!one.why.empty()) entry.add("why", one.why);
    listed.push_back(entry);
    if (one.state == State::holds) continue;
    emitter.notice(fails ? "filesystem-feature-failed" : "filesystem-feature-absent",
                   one.name + " (" + one.what + ") " + (one.state == State::absent ? "is not offered" : "is broken") +
                       ": " + one.why,
                   fails ? "--require says which features must hold" : "");
  }
  emitter.facts(Object().add("features", listed));
  Case made;
  made.kernel = "features";
  made.params.add("ranks", peers.size());
  made.work.add("features", holds).add("absent", absent).add("failed", failed).add("tried", findings.size());
  made.begin_ns = begin_ns;
  made.end_ns = unix_ns();
  const Residual residual{static_cast<double>(failed), 0, "features that are broken, or required and absent"};
  emitter.series(made, &residual);
}

void features(Emitter& emitter, Peers& peers, const Options& options, const std::string& place) {
  const std::int64_t begin_ns = unix_ns();
  std::vector<Finding> findings;
  if (peers.first()) {
    auto all = all_features();
    if (options.inject == Inject::feature) {
      all.front().check = [](const std::string&) { throw Broken{"it was asked to fail"}; };
    }
    std::erase_if(all, [&](const Feature& one) { return !chosen(options.features, one.name); });
    findings = try_features(place, all, options.require);
  }
  peers.meet();
  if (peers.size() > 1) {
    const auto shared = try_shared(peers, place, options.features, options.require);
    findings.insert(findings.end(), shared.begin(), shared.end());
  }
  if (peers.first()) emit_features(emitter, peers, findings, begin_ns);
}

void speeds(Emitter& emitter, Peers& peers, const Options& options, const std::string& place, const CacheUse& cache) {
  for (const auto threads : options.threads) {
    for (const auto block : options.blocks) {
      if (!asked_speed(options)) break;
      measure_bandwidth(emitter, peers, options, place, cache,
                        {static_cast<std::size_t>(block), static_cast<int>(threads)});
      if (peers.first()) emitter.progress(0.5, "block " + std::to_string(block));
    }
    if (asked(options, Kernel::metadata)) measure_metadata(emitter, peers, options, place, static_cast<int>(threads));
  }
}

int run(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  Peers peers(options.ranks == 1 ? 0 : launched_rank(), options.ranks, options.rendezvous, options.wait_s);
  FileSystem found;
  std::unique_ptr<Workplace> workplace;
  peers.together([&] {
    found = look_at(options.directory);
    require_room(options, found);
    if (peers.first()) workplace = std::make_unique<Workplace>(options.directory);
  });
  const std::string place = common_place(peers, workplace ? workplace->path() : "");
  CacheUse cache;
  peers.together([&] {
    if (peers.first()) cache = choose_cache(place, options.cache, found.where == "memory");
  });
  const std::string word = peers.share(cache.word)[0];
  cache = {word == "direct" || (word == "memory" && peers.share(cache.direct ? "1" : "0")[0] == "1"), word == "dropped",
           word};
  Emitter emitter(peers.first() ? stdout : nullptr);
  emitter.start("filesystem", argc, argv, facts_of(peers, options, found, cache.word));
  if (cache.word == "memory") {
    emitter.notice("filesystem-memory",
                   found.mount_point + " lies in memory (" + found.type + "): its rates are those of memory",
                   "--directory names a folder on a disk or a network");
  }
  {
    const PhaseMark mark(emitter, "measure");
    if (asked(options, Kernel::features)) features(emitter, peers, options, place);
    speeds(emitter, peers, options, place, cache);
  }
  peers.meet();
  workplace.reset();  // before the end is told: nothing of ours is left then
  emitter.end();
  // Of rank 0 alone: a launcher may end all others as soon as one of them failed.
  peers.meet();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::filesystem

int main(int argc, char** argv) {
  using namespace shakedown::filesystem;
  signal(SIGPIPE, SIG_IGN);  // NOLINT(bugprone-signal-handler,cert-sig30-c): a peer that went away is an error in words
  return shakedown::run_main("filesystem", argc, argv, run, launched_rank() == 0);
}
