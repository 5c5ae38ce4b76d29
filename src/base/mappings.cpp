#include "base/mappings.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <utility>

namespace mgemm {
namespace {

constexpr std::string_view deleted_mark = " (deleted)";

Mapping parse(const std::string& line) {
  // start-end permissions offset device inode path
  Mapping mapping;
  const char* const last = line.data() + line.size();
  const char* const dash = std::from_chars(line.data(), last, mapping.start, 16).ptr;
  if (dash != last) std::from_chars(dash + 1, last, mapping.end, 16);
  std::size_t field = 0;
  for (int skipped = 0; skipped < 3 && field != std::string::npos; ++skipped) {
    field = line.find(' ', field);
    if (field != std::string::npos) ++field;
  }
  const std::size_t path = line.find('/');
  if (field == std::string::npos || path == std::string::npos || path < field) return mapping;
  mapping.file = line.substr(field, line.find_last_not_of(' ', path - 1) + 1 - field);
  mapping.path = line.substr(path);
  mapping.deleted = mapping.path.ends_with(deleted_mark);
  if (mapping.deleted) mapping.path.resize(mapping.path.size() - deleted_mark.size());
  return mapping;
}

}  // namespace

std::vector<Mapping> mappings() {
  std::vector<Mapping> result;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (Mapping mapping = parse(line); !mapping.path.empty()) result.push_back(std::move(mapping));
  }
  return result;
}

const Mapping* mapping_of(std::span<const Mapping> all, const void* address) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const auto found = std::ranges::find_if(
      all, [place](const Mapping& mapping) { return mapping.start <= place && place < mapping.end; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace mgemm
