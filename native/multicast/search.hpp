// The highest rate without loss: halving, then confirmation. Pure: it is told what each trial gave.
#pragma once

#include <algorithm>

namespace shakedown::multicast {

/// RFC 2544, section 26.1 ("throughput"): the fastest rate at which nothing is lost. Halving finds a candidate to
/// within `resolution`; it stands once `confirmations` trials in a row lost nothing there, and gives way by twice the
/// resolution where one did. Rates are in packets/s of each sender.
class Search {
 public:
  /// `most`: the first rate to try, at least what the senders can do. Below `least` nothing is looked for where packets
  /// are lost; senders that cannot do so much are taken at what they can do.
  Search(double most, double resolution, int confirmations, double least)
      : high_(most), least_(std::min(least, most / 2)), resolution_(resolution), needed_(confirmations), rate_(most) {}

  [[nodiscard]] double rate() const { return rate_; }
  [[nodiscard]] bool done() const { return done_; }
  /// The rate that stood; 0 where none did.
  [[nodiscard]] double found() const { return found_; }

  /// What the trial at rate() gave: whether nothing was lost, and the rate that the senders really reached.
  void told(bool lossless, double reached) {
    ++trials_;
    if (confirming_) {
      confirmed(lossless);
    } else if (lossless) {
      low_ = std::min(rate_, reached);
      if (reached < rate_ * (1 - resolution_)) {  // the senders can do no more
        high_ = low_;
        least_ = std::min(least_, low_ / 2);
      }
    } else {
      high_ = std::min(rate_, high_);
    }
    if (!confirming_) narrow();
    if (rate_ < least_ || trials_ >= kMostTrials) done_ = true;
  }

 private:
  static constexpr int kMostTrials = 60;

  void narrow() {
    if (low_ > 0 && (high_ - low_) <= resolution_ * high_) {
      confirming_ = true;
      rate_ = low_;
      return;
    }
    rate_ = low_ > 0 ? (low_ + high_) / 2 : high_ / 2;
  }

  void confirmed(bool lossless) {
    if (!lossless) {
      rate_ *= 1 - 2 * resolution_;
      passed_ = 0;
    } else if (++passed_ >= needed_) {
      stand();
    }
  }

  void stand() {
    found_ = rate_;
    done_ = true;
  }

  double low_ = 0;
  double high_;
  double least_;
  double resolution_;
  int needed_;
  double rate_;
  double found_ = 0;
  int trials_ = 0;
  int passed_ = 0;
  bool confirming_ = false;
  bool done_ = false;
};

}  // namespace shakedown::multicast
