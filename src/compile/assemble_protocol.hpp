#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "compile/compiler.hpp"
#include "compile/frame.hpp"

namespace mgemm {

// What the library and mamba-gemm-assemble say to each other: one request, one response, each a frame.

constexpr FrameKind request_kind{"mgemmasq", 1};
constexpr FrameKind response_kind{"mgemmasr", 1};
constexpr std::size_t most_request_bytes = std::size_t{64} << 20U;

struct AssembleRequest {
  CompileRequest module;             // its target is a machine's, for example "sm_90a"
  std::vector<std::string> options;  // in order, the target among them
  NvrtcCandidate nvrtc;              // absolute paths of library and builtins, and the version they must have
};

struct AssembleResponse {
  Status status = MGEMM_OK;
  NvrtcVersion version;
  std::string log;   // the compiler's, or what went wrong
  std::string code;  // an ELF image, if the status is MGEMM_OK
};

std::string encode_request(const AssembleRequest& request);

/// A request that owns what its headers point to.
struct DecodedRequest {
  AssembleRequest request;
  std::vector<EmbeddedFile> headers;  // into the bytes it was decoded from
};

/// nullopt if the bytes are not exactly one request. Its headers' texts lie in `bytes`.
std::optional<DecodedRequest> decode_request(std::string_view bytes);

std::string encode_response(const AssembleResponse& response);

/// The response, or in `problem` why the bytes are not exactly one of at most `limit` bytes.
std::optional<AssembleResponse> decode_response(std::string_view bytes, std::size_t limit, std::string& problem);

}  // namespace mgemm
