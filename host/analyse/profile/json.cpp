#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "host/analyse/profile/profile.hpp"
#include "microcode/base/hex.hpp"

namespace stopbit::profile {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kMostMaps = 1'024;    ///< Of a segment, in a file.
constexpr std::size_t kMaxPath = 128;       ///< Groups and sequences inside each other.
constexpr std::size_t kMaxParts = 100'000;  ///< Of a kind.
/// Sums of as many counts as fit a file stay inside 64 bits.
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 40;

// ---- Writing

std::string hash_text(std::uint64_t hash) {
  std::string out;
  append_hex(out, hash, 16);
  return out;
}

std::uint64_t bounded(std::uint64_t count) {
  return std::min(count, kMaxCount);
}

Json name_json(const Name& name) {
  Json out = {{"template", name.template_name}, {"id", name.template_id}};
  if (!name.template_space.empty()) out["namespace"] = name.template_space;
  out["path"] = name.path;
  if (name.occurrence != 0) out["occurrence"] = name.occurrence;
  return out;
}

Json segment_json(const Name& name, const SegmentCounts& counts, std::size_t most) {
  Json out = name_json(name);
  std::uint64_t other = counts.other;
  Json maps = Json::array();
  for (const MapCount& map : counts.maps) {
    if (maps.size() < most) {
      maps.push_back({{"map", map_text(map.map)}, {"count", bounded(map.count)}});
    } else {
      other += map.count;
    }
  }
  out["maps"] = std::move(maps);
  out["other"] = bounded(other);
  return out;
}

Json lengths_json(const std::map<Name, Lengths>& all) {
  Json out = Json::array();
  for (const auto& [name, lengths] : all) {
    Json row = name_json(name);
    Json list = Json::array();
    for (const auto& [length, count] : lengths) list.push_back({{"length", length}, {"count", bounded(count)}});
    row["lengths"] = std::move(list);
    out.push_back(std::move(row));
  }
  return out;
}

std::string text_of(const Profile& profile, std::size_t most, int indent) {
  Json out = {{"stopbit_profile", kVersion},
              {"layout_hash", hash_text(profile.layout_hash)},
              {"datagrams", bounded(profile.datagrams)},
              {"messages", bounded(profile.messages)},
              {"errors", bounded(profile.errors)}};
  Json segments = Json::array();
  for (const auto& [name, counts] : profile.segments) segments.push_back(segment_json(name, counts, most));
  out["segments"] = std::move(segments);
  out["sequences"] = lengths_json(profile.sequences);
  out["strings"] = lengths_json(profile.strings);
  return out.dump(indent, ' ', false, Json::error_handler_t::replace) + '\n';
}

// ---- Reading

using Parsed = nlohmann::json;  // its objects stay fast with any number of keys

/// Reads the value of a parsed file into a Profile. After the first fault everything gives defaults.
class Reader {
 public:
  Result<Profile> run(const Parsed& root) {
    Profile out;
    if (!root.is_object()) return Failure{"the profile is not a JSON object"};
    if (number(root, "", "stopbit_profile", kVersion) != kVersion) fail("/stopbit_profile", "expected 1");
    out.layout_hash = hash(root);
    out.datagrams = number(root, "", "datagrams", kMaxCount);
    out.messages = number(root, "", "messages", kMaxCount);
    out.errors = number(root, "", "errors", kMaxCount);
    each(root, "", "segments", kMaxParts, [&](const Parsed& row, const std::string& path) {
      const auto [place, is_new] = out.segments.emplace(name(row, path), segment(row, path));
      if (!is_new) fail(path, "this segment is given twice");
    });
    read_lengths(root, "sequences", out.sequences);
    read_lengths(root, "strings", out.strings);
    if (!error_.empty()) return Failure{error_};
    return out;
  }

 private:
  void fail(const std::string& path, std::string_view message) {
    if (error_.empty()) error_ = (path.empty() ? "/" : path) + ": " + std::string(message);
  }

  const Parsed* member(const Parsed& object, const std::string& path, const char* key) {
    if (!error_.empty()) return nullptr;
    if (!object.is_object()) {
      fail(path, "expected an object");
      return nullptr;
    }
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }

  /// 0 if it is not given.
  std::uint64_t number(const Parsed& object, const std::string& path, const char* key, std::uint64_t most) {
    const Parsed* value = member(object, path, key);
    if (value == nullptr) return 0;
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() > most) {
      fail(path + '/' + key, "expected a number from 0 to " + std::to_string(most));
      return 0;
    }
    return value->get<std::uint64_t>();
  }

