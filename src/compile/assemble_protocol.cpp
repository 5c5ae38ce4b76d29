#include "compile/assemble_protocol.hpp"

namespace mgemm {
namespace {

constexpr std::size_t least_text_bytes = 8;  // its length

NvrtcVersion read_version(BodyReader& reader) {
  const std::uint64_t major = reader.number();
  const std::uint64_t minor = reader.number();
  return {static_cast<int>(major), static_cast<int>(minor)};
}

void write_version(BodyWriter& writer, const NvrtcVersion& version) {
  writer.number(static_cast<std::uint64_t>(version.major)).number(static_cast<std::uint64_t>(version.minor));
}

/// What a helper may report; anything else of its own is a failed compile.
Status status_of(std::uint64_t number) {
  for (const Status status : {MGEMM_OK, MGEMM_UNSUPPORTED, MGEMM_OUT_OF_MEMORY}) {
    if (number == static_cast<std::uint64_t>(status)) return status;
  }
  return MGEMM_COMPILE;
}

}  // namespace

std::string encode_request(const AssembleRequest& request) {
  BodyWriter writer;
  const CompileRequest& module = request.module;
  writer.text(module.name).text(module.text).number(module.headers.size());
  for (const EmbeddedFile& header : module.headers) writer.text(header.name).text(header.text);
  writer.text(module.target).number(request.options.size());
  for (const std::string& option : request.options) writer.text(option);
  writer.text(request.nvrtc.path).text(request.nvrtc.builtins);
  write_version(writer, request.nvrtc.version);
  return seal_frame(request_kind, writer.body());
}

std::optional<DecodedRequest> decode_request(std::string_view bytes) {
  const OpenedFrame frame = open_frame(request_kind, bytes, most_request_bytes);
  if (!frame.problem.empty()) return std::nullopt;
  BodyReader reader(frame.body);
  DecodedRequest decoded;
  CompileRequest& module = decoded.request.module;
  module.name = reader.text();
  module.text = reader.text();
  for (std::size_t left = reader.count(2 * least_text_bytes); left > 0; --left) {
    const std::string_view name = reader.text();
    decoded.headers.push_back({name, reader.text()});
  }
  module.target = reader.text();
  for (std::size_t left = reader.count(least_text_bytes); left > 0; --left) {
    decoded.request.options.emplace_back(reader.text());
  }
  decoded.request.nvrtc.path = reader.text();
  decoded.request.nvrtc.builtins = reader.text();
  decoded.request.nvrtc.version = read_version(reader);
  if (!reader.finished()) return std::nullopt;
  module.headers = decoded.headers;  // a moved vector keeps its elements where they are
  return decoded;
}

std::string encode_response(const AssembleResponse& response) {
  BodyWriter writer;
  writer.number(static_cast<std::uint64_t>(response.status));
  write_version(writer, response.version);
  writer.text(response.log).text(response.code);
  return seal_frame(response_kind, writer.body());
}

std::optional<AssembleResponse> decode_response(std::string_view bytes, std::size_t limit, std::string& problem) {
  const OpenedFrame frame = open_frame(response_kind, bytes, limit);
  problem = frame.problem;
  if (!problem.empty()) return std::nullopt;
  BodyReader reader(frame.body);
  AssembleResponse response;
  response.status = status_of(reader.number());
  response.version = read_version(reader);
  response.log = reader.text();
  response.code = reader.text();
  if (reader.finished()) return response;
  problem = "does not hold the fields it should";
  return std::nullopt;
}

}  // namespace mgemm
