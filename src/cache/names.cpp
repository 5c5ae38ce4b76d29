#include "cache/names.hpp"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>

#include <fmt/core.h>

namespace mgemm {
namespace {

constexpr std::string_view temporary_prefix = "mamba-gemm-tmp-";

std::string temporary_name(std::uint64_t process, std::uint64_t number, std::uint64_t time) {
  return fmt::format("{}{}-{}-{:x}", temporary_prefix, process, number, time);
}

/// Takes a number and what ends it from the front of a text; 0 if there is none, which makes another name.
std::uint64_t take_number(std::string_view& text, int base) {
  std::uint64_t number = 0;
  const char* const end = std::from_chars(text.data(), text.data() + text.size(), number, base).ptr;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (text.starts_with('-')) text.remove_prefix(1);
  return number;
}

std::optional<unsigned> hex_value(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const size_t value = digits.find(c);
  if (value == std::string_view::npos) return std::nullopt;
  return static_cast<unsigned>(value);
}

}  // namespace

std::string entry_name(const Digest& key, Kind kind) { return fmt::format("{}.{}", to_hex(key), to_string(kind)); }

std::optional<Digest> digest_from_hex(std::string_view text) {
  Digest digest;
  if (text.size() != 2 * digest.bytes.size()) return std::nullopt;
  for (size_t i = 0; i < digest.bytes.size(); ++i) {
    const auto high = hex_value(text[2 * i]);
    const auto low = hex_value(text[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    digest.bytes.at(i) = static_cast<std::uint8_t>(*high << 4U | *low);
  }
  return digest;
}

std::optional<EntryName> parse_entry_name(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto key = digest_from_hex(name.substr(0, dot));
  const auto kind = kind_from(name.substr(dot + 1));
  if (!key || !kind) return std::nullopt;
  return EntryName{*key, *kind};
}

std::string fresh_temporary_name() {
  // Process ids repeat between containers and after a while, so the time is in it too; O_EXCL decides in the end.
  static std::atomic<std::uint64_t> number{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return temporary_name(static_cast<std::uint64_t>(getpid()), number.fetch_add(1, std::memory_order_relaxed),
                        static_cast<std::uint64_t>(now));
}

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with(temporary_prefix)) return false;
  std::string_view rest = name.substr(temporary_prefix.size());
  constexpr int decimal = 10;
  constexpr int hexadecimal = 16;
  const std::uint64_t process = take_number(rest, decimal);
  const std::uint64_t number = take_number(rest, decimal);
  // Made again, because a name that is only like ours may be somebody's file.
  return name == temporary_name(process, number, take_number(rest, hexadecimal));
}

}  // namespace mgemm
