// Rounds of disjoint groups: read from text.
#include "rounds.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include "error.hpp"

namespace shakedown {
namespace {

constexpr std::size_t kMostDigits = 9;

bool is_number(const std::string& word) {
  return !word.empty() && word.size() <= kMostDigits &&
         std::all_of(word.begin(), word.end(), [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, at);) words.push_back(word);
  return words;
}

class Reader {
 public:
  Reader(const std::vector<std::string>& places, Numbers numbers) : places_(places), numbers_(numbers) {
    for (std::size_t rank = 0; rank < places.size(); ++rank) rank_of_[places[rank]] = static_cast<int>(rank);
  }

  Rounds read(const std::string& text) {
    for (const auto& line : split(text, '\n')) {
      ++line_;
      std::set<int> taken;
      Round round;
      std::istringstream groups(line);
      for (std::string word; groups >> word;) {
        auto members = members_of(word, taken);
        if (members.size() >= 2) round.push_back(std::move(members));
      }
      if (!round.empty()) found_.rounds.push_back(std::move(round));
    }
    if (found_.rounds.empty()) {
      throw usage("--rounds: no group of two or more that are here is in the file",
                  "a round a line, a group a word: n1,n2,n3 n4,n5,n6");
    }
    return std::move(found_);
  }

 private:
  std::vector<int> members_of(const std::string& word, std::set<int>& taken) {
    std::vector<int> members;
    for (const auto& name : split(word, ',')) {
      const int rank = rank_of(name);
      if (rank < 0) continue;
      if (!taken.insert(rank).second) {
        throw usage("--rounds, line " + std::to_string(line_) + ": " + places_[static_cast<std::size_t>(rank)] +
                        " is in it twice",
                    "the groups of a round measure at the same time: name each member once");
      }
      members.push_back(rank);
    }
    return members;
  }

  int rank_of(const std::string& name) {
    if (const auto found = rank_of_.find(name); found != rank_of_.end()) return found->second;
    if (numbers_ == Numbers::are_ranks && is_number(name)) {
      const int rank = std::stoi(name);
      if (rank < static_cast<int>(places_.size())) return rank;
      throw usage("--rounds, line " + std::to_string(line_) + ": there are ranks 0 to " +
                  std::to_string(places_.size() - 1) + ", not " + name);
    }
    if (std::find(found_.absent.begin(), found_.absent.end(), name) == found_.absent.end()) {
      found_.absent.push_back(name);
    }
    return -1;
  }

  const std::vector<std::string>& places_;
  Numbers numbers_;
  std::map<std::string, int> rank_of_;
  Rounds found_;
  int line_ = 0;
};

}  // namespace

std::vector<std::string> place_names(const std::vector<std::string>& hosts) {
  std::map<std::string, int> ranks_of;
  for (const auto& host : hosts) ++ranks_of[host];
  std::map<std::string, int> next;
  std::vector<std::string> names;
  names.reserve(hosts.size());
  for (const auto& host : hosts) {
    names.push_back(ranks_of[host] > 1 ? host + ':' + std::to_string(next[host]++) : host);
  }
  return names;
}

Rounds parse_rounds(const std::string& text, const std::vector<std::string>& places, Numbers numbers) {
  return Reader(places, numbers).read(text);
}

}  // namespace shakedown
