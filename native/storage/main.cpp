// A file system: parse -> find the others -> make a place to work in -> features -> bandwidth -> small files -> emit.
#include <signal.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "common/clock.hpp"
#include "storage.hpp"

namespace shakedown::storage {
namespace {

constexpr double kSpare = 1.05;  // of the space that the files take

bool asked(const Options& options, Kernel kernel) {
  return std::find(options.kernels.begin(), options.kernels.end(), kernel) != options.kernels.end();
}

bool asked_speed(const Options& options) {
  return asked(options, Kernel::write) || asked(options, Kernel::rewrite) || asked(options, Kernel::read);
}

/// Before anything is written: is there room for the largest pattern of all ranks?
void require_room(const Options& options, const std::vector<FileSystem>& found) {
  const auto threads = static_cast<std::uint64_t>(*std::max_element(options.threads.begin(), options.threads.end()));
  const auto files = threads * static_cast<std::uint64_t>(options.ranks);
  // Threads are dealt to the folders in turn, and several of these may lie on one file system.
  std::map<std::string, std::uint64_t> threads_on;
  for (std::size_t i = 0; i < found.size(); ++i)
    threads_on[found[i].mount_point] += (files + found.size() - 1 - i) / found.size();
  for (const auto& one : found) {
    const double each = kSpare * static_cast<double>(threads_on[one.mount_point]);
    double bytes = asked_speed(options) ? each * static_cast<double>(options.size) : 0;
    if (asked(options, Kernel::metadata))
      bytes += each * static_cast<double>(options.files) * static_cast<double>(options.small_bytes);
    if (asked(options, Kernel::io500))  // two sets of files, and small ones of a page each
      bytes += each * (2 * static_cast<double>(options.size) + 4096 * static_cast<double>(options.files));
    if (one.bounded && bytes > static_cast<double>(one.free_bytes)) {
      throw cannot("the files take " + std::to_string(static_cast<std::uint64_t>(bytes)) + " bytes, and " +
                       std::to_string(one.free_bytes) + " are free on " + one.mount_point,
                   "smaller files (--size), fewer threads or ranks, or a folder elsewhere (--directory)");
    }
  }
  const std::uint64_t sets = asked(options, Kernel::io500) ? 2 : asked(options, Kernel::metadata) ? 1 : 0;
  const std::uint64_t small = sets * files * static_cast<std::uint64_t>(options.files);
  if (found[0].free_files > 0 && small > found[0].free_files) {
    throw cannot(std::to_string(small) + " small files are requested, and " + std::to_string(found[0].free_files) +
                     " can still be made on " + found[0].mount_point,
                 "fewer of them (--files)");
  }
}

/// Rank 0's folders, which all must see: a folder that is local to each host is not one file system.
Folders common_places(Peers& peers, const std::vector<std::unique_ptr<Workplace>>& mine) {
  std::string text;
  for (const auto& one : mine) text += one->path() + '\n';
  text = peers.hand_out(text);
  Folders places;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    places.push_back(text.substr(at, text.find('\n', at) - at));
  peers.together([&] {
    for (const auto& place : places) {
      if (access(place.c_str(), W_OK) == 0) continue;
      throw cannot(host_name() + " does not see " + place + ", which rank 0 has made",
                   "--directory names a folder that all hosts share; one that each host has for itself is measured "
                   "host by host");
    }
  });
  return places;
}

/// What each of several directories lies on.
std::vector<Object> mounts_of(const Options& options, const std::vector<FileSystem>& all) {
  std::vector<Object> found;
  const auto names = directories(options);
  for (std::size_t i = 0; i < all.size(); ++i) {
    found.push_back(Object()
                        .add("directory", names[i])
                        .add("type", all[i].type)
                        .add("where", all[i].where)
                        .add("source", all[i].source)
                        .add("mount_point", all[i].mount_point)
                        .add("free_bytes", all[i].free_bytes));
  }
  return found;
}

Object facts_of(Peers& peers, const Options& options, const std::vector<FileSystem>& all, const std::string& cache) {
  const FileSystem& found = all.front();
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
  if (!options.more_directories.empty()) facts.add("directories", mounts_of(options, all));
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

void speeds(Emitter& emitter, Peers& peers, const Options& options, const Folders& places, const CacheUse& cache) {
  for (const auto threads : options.threads) {
    for (const auto block : options.blocks) {
      if (!asked_speed(options)) break;
      measure_bandwidth(emitter, peers, options, places, cache,
                        {static_cast<std::size_t>(block), static_cast<int>(threads)});
      if (peers.first()) emitter.progress(0.5, "block " + std::to_string(block));
    }
    if (asked(options, Kernel::metadata)) measure_metadata(emitter, peers, options, places, static_cast<int>(threads));
    if (asked(options, Kernel::io500)) measure_io500(emitter, peers, options, places[0], static_cast<int>(threads));
  }
}

/// By what the cache is kept out in all folders, the same on every rank: one that lies in memory, or takes no O_DIRECT,
/// decides for all.
CacheUse common_cache(Peers& peers, const Options& options, const Folders& places, const std::vector<FileSystem>& all) {
  CacheUse cache;
  peers.together([&] {
    for (std::size_t i = 0; i < places.size() && peers.first(); ++i) {
      const CacheUse one = choose_cache(places[i], options.cache, all[i].where == "memory");
      if (i == 0 || one.word == "memory" || (cache.direct && !one.direct)) cache = one;
    }
  });
  const std::string text = peers.hand_out(cache.word + (cache.direct ? " direct" : ""));
  const std::string word = text.substr(0, text.find(' '));
  return {text.find(' ') != std::string::npos, word == "dropped", word};
}

int measured(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  Peers peers(options.ranks == 1 ? 0 : launched_rank(), options.ranks, options.rendezvous, options.wait_s);
  std::optional<MpiJob> mpi;
  std::vector<FileSystem> all;
  std::vector<std::unique_ptr<Workplace>> workplaces;
  peers.together([&] {
    for (const auto& folder : directories(options)) all.push_back(look_at(folder));
    require_room(options, all);
    if (options.engine == Engine::mpi || options.engine == Engine::mpi_collective)
      mpi.emplace(peers.rank(), peers.size());
    if (!peers.first()) return;
    for (const auto& folder : directories(options)) workplaces.push_back(std::make_unique<Workplace>(folder));
  });
  const Folders places = common_places(peers, workplaces);
  const CacheUse cache = common_cache(peers, options, places, all);
  Emitter emitter(peers.first() ? stdout : nullptr);
  emitter.start("storage", argc, argv, facts_of(peers, options, all, cache.word));
  for (const auto& found : all) {
    if (found.where != "memory") continue;
    emitter.notice("filesystem-memory",
                   found.mount_point + " lies in memory (" + found.type + "): its rates are those of memory",
                   "--directory names a folder on a disk or a network");
  }
  {
    const PhaseMark mark(emitter, "measure");
    if (asked(options, Kernel::features)) features(emitter, peers, options, places.front());
    speeds(emitter, peers, options, places, cache);
  }
  peers.meet();
  workplaces.clear();  // before the end is told: nothing of ours is left then
  emitter.end();
  // Of rank 0 alone: a launcher may end all others as soon as one of them failed.
  peers.meet();
  return emitter.ok() ? kOk : kCheckFailed;
}

int run(int argc, char** argv) {
  try {
    return measured(argc, argv);
  } catch (const Agreed&) {
    // As above: a launcher that sees this rank fail may end rank 0 before it has cleared up and told why.
    if (launched_rank() != 0) return kOk;
    throw;
  }
}

}  // namespace
}  // namespace shakedown::storage

int main(int argc, char** argv) {
  using namespace shakedown::storage;
  signal(SIGPIPE, SIG_IGN);  // NOLINT(bugprone-signal-handler,cert-sig30-c): a peer that went away is an error in words
  return shakedown::run_main("storage", argc, argv, run, launched_rank() == 0);
}
