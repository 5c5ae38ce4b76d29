#pragma once
#include "device/device.hpp"
#include "identity/identity.hpp"

namespace mgemm {

/// What of a device can matter for how a product is computed. Not which board it is: its UUID is reported apart. Of the
/// reference device only its profile matters.
Identity device_identity(const DeviceFacts& facts);

}  // namespace mgemm
