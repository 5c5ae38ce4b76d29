#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "bench/board.hpp"
#include "bench/cublaslt.hpp"
#include "bench/data.hpp"
#include "bench/driver.hpp"
#include "bench/measure.hpp"
#include "bench/report.hpp"
#include "device.hpp"
#include "mamba_gemm/mamba_gemm.hpp"

namespace mgemm::cli::bench {

/// A device ready for timing: the library's context and our stream on the same CUDA context, and cuBLAS if it takes
/// part.
class Session {
 public:
  /// `cublas` may be null; it must outlive the session.
  Session(const DeviceChoice& device, const CublasLt* cublas, std::uint64_t seed, std::int32_t windows);

  mamba_gemm::Context& context() { return context_; }
  const WorkStream& stream() const { return stream_; }
  const Stopwatch& stopwatch() const { return stopwatch_; }
  const Board& board() const { return board_; }
  /// Null without cuBLAS.
  const CublasSession* cublas() const { return cublas_.get(); }
  std::int32_t windows() const { return windows_; }
  /// Made when first asked for.
  const Pool& pool(std::int32_t type);
  /// Milliseconds: long for the first cell, which finds low clocks.
  double take_warm_up();

  Header header();

 private:
  mamba_gemm::Context context_;  // first, for its errors are the clearest
  Driver driver_;
  PrimaryContext primary_;
  WorkStream stream_;
  Stopwatch stopwatch_;
  Board board_;
  mamba_gemm::Buffer workspace_;
  std::unique_ptr<CublasSession> cublas_;
  std::map<std::int32_t, Pool> pools_;
  std::uint64_t seed_;
  std::int32_t windows_;
  bool is_warm_ = false;
};

/// Compares both outputs of a problem and times them. What keeps the cell from being timed stands in its `error`,
/// unless nothing more can be done on the device.
Cell time_cell(Session& session, const std::string& problem);

}  // namespace mgemm::cli::bench
