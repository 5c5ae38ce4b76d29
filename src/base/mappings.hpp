#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mgemm {

/// A line of /proc/self/maps that has a path.
struct Mapping {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  std::string file;      // device and inode
  std::string path;      // as it was when it was mapped; links resolved
  bool deleted = false;  // no longer there
};

/// What is mapped into this process from files.
std::vector<Mapping> mappings();

/// The one that an address lies in; nullptr if none.
const Mapping* mapping_of(std::span<const Mapping> all, const void* address);

}  // namespace mgemm
