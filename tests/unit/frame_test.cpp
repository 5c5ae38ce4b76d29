#include "compile/frame.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compile/assemble_protocol.hpp"
#include "fake_cuda/fake_nvrtc.hpp"
#include "support/raises.hpp"
#include "support/test.hpp"

using mgemm::AssembleRequest;
using mgemm::EmbeddedFile;
using mgemm::FrameKind;
using mgemm::nvrtc_abi::Result;
using mgemm::test::error_of;

namespace {

constexpr FrameKind kind{"testtest", 3};
constexpr std::size_t limit = 1000;

constexpr std::array<EmbeddedFile, 2> headers{{{"a.cuh", {"with\0nul", 8}}, {"b.cuh", ""}}};

AssembleRequest request() {
  return {{"name", "text", headers, "sm_90a"}, {"--one", "", "--two"}, {"/lib/n.so", "", {13, 1}, "/lib/b.so", ""}};
}

}  // namespace

// Catches: a damaged, cut or foreign frame that passes.
TEST_CASE("frame: whole or refused") {
  const std::string frame = mgemm::seal_frame(kind, "body");
  CHECK(mgemm::open_frame(kind, frame, limit).body == "body");
  CHECK(mgemm::open_frame(kind, frame, limit).problem.empty());
  CHECK(mgemm::open_frame(kind, mgemm::seal_frame(kind, ""), limit).problem.empty());
  for (std::size_t size = 0; size < frame.size(); ++size) {
    CHECK(!mgemm::open_frame(kind, frame.substr(0, size), limit).problem.empty());
  }
  for (std::size_t bit = 0; bit < 8 * frame.size(); ++bit) {
    std::string damaged = frame;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    CHECK(!mgemm::open_frame(kind, damaged, limit).problem.empty());
  }
  CHECK(!mgemm::open_frame(kind, frame + "x", limit).problem.empty());
  CHECK(!mgemm::open_frame({"otherone", 3}, frame, limit).problem.empty());
  CHECK(!mgemm::open_frame(kind, frame, frame.size() - 1).problem.empty());
  CHECK(!mgemm::open_frame(kind, frame, 10).problem.empty());
  CHECK(mgemm::open_frame(kind, frame, frame.size()).problem.empty());
}

// Catches: a reader that waits for what never comes, stops before the end, or believes a huge length.
TEST_CASE("frame: how much to read") {
  const std::string frame = mgemm::seal_frame(kind, std::string(100, 'b'));
  for (std::size_t size = 0; size <= frame.size(); ++size) {
    CHECK(mgemm::frame_bytes_wanted(kind, frame.substr(0, size), limit) == (size < 20 ? 20 : frame.size()));
  }
  CHECK(mgemm::frame_bytes_wanted(kind, "tesX", limit) == 4);
  CHECK(mgemm::frame_bytes_wanted(kind, frame.substr(0, 30), frame.size() - 1) == 30);
  std::string huge = frame.substr(0, 20);
  for (std::size_t at = 12; at < 20; ++at) huge[at] = '\xff';
  CHECK(mgemm::frame_bytes_wanted(kind, huge, SIZE_MAX) == 20);
}

// Catches: a length inside the body that is believed.
TEST_CASE("frame: bodies that lie about themselves") {
  mgemm::BodyWriter writer;
  writer.number(7).text("text").number(UINT64_MAX);
  mgemm::BodyReader reader(writer.body());
  CHECK(reader.number() == 7);
  CHECK(reader.text() == "text");
  CHECK(reader.good());
  CHECK(!reader.finished());
  CHECK(reader.count(8) == 0);
  CHECK(!reader.good());
  CHECK(reader.number() == 0);
  CHECK(reader.text().empty());
  CHECK(!reader.finished());
}

