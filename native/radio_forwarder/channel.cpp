#include "channel.hpp"

namespace shakedown::radio_forwarder {

Channel parse_channel(Args& args) {
  Channel channel;
  Waveform& waveform = channel.waveform;
  waveform.modulation = parse_modulation(args.text(
      "modulation", "psk", "psk (BPSK or QPSK in white noise), logistic or threshold: how snr becomes reception"));
  waveform.bandwidth_hz = args.real("bandwidth-hz", 1e6, 1, "of the noise that snr counts", 1e12);
  waveform.rate_bit_s = args.real("rate-bit-s", 1e6, 1, "of the bits on air", 1e12);
  waveform.coding_gain_db = args.real("coding-gain-db", 0, -100, "psk: added to the energy of a bit", 100);
  waveform.snr_half_db =
      args.real("snr-half-db", 10, -200, "logistic, threshold: snr at which half, or all, comes", 200);
  waveform.slope_db = args.real("slope-db", 1, 1e-3, "logistic: how far snr lies from half to e to 1", 100);
  channel.serialise = !args.flag("no-serialise", "frames of a node leave at once, not one after another at its rate");
  channel.overhead_s = 1e-6 * args.real("overhead-us", 0, 0, "time on air of each frame besides its bits", 1e9);
  channel.delay_ns = static_cast<std::int64_t>(1e3 * args.real("delay-us", 0, 0, "added to each frame's way", 1e9));
  channel.latest_ns = static_cast<std::int64_t>(
      1e6 *
      args.real("latest-ms", 0, 0, "frames that would be written so much behind their time are lost; 0: none", 1e9));
  channel.queue_frames = static_cast<std::size_t>(
      args.integer("queue", 64, 1, "frames that wait at a transmitter or are on air", 1 << 20));
  channel.collisions =
      args.flag("collisions", "transmissions that overlap at a receiver are lost; a node that sends is deaf");
  channel.seed = static_cast<std::uint64_t>(args.integer("seed", 1, 0, "of the random numbers"));
  if (channel.collisions && !channel.serialise) {
    throw usage("--collisions and --no-serialise do not fit: a frame that takes no time overlaps none");
  }
  return channel;
}

}  // namespace shakedown::radio_forwarder
