#include "manifest.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "coding/coding.hpp"
#include "include/shakedown/checkpoint.h"

namespace shakedown::checkpoint {
namespace {

constexpr std::string_view kManifestMagic = "SHKDCKPT";
constexpr std::string_view kCommitMagic = "SHKDCOMM";
constexpr std::size_t kChecksumBytes = 4;
constexpr std::uint64_t kMostVolume = std::uint64_t{1} << 62;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

Packer begun(std::string_view magic) {
  Packer packer;
  packer.raw(bytes_of(magic));
  packer.u32(kFormat);
  return packer;
}

Bytes sealed(Packer& packer) {
  packer.u32(coding::crc32c(packer.bytes().data(), packer.bytes().size()));
  return packer.take();
}

/// What lies between the head and the checksum, or nothing with the reason.
std::optional<std::span<const std::uint8_t>> opened(std::span<const std::uint8_t> bytes, std::string_view magic,
                                                    std::string& why) {
  const std::size_t head = magic.size() + 4;
  why = "it is not whole";
  if (bytes.size() < head + kChecksumBytes) return std::nullopt;
  if (!std::equal(magic.begin(), magic.end(), bytes.begin())) {
    why = "it is not a file of this library";
    return std::nullopt;
  }
  Unpacker end(bytes.last(kChecksumBytes));
  if (end.u32() != coding::crc32c(bytes.data(), bytes.size() - kChecksumBytes)) {
    why = "its checksum is wrong";
    return std::nullopt;
  }
  Unpacker version(bytes.subspan(magic.size(), 4));
  const std::uint32_t format = version.u32();
  if (format != kFormat) {
    why = "it has format " + std::to_string(format) + ", this library reads format " + std::to_string(kFormat);
    return std::nullopt;
  }
  why.clear();
  return bytes.subspan(head, bytes.size() - head - kChecksumBytes);
}

void pack_shape(Packer& packer, const std::vector<std::uint64_t>& shape) {
  packer.u8(static_cast<std::uint8_t>(shape.size()));
  for (const std::uint64_t length : shape) packer.u64(length);
}

std::vector<std::uint64_t> unpack_shape(Unpacker& from) {
  std::vector<std::uint64_t> shape(from.u8());
  for (std::uint64_t& length : shape) length = from.u64();
  return shape;
}

Region unpack_region(Unpacker& from) {
  Region region;
  region.name = from.text();
  region.type = from.number();
  region.box.local = unpack_shape(from);
  region.box.global = unpack_shape(from);
  region.box.offset = unpack_shape(from);
  region.at = from.u64();
  region.bytes = from.u64();
  return region;
}

/// Whether what a manifest says holds together, so that whoever reads the data by it stays inside of them.
bool consistent(const Manifest& manifest) {
  if (manifest.rank < 0 || manifest.rank >= manifest.ranks) return false;
  if (manifest.data_bytes > kMostVolume) return false;
  if (manifest.kind != Kind::kParity && manifest.checksums.size() != blocks_of(manifest.data_bytes)) return false;
  if (manifest.level < SHAKEDOWN_CKPT_LOCAL || manifest.level > SHAKEDOWN_CKPT_GLOBAL) return false;
  const bool regions_fit = std::all_of(manifest.regions.begin(), manifest.regions.end(), [&](const Region& region) {
    const auto elements = volume(region.box.local);
    const std::size_t dimensions = region.box.local.size();
    const bool shaped = region.box.global.empty()
                            ? region.box.offset.empty()
                            : region.box.global.size() == dimensions && region.box.offset.size() == dimensions;
    const std::uint64_t each = element_bytes(region.type);
    return shaped && elements && each > 0 && *elements <= manifest.data_bytes / each &&
           region.bytes == *elements * each && region.at <= manifest.data_bytes - region.bytes;
  });
  if (!regions_fit) return false;
  if (manifest.kind != Kind::kParity) return true;
  const auto group = static_cast<int>(manifest.members.size());
  return manifest.losses >= 1 && manifest.losses < group &&
         coding::valid_code(group - manifest.losses, manifest.losses) &&
         manifest.member_manifests.size() == manifest.members.size();
}

}  // namespace

ByteOrder own_byte_order() { return std::endian::native == std::endian::little ? ByteOrder::kLittle : ByteOrder::kBig; }

std::uint64_t blocks_of(std::uint64_t bytes) { return bytes / kBlockBytes + (bytes % kBlockBytes != 0 ? 1 : 0); }

std::uint64_t block_bytes(std::uint64_t data_bytes, std::uint64_t index) {
  const std::uint64_t begin = index * kBlockBytes;
  return begin >= data_bytes ? 0 : std::min<std::uint64_t>(kBlockBytes, data_bytes - begin);
}

Bytes encode_manifest(const Manifest& manifest) {
  Packer packer = begun(kManifestMagic);
  packer.u8(static_cast<std::uint8_t>(manifest.kind));
  packer.raw(manifest.run);
  packer.real(manifest.run_began);
  packer.u64(manifest.generation);
  packer.u8(static_cast<std::uint8_t>(manifest.level));
  packer.u32(static_cast<std::uint32_t>(manifest.rank));
  packer.u32(static_cast<std::uint32_t>(manifest.ranks));
  packer.real(manifest.unix_seconds);
  packer.u8(static_cast<std::uint8_t>(manifest.byte_order));
  packer.u64(manifest.data_bytes);
  packer.u64(manifest.checksums.size());
  for (const std::uint32_t checksum : manifest.checksums) packer.u32(checksum);
  packer.u64(manifest.regions.size());
  for (const Region& region : manifest.regions) {
    packer.text(region.name);
    packer.u32(static_cast<std::uint32_t>(region.type));
    pack_shape(packer, region.box.local);
    pack_shape(packer, region.box.global);
    pack_shape(packer, region.box.offset);
    packer.u64(region.at);
    packer.u64(region.bytes);
  }
  packer.u32(static_cast<std::uint32_t>(manifest.losses));
  packer.u64(manifest.members.size());
  for (const int member : manifest.members) packer.u32(static_cast<std::uint32_t>(member));
  packer.u64(manifest.member_manifests.size());
  for (const Bytes& member : manifest.member_manifests) packer.block(member);
  return sealed(packer);
}

std::optional<Manifest> decode_manifest(std::span<const std::uint8_t> bytes, std::string& why) {
  const auto body = opened(bytes, kManifestMagic, why);
  if (!body) return std::nullopt;
  Unpacker from(*body);
  Manifest manifest;
  manifest.kind = static_cast<Kind>(from.u8());
  from.raw(manifest.run);
  manifest.run_began = from.real();
  manifest.generation = from.u64();
  manifest.level = from.u8();
  manifest.rank = from.number();
  manifest.ranks = from.number();
  manifest.unix_seconds = from.real();
  manifest.byte_order = static_cast<ByteOrder>(from.u8());
  manifest.data_bytes = from.u64();
  manifest.checksums.resize(from.count(4));
  for (std::uint32_t& checksum : manifest.checksums) checksum = from.u32();
  const std::size_t regions = from.count(24);
  manifest.regions.reserve(regions);
  for (std::size_t at = 0; at < regions && from.sound(); ++at) manifest.regions.push_back(unpack_region(from));
  manifest.losses = from.number();
  manifest.members.resize(from.count(4));
  for (int& member : manifest.members) member = from.number();
  const std::size_t members = from.count(8);
  manifest.member_manifests.reserve(members);
  for (std::size_t at = 0; at < members && from.sound(); ++at) manifest.member_manifests.push_back(from.block());
  const bool known = manifest.kind == Kind::kRank || manifest.kind == Kind::kCopy || manifest.kind == Kind::kParity;
  if (!from.sound() || from.left() != 0 || !known || !(manifest.run_began >= 0) || !consistent(manifest)) {
    why = "it contradicts itself";
    return std::nullopt;
  }
  return manifest;
}

Bytes encode_commit(const Commit& commit) {
  Packer packer = begun(kCommitMagic);
  packer.raw(commit.run);
  packer.u64(commit.generation);
  packer.u8(static_cast<std::uint8_t>(commit.level));
  packer.u32(static_cast<std::uint32_t>(commit.ranks));
  packer.real(commit.unix_seconds);
  return sealed(packer);
}

std::optional<Commit> decode_commit(std::span<const std::uint8_t> bytes, std::string& why) {
  const auto body = opened(bytes, kCommitMagic, why);
  if (!body) return std::nullopt;
  Unpacker from(*body);
  Commit commit;
  from.raw(commit.run);
  commit.generation = from.u64();
  commit.level = from.u8();
  commit.ranks = from.number();
  commit.unix_seconds = from.real();
  if (!from.sound() || from.left() != 0) {
    why = "it contradicts itself";
    return std::nullopt;
  }
  return commit;
}

std::uint64_t element_bytes(int type) {
  static constexpr std::array<std::uint64_t, 15> kBytes = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 16};
  return type < 0 || static_cast<std::size_t>(type) >= kBytes.size() ? 0 : kBytes[static_cast<std::size_t>(type)];
}

std::optional<std::uint64_t> volume(const std::vector<std::uint64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::uint64_t product = 1;
  for (const std::uint64_t length : shape) {
    if (length > kMostVolume / product) return std::nullopt;
    product *= length;
  }
  return product;
}

}  // namespace shakedown::checkpoint
