#pragma once
#include <string>

namespace mgemm {

/// Which build of the driver's library this is. cuDriverGetVersion only says which CUDA it supports.
struct DriverBuild {
  std::string version;   // of the mapped file's name: "580.95.05" for libcuda.so.580.95.05; "" if it has none
  std::string build_id;  // the linker's; "" if there is none, or the file is gone
};

/// `function` is one of the driver's.
DriverBuild build_of_driver(const void* function);

}  // namespace mgemm
