#include "session.hpp"

#include <functional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/error.hpp"
#include "coverage.hpp"
#include "explain.hpp"
#include "frames.hpp"
#include "network.hpp"

namespace shakedown::radio {
namespace {

constexpr std::size_t kMostSide = 100'000;  // cells of a picture

template <class T>
Bytes bytes_of(const T& numbers) {
  return std::as_bytes(std::span(numbers));
}

class Session {
 public:
  Session(int replies, Team& team, const Finder& finder)
      : replies_(replies), team_(team), finder_(finder), network_(team, finder) {}

  void answer(const Request& request) {
    const std::string& op = request.text("op");
    const double begin = now_s();
    begin_s_ = begin;
    if (op == "place") return place(request);
    if (op == "move") return move(request);
    if (op == "losses") return losses();
    if (op == "links") return pairs(network_.links(limit(request, "below_db")));
    if (op == "changes") {
      return pairs(network_.changes(limit(request, "above_db"), limit(request, "below_db")));
    }
    if (op == "explain") return explain_link(request);
    if (op == "coverage") return picture(request);
    throw usage("a request has the unknown op '" + op + "'", "see native/radio_engine/README.md");
  }

 private:
  static float limit(const Request& request, const std::string& name) { return static_cast<float>(request.real(name)); }

  [[nodiscard]] Object timed() const { return Object().add("seconds", now_s() - begin_s_); }

  /// Latitudes, longitudes and heights, `count` of each, from `offset` on.
  [[nodiscard]] std::vector<Station> stations(const Request& request, std::size_t offset, std::size_t count) const {
    const auto latitude = request.numbers<double>(offset, count);
    const auto longitude = request.numbers<double>(offset + count * sizeof(double), count);
    const auto height = request.numbers<double>(offset + 2 * count * sizeof(double), count);
    std::vector<Station> found(count);
    for (std::size_t at = 0; at < count; ++at) {
      found[at] = finder_.station(latitude[at], longitude[at], height[at]);
    }
    return found;
  }

  void reply_standings(const std::vector<Station>& stations) const {
    std::vector<Standing> standings;
    standings.reserve(stations.size());
    for (const Station& station : stations) standings.push_back(station.standing);
    const Bytes parts[] = {bytes_of(standings)};
    write_reply(replies_, timed(), parts);
  }

  void place(const Request& request) {
    const std::size_t count = request.count("count", kMostRadios);
    const std::vector<Station> all = stations(request, 0, count);
    network_.place(all);
    reply_standings(all);
  }

  void move(const Request& request) {
    const std::size_t count = request.count("count", kMostRadios);
    const auto index = request.numbers<std::uint32_t>(0, count);
    for (const std::uint32_t radio : index) {
      if (radio >= network_.count()) {
        throw usage("radio " + std::to_string(radio) + " is not one of " + std::to_string(network_.count()),
                    "place the radios first");
      }
    }
    const std::vector<Station> moved = stations(request, count * sizeof(std::uint32_t), count);
    network_.move(index, moved);
    reply_standings(moved);
  }

  void losses() {
    const Bytes parts[] = {bytes_of(network_.losses())};
    write_reply(replies_, timed(), parts);
  }

  void pairs(const Pairs& found) const {
    const Bytes parts[] = {bytes_of(found.i), bytes_of(found.j), bytes_of(found.loss_db)};
    write_reply(replies_, timed().add("count", static_cast<std::uint64_t>(found.i.size())), parts);
  }

  void explain_link(const Request& request) const {
    const std::size_t i = request.count("i", kMostRadios), j = request.count("j", kMostRadios);
    if (i >= network_.count() || j >= network_.count() || i == j) {
      throw usage("there is no link between radios " + std::to_string(i) + " and " + std::to_string(j),
                  "give two of the " + std::to_string(network_.count()) + " that were placed");
    }
    const std::string text = to_json(explain(finder_, network_.station(i), network_.station(j)));
    const Bytes parts[] = {bytes_of(text)};
    write_reply(replies_, timed(), parts);
  }

  void picture(const Request& request) const {
    const Picture picture{request.count("rows", kMostSide), request.count("columns", kMostSide),
                          request.real("south_deg"),        request.real("west_deg"),
                          request.real("north_deg"),        request.real("east_deg"),
                          request.real("receiver_height_m")};
    const Station from =
        finder_.station(request.real("latitude_deg"), request.real("longitude_deg"), request.real("height_m"));
    if (from.standing != Standing::known) {
      throw usage(std::string("the place is ") + words_of(from.standing), "give a place on the map");
    }
    const auto found = coverage(team_, finder_, from, picture);
    const Bytes parts[] = {bytes_of(found)};
    write_reply(replies_, timed(), parts);
  }

  int replies_;
  Team& team_;
  const Finder& finder_;
  Network network_;
  double begin_s_ = 0;
};

}  // namespace

void serve_requests(int requests, int replies, Team& team, const Finder& finder) {
  Reader reader(requests);
  Session session(replies, team, finder);
  for (std::string line; reader.line(line);) {
    Request request(line);
    if (request.has("bytes")) {
      request.bytes.resize(request.count("bytes", kMostRequestBytes));
      reader.bytes(request.bytes);
    }
    try {
      session.answer(request);
    } catch (const Error& error) {
      write_refusal(replies, error.what(), error.code);
    }
  }
}

}  // namespace shakedown::radio
