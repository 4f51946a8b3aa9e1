// How the ranks of a job come together: addresses, places, folders that are theirs alone, the next free number.
#include <sys/random.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "collective.hpp"
#include "session.hpp"

namespace shakedown::checkpoint {
namespace {

RunId random_run() {
  RunId run = {};
  if (::getrandom(run.data(), run.size(), 0) != static_cast<ssize_t>(run.size())) {
    throw std::runtime_error("cannot draw a random number for the run");
  }
  return run;
}

std::string of_rank(std::size_t rank, const std::string& words) {
  return "rank " + std::to_string(rank) + ": " + words;
}

Bytes packed(const Outcome& outcome) {
  Packer packer;
  packer.u32(static_cast<std::uint32_t>(outcome.error));
  packer.text(outcome.words);
  return packer.take();
}

/// Numbers and levels of what lies in a folder; what has no manifest that can be read has level 0.
void remember(std::map<std::uint64_t, int>& generations, const std::vector<Generation>& found) {
  for (const Generation& generation : found) {
    int level = 0;
    for (const Part& part : generation.parts) level = std::max(level, part.manifest.level);
    generations[generation.number] = level;
  }
}

}  // namespace

Session::Session(const shakedown_ckpt_comm& comm, Settings settings, Clocks clocks)
    : comm_(comm), settings_(std::move(settings)), clocks_(std::move(clocks)), opened_(clocks_.now()) {
  keep_.store(settings_.keep, std::memory_order_relaxed);
}

Outcome Session::open(const shakedown_ckpt_comm& comm, const Outcome& understood, Settings settings,
                      const std::shared_ptr<Files>& files, std::unique_ptr<Session>& session, Clocks clocks) {
  std::unique_ptr<Session> made(new Session(comm, std::move(settings), std::move(clocks)));
  if (Outcome met = made->meet(understood); !met.good()) return met;
  if (Outcome taken = made->take_folders(files); !taken.good()) return taken;
  Outcome started;
  try {
    made->helper_ = std::make_unique<Helper>(made->transport_.get());
  } catch (const std::exception& error) {
    started = failed(SHAKEDOWN_CKPT_MEMORY, std::string("cannot start the helper thread: ") + error.what());
  }
  if (Outcome all = made->agree_on(started); !all.good()) return all;
  session = std::move(made);
  return {};
}

Session::~Session() {
  end_helper();
  for (Folder* folder : {local_.get(), global_.get()}) {
    if (folder == nullptr) continue;
    (void)folder->run(std::min(1.0, settings_.timeout_seconds), [](Store& store) {
      store.release();
      return Outcome{};
    });
  }
}

void Session::end_helper() { helper_.reset(); }

/// The worst of what all ranks report, the same on all.
Outcome Session::agree_on(const Outcome& mine) {
  const std::vector<Bytes> all = gather(comm_, packed(mine));
  if (all.empty()) return failed(SHAKEDOWN_CKPT_PEER, "the allgather of the application failed");
  Outcome worst;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    Unpacker from(all[rank]);
    const int error = from.number();
    const std::string words = from.text();
    if (error > worst.error) worst = failed(error, all.size() == 1 ? words : of_rank(rank, words));
  }
  return worst;
}

/// Addresses and places of all ranks.
Outcome Session::meet(Outcome mine) {
  Packer packer;
  Address address = {};
  try {
    run_ = random_run();
    if (comm_.size > 1 && mine.good()) {
      transport_ = std::make_unique<Transport>(settings_.address);
      address = transport_->address();
    }
  } catch (const std::exception& error) {
    mine = failed(SHAKEDOWN_CKPT_PEER, error.what());
  }
  packer.raw(address);
  packer.raw(run_);
  packer.text(settings_.node);
  packer.text(settings_.domain);
  const std::vector<Bytes> all = gather(comm_, packer.bytes());
  if (Outcome agreed = agree_on(mine); !agreed.good()) return agreed;
  if (all.empty()) return failed(SHAKEDOWN_CKPT_PEER, "the allgather of the application failed");
  std::vector<Address> addresses(all.size());
  std::vector<Place> places(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    Unpacker from(all[rank]);
    RunId run = {};
    from.raw(addresses[rank]);
    from.raw(run);
    places[rank].node = from.text();
    places[rank].domain = from.text();
    if (rank == 0) run_ = run;
    if (!from.sound()) return failed(SHAKEDOWN_CKPT_PEER, "the allgather of the application gave what no rank sent");
  }
  topology_ = std::make_unique<Topology>(std::move(places));
  if (transport_ != nullptr) {
    transport_->meet(comm_.rank, std::move(addresses), run_);
    transport_->serve([this](std::span<const std::uint8_t> question) { return answer_request(context_, question); });
  }
  context_.rank = comm_.rank;
  context_.topology = topology_.get();
  context_.transport = transport_.get();
  context_.group_size = settings_.group_size;
  context_.group_losses = settings_.group_losses;
  context_.patience_seconds = settings_.timeout_seconds;
  return {};
}

