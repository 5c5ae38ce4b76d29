#include "device/driver_build.hpp"

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/mappings.hpp"
#include "compile/file_stamp.hpp"

namespace mgemm {

DriverBuild build_of_driver(const void* function) {
  constexpr std::string_view prefix = "libcuda.so.";
  const std::vector<Mapping> all = mappings();
  const Mapping* const mapping = mapping_of(all, function);
  if (mapping == nullptr) return {};
  DriverBuild build;
  const std::string name = std::filesystem::path(mapping->path).filename().string();
  if (name.starts_with(prefix)) build.version = name.substr(prefix.size());
  if (mapping->deleted) return build;
  try {
    build.build_id = stamp_file(mapping->path).build_id;
  } catch (const Error&) {
    build.build_id.clear();
  }
  return build;
}

}  // namespace mgemm
