// What lies in folders of checkpoints, for tools: what is there, whether it is whole, what may go.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "files.hpp"
#include "include/shakedown/checkpoint.h"
#include "outcome.hpp"

namespace shakedown::checkpoint {

using Visit = std::function<void(const shakedown_ckpt_entry&)>;

/// Visits every generation, oldest first, folder by folder. `verify` reads all data. The folder itself is not changed.
Outcome list_folders(const std::shared_ptr<Files>& files, const std::vector<std::string>& folders, bool verify,
                     int keep, const Visit& visit);

/// Removes what `keep` newer committed generations of a level at least as safe, in the same folder, make superfluous,
/// and generations without a manifest that are older than a committed one. Visits what goes. LOCKED where a job writes.
Outcome prune_folders(const std::shared_ptr<Files>& files, const std::vector<std::string>& folders, int keep,
                      bool dry_run, const Visit& visit);

}  // namespace shakedown::checkpoint
