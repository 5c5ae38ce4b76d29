#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace mgemm::cli::bench {

/// What NVML says of a board; where there is no NVML, or it does not answer, "" and 0.
class Board {
 public:
  explicit Board(const std::string& pci_bus_id);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  Board(Board&&) = delete;
  Board& operator=(Board&&) = delete;

  std::string driver_version() const;
  /// At this moment.
  std::uint32_t sm_mhz() const;
  std::uint32_t power_limit_w() const;

 private:
  struct Nvml;
  std::unique_ptr<Nvml> nvml_;
};

}  // namespace mgemm::cli::bench
