#pragma once
#include <cstdint>
#include <string>

#include "device/driver_build.hpp"
#include "device/driver_table.hpp"

namespace mgemm {

/// What came of opening the driver once.
struct LoadedDriver {
  DriverTable table;
  Status status = MGEMM_NO_DEVICE;  // MGEMM_OK if the table may be used
  std::string reason;
  int code = 0;  // the driver's own, if it was a call of it that failed
  int version = 0;
  DriverBuild build;
  std::uint32_t fork_generation = 0;  // a child process cannot use what its parent initialised
};

/// Opens `library`, takes all functions at their fixed versions, and calls cuInit. Never throws for what it finds.
LoadedDriver load_driver(const char* library);

/// True in a child process of the one that initialised the driver.
bool inherited(const LoadedDriver& loaded);

}  // namespace mgemm