// Catches: a field that does not arrive, arrives in another order or is cut at a NUL.
TEST_CASE("assemble protocol: request and response there and back") {
  const std::string bytes = mgemm::encode_request(request());
  const auto decoded = mgemm::decode_request(bytes);
  REQUIRE(decoded);
  const AssembleRequest& got = decoded->request;
  CHECK(got.module.name == "name");
  CHECK(got.module.text == "text");
  CHECK(got.module.target == "sm_90a");
  REQUIRE(got.module.headers.size() == 2);
  CHECK(got.module.headers[0].name == "a.cuh");
  CHECK(got.module.headers[0].text == std::string_view("with\0nul", 8));
  CHECK(got.module.headers[1].name == "b.cuh");
  CHECK(got.options == std::vector<std::string>{"--one", "", "--two"});
  CHECK(got.nvrtc.path == "/lib/n.so");
  CHECK(got.nvrtc.builtins == "/lib/b.so");
  CHECK(got.nvrtc.version == mgemm::NvrtcVersion{13, 1});
  CHECK(mgemm::encode_request(got) == bytes);

  // Every truncation of the body too, which no SHA-256 tells.
  const std::string_view body = mgemm::open_frame(mgemm::request_kind, bytes, bytes.size()).body;
  for (std::size_t size = 0; size < body.size(); ++size) {
    CHECK(!mgemm::decode_request(mgemm::seal_frame(mgemm::request_kind, body.substr(0, size))));
  }
  CHECK(!mgemm::decode_request(mgemm::seal_frame(mgemm::request_kind, std::string(body) + "x")));

  const std::string response = mgemm::encode_response({MGEMM_UNSUPPORTED, {12, 9}, "log", {"co\0de", 5}});
  std::string problem;
  const auto answer = mgemm::decode_response(response, limit, problem);
  REQUIRE(answer);
  CHECK(problem.empty());
  CHECK(answer->status == MGEMM_UNSUPPORTED);
  CHECK(answer->version == mgemm::NvrtcVersion{12, 9});
  CHECK(answer->log == "log");
  CHECK(answer->code == std::string_view("co\0de", 5));
  const std::string_view inner = mgemm::open_frame(mgemm::response_kind, response, limit).body;
  for (std::size_t size = 0; size < inner.size(); ++size) {
    CHECK(!mgemm::decode_response(mgemm::seal_frame(mgemm::response_kind, inner.substr(0, size)), limit, problem));
    CHECK(!problem.empty());
  }
}

// Catches: a status a helper has no business to report, such as a lost device.
TEST_CASE("assemble protocol: a foreign status is a failed compile") {
  std::string problem;
  for (const mgemm::Status status : std::array<mgemm::Status, 3>{MGEMM_DEVICE_LOST, MGEMM_NO_DEVICE, 12345}) {
    const auto answer = mgemm::decode_response(mgemm::encode_response({status, {}, "", ""}), limit, problem);
    REQUIRE(answer);
    CHECK(answer->status == MGEMM_COMPILE);
  }
}

// Catches: the NUL at the end of an image cut off, options of the library's own instead of the request's.
TEST_CASE("compiler: machine code byte for byte, with exactly the options given") {
  mgemm::fake::Nvrtc fake;
  const mgemm::NvrtcTable& nvrtc = mgemm::fake::Nvrtc::table();
  CHECK(mgemm::machine_target("compute_90a") == "sm_90a");
  CHECK(error_of([] { mgemm::machine_target("sm_90a"); }).status() == MGEMM_INTERNAL);
  const mgemm::CompileRequest module{"m", "extern \"C\" __global__ void k() {}", {}, "sm_90a"};
  const std::vector<std::string> options{"--z", "--gpu-architecture=sm_90a", "--a"};
  const mgemm::MachineCode made = mgemm::compile_to_machine_code(nvrtc, module, options);
  CHECK(made.code.starts_with("\177ELF"));
  CHECK(made.code.back() == '\0');
  REQUIRE(fake.compiles().size() == 1);
  CHECK(fake.compiles()[0].options == options);

  CHECK(error_of([&] { mgemm::compile_to_machine_code(nvrtc, module, {"--gpu-architecture=compute_90a"}); }).status() ==
        MGEMM_COMPILE);
  for (const char* call : {"nvrtcGetCUBINSize", "nvrtcGetCUBIN"}) {
    fake.fail_nth(call, 1, Result::InternalError);
    CHECK(error_of([&] { mgemm::compile_to_machine_code(nvrtc, module, options); }).status() == MGEMM_COMPILE);
  }
  mgemm::NvrtcTable without = nvrtc;
  without.nvrtcGetCUBIN = nullptr;
  CHECK(error_of([&] { mgemm::compile_to_machine_code(without, module, options); }).status() == MGEMM_UNSUPPORTED);
  CHECK(fake.live_programs() == 0);
}