  /// Empty if it is not given.
  std::string text(const Parsed& object, const std::string& path, const char* key) {
    const Parsed* value = member(object, path, key);
    if (value == nullptr) return {};
    if (!value->is_string()) fail(path + '/' + key, "expected a string");
    return value->is_string() ? value->get<std::string>() : std::string();
  }

  std::uint64_t hash(const Parsed& root) {
    const std::string digits = text(root, "", "layout_hash");
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 16 || error != std::errc{} || end != digits.data() + digits.size()) {
      fail("/layout_hash", "expected 16 hexadecimal digits");
    }
    return value;
  }

  template <class Function>
  void each(const Parsed& object, const std::string& path, const char* key, std::size_t most, Function function) {
    const Parsed* array = member(object, path, key);
    if (array == nullptr) return;
    if (!array->is_array() || array->size() > most) {
      return fail(path + '/' + key, "expected an array of at most " + std::to_string(most));
    }
    for (std::size_t i = 0; i < array->size() && error_.empty(); ++i) {
      function((*array)[i], path + '/' + key + '/' + std::to_string(i));
    }
  }

  Name name(const Parsed& row, const std::string& path) {
    constexpr std::uint64_t kMax32 = 0xFFFF'FFFF;
    Name out;
    out.template_id = static_cast<std::uint32_t>(number(row, path, "id", kMax32));
    out.template_name = text(row, path, "template");
    out.template_space = text(row, path, "namespace");
    out.occurrence = static_cast<std::uint32_t>(number(row, path, "occurrence", kMax32));
    each(row, path, "path", kMaxPath, [&](const Parsed& step, const std::string& at) {
      if (!step.is_string()) return fail(at, "expected a string");
      out.path.push_back(step.get<std::string>());
    });
    return out;
  }

  SegmentCounts segment(const Parsed& row, const std::string& path) {
    SegmentCounts out;
    std::set<std::uint64_t> known;
    each(row, path, "maps", kMaxParts, [&](const Parsed& entry, const std::string& at) {
      MapCount map;
      map.map = bits(text(entry, at, "map"), at + "/map");
      map.count = number(entry, at, "count", kMaxCount);
      if (!known.insert(map.map).second) fail(at, "this map is given twice");
      out.maps.push_back(map);
    });
    out.other = number(row, path, "other", kMaxCount);
    return out;
  }

  std::uint64_t bits(const std::string& digits, const std::string& path) {
    const bool good = !digits.empty() && digits.size() <= ProfileEntry::kMaxBits &&
                      digits.find_first_not_of("01") == std::string::npos;
    if (!good) fail(path, "expected a string of 0 and 1, at most " + std::to_string(ProfileEntry::kMaxBits) + " long");
    std::uint64_t map = 0;
    for (std::size_t i = 0; good && i < digits.size(); ++i) map |= std::uint64_t{digits[i] == '1'} << (63 - i);
    return map;
  }

  void read_lengths(const Parsed& root, const char* key, std::map<Name, Lengths>& out) {
    each(root, "", key, kMaxParts, [&](const Parsed& row, const std::string& path) {
      Lengths lengths;
      each(row, path, "lengths", kLongest + 1, [&](const Parsed& entry, const std::string& at) {
        const std::uint64_t length = number(entry, at, "length", kLongest);
        if (!lengths.emplace(length, number(entry, at, "count", kMaxCount)).second) {
          fail(at, "this length is given twice");
        }
      });
      if (!out.emplace(name(row, path), std::move(lengths)).second) fail(path, "this name is given twice");
    });
  }

  std::string error_;
};

}  // namespace

std::string to_json(const Profile& profile) {
  std::size_t most = kMostMaps;
  std::string text = text_of(profile, most, 1);
  for (; text.size() > kMaxFileBytes && most > 0; most /= 2) text = text_of(profile, most, -1);
  return text;
}

Result<Profile> from_json(std::string_view text) {
  constexpr int kMaxDepth = 8;
  if (text.size() > kMaxFileBytes) {
    return Failure{"the profile is longer than " + std::to_string(kMaxFileBytes) + " bytes"};
  }
  bool is_deep = false;
  const auto keep = [&](int depth, Parsed::parse_event_t /*event*/, Parsed& /*value*/) {
    is_deep = is_deep || depth > kMaxDepth;
    return depth <= kMaxDepth;
  };
  try {
    const Parsed root = Parsed::parse(text, keep);
    if (is_deep) return Failure{"the profile nests arrays and objects more than 8 deep"};
    return Reader().run(root);
  } catch (const Parsed::parse_error& error) {
    return Failure{"byte " + std::to_string(error.byte) + ": not JSON"};
  } catch (const Parsed::exception&) {
    return Failure{"a number is too large"};
  }
}

}  // namespace stopbit::profile
