#pragma once
#include "device/device.hpp"

namespace mgemm {

mgemm_device_info to_c(const DeviceFacts& facts);

}  // namespace mgemm
