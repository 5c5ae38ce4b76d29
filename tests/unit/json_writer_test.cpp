// JSON text that is written without a tree, compared with nlohmann's writer and parser.
#include "base/json_writer.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "support/random.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
using nlohmann::json;

std::string written(std::string_view raw) {
  std::string text;
  JsonWriter(text).value(raw);
  return text;
}

std::string expected(const std::string& raw) { return json(raw).dump(-1, ' ', false, json::error_handler_t::replace); }

std::string random_pick(Random& random, const auto& choices) {
  return std::string(
      choices.at(static_cast<size_t>(uniform(random, 0, static_cast<std::int64_t>(choices.size()) - 1))));
}

constexpr std::array<std::string_view, 14> characters{"a",
                                                      "\"",
                                                      "\\",
                                                      "/",
                                                      "\n",
                                                      "\x7f",
                                                      "\xc2\x80",
                                                      "\xdf\xbf",
                                                      "\xe0\xa0\x80",
                                                      "\xed\x9f\xbf",
                                                      "\xee\x80\x80",
                                                      "\xef\xbf\xbf",
                                                      "\xf0\x90\x80\x80",
                                                      "\xf4\x8f\xbf\xbf"};

constexpr std::array<std::string_view, 22> invalid{"\x80",
                                                   "\xbf",
                                                   "\xfe",
                                                   "\xff",
                                                   "\xc0\x80",
                                                   "\xc1\xbf",  // no first byte of a character
                                                   "\xe0\x80\x80",
                                                   "\xe0\x9f\xbf",
                                                   "\xf0\x80\x80\x80",
                                                   "\xf0\x8f\xbf\xbf",  // overlong
                                                   "\xed\xa0\x80",
                                                   "\xed\xbf\xbf",
                                                   "\xed\xa0\x80\xed\xb0\x80",  // surrogates
                                                   "\xf4\x90\x80\x80",
                                                   "\xf5\x80\x80\x80",
                                                   "\xf8\x88\x80\x80\x80",
                                                   "\xfc\x84",  // beyond U+10FFFF
                                                   "\xc3",
                                                   "\xe2\x82",
                                                   "\xf0\x9f\x98",
                                                   "\xf0\x9f",
                                                   "\xe2"};  // truncated

}  // namespace

// Catches a control character, quote or backslash that is not escaped, or is in another way than JSON's.
TEST_CASE("every byte is written as a parser reads it back", "[json]") {
  for (int byte = 0; byte < 0x80; ++byte) {
    const std::string raw{'x', static_cast<char>(byte), 'y'};
    CAPTURE(byte);
    CHECK(written(raw) == expected(raw));
    CHECK(json::parse(written(raw)) == raw);
  }
}

// Catches an invalid form that gets through, and one that takes valid bytes beside it away.
TEST_CASE("what is not UTF-8 becomes U+FFFD and nothing else does", "[json]") {
  for (const std::string_view bad : invalid) {
    for (const std::string_view before : characters) {
      for (const std::string_view after : {std::string_view(), std::string_view("z"), bad}) {
        const std::string raw = std::string(before) + std::string(bad) + std::string(after);
        CHECK(written(raw) == expected(raw));
      }
    }
    CHECK(written(bad).find("\xef\xbf\xbd") != std::string::npos);
  }
}

// The same for what nobody thought of.
TEST_CASE("random strings are written as nlohmann writes them", "[json]") {
  Random random(fresh_seed());
  for (int round = 0; round < 20000; ++round) {
    std::string raw;
    bool is_valid = true;
    for (std::int64_t part = uniform(random, 0, 12); part > 0; --part) {
      switch (uniform(random, 0, 5)) {
        case 0:
          raw += random_pick(random, invalid);
          is_valid = false;
          break;
        case 1:
          raw += static_cast<char>(uniform(random, 0, 255));
          is_valid = is_valid && static_cast<unsigned char>(raw.back()) < 0x80;
          break;
        case 2:
          raw += static_cast<char>(uniform(random, 0, 0x1f));
          break;
        default:
          raw += random_pick(random, characters);
      }
    }
    const std::string text = written(raw);
    REQUIRE(text == expected(raw));
    if (is_valid) REQUIRE(json::parse(text) == raw);
  }
}

// Catches a comma too many or too few, a lost sign, and a number that passes through a double.
TEST_CASE("objects, arrays and numbers nest", "[json]") {
  std::string text = "before ";
  JsonWriter writer(text);
  writer.object([&] {
    writer.member("least", std::numeric_limits<std::int64_t>::min());
    writer.member("most", std::numeric_limits<std::uint64_t>::max());
    writer.member("small", std::uint8_t{7});
    writer.member("yes", true);
    writer.member("literal", "text");
    writer.member("absent", std::optional<std::string>());
    writer.member("present", std::optional<std::string>("p"));
    writer.member("nothing", nullptr);
    writer.member("empty", [&] { writer.object([] {}); });
    writer.member("k\"ey", [&] {
      writer.array([&] {
        writer.array([] {});
        writer.value(false);
        writer.object([&] { writer.member("", -1); });
      });
    });
  });
  CHECK(text ==
        R"(before {"least":-9223372036854775808,"most":18446744073709551615,"small":7,"yes":true,"literal":"text",)"
        R"("absent":null,"present":"p","nothing":null,"empty":{},"k\"ey":[[],false,{"":-1}]})");
}