/// Makes a folder ready; the first of those that share it takes it for the job and sees what is there.
Outcome Session::take(Folder& folder, bool first, std::map<std::uint64_t, int>& generations) {
  const auto found = std::make_shared<std::vector<Generation>>();
  Outcome taken = folder.run(settings_.timeout_seconds, [first, run = run_, found](Store& store) {
    Outcome step = store.prepare();
    if (!first || !step.good()) return step;
    step = store.take(run);
    return step.good() ? store.scan(*found) : step;
  });
  if (!taken.good()) return taken;
  remember(generations, *found);
  for (const Generation& generation : *found) {
    for (const Part& part : generation.parts) run_began_ = std::max(run_began_, part.manifest.run_began);
  }
  return taken;
}

Outcome Session::take_folders(const std::shared_ptr<Files>& files) {
  const auto taken_by_all = [&](const std::string& path, bool first, std::unique_ptr<Folder>& folder, Folder*& used,
                                bool direct, std::map<std::uint64_t, int>& generations) -> Outcome {
    Outcome mine;
    if (!path.empty()) {
      try {
        folder = std::make_unique<Folder>(files, path, direct);
        mine = take(*folder, first, generations);
      } catch (const std::exception& error) {
        mine = failed(SHAKEDOWN_CKPT_MEMORY, "cannot work on " + path + ": " + error.what());
      }
    } else {
      mine = failed(SHAKEDOWN_CKPT_NOTHING, "");
    }
    Outcome all = agree_on(mine);
    if (all.good()) {
      used = folder.get();
      folder->store()->join(run_);
    } else if (!all.words.empty() && !path.empty()) {
      warn(all.words + ": its levels are not used");
    }
    return all;
  };
  const Outcome local =
      taken_by_all(settings_.local, context_.leads_node(), local_, context_.local, true, local_generations_);
  const Outcome global =
      taken_by_all(settings_.global, comm_.rank == 0, global_, context_.global, false, global_generations_);
  for (const Outcome* one : {&local, &global}) {
    if (one->error == SHAKEDOWN_CKPT_LOCKED || one->error == SHAKEDOWN_CKPT_PEER) return *one;
  }
  if (!local.good() && !global.good()) {
    return failed(SHAKEDOWN_CKPT_STORAGE,
                  local.words + (local.words.empty() || global.words.empty() ? "" : "; ") + global.words);
  }
  follow_on();
  return {};
}

/// Numbers go on from the newest that any rank sees, and this run began after all of which any rank sees something,
/// even where the clock went back meanwhile.
void Session::follow_on() {
  std::uint64_t newest = 0;
  for (const auto* generations : {&local_generations_, &global_generations_}) {
    if (!generations->empty()) newest = std::max(newest, generations->rbegin()->first);
  }
  Packer packer;
  packer.u64(newest);
  packer.real(run_began_);
  packer.real(clocks_.unix_now());
  double clock = 0;
  bool first = true;
  for (const Bytes& one : gather(comm_, packer.bytes())) {
    Unpacker from(one);
    generation_ = std::max(generation_, from.u64());
    run_began_ = std::max(run_began_, from.real());
    if (const double its = from.real(); std::exchange(first, false)) clock = its;
  }
  run_began_ = std::max(std::nextafter(run_began_, std::numeric_limits<double>::infinity()), clock);
}

}  // namespace shakedown::checkpoint
