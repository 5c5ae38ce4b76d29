#include "cache/names.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>

#include <fmt/core.h>

namespace mgemm {
namespace {

constexpr std::string_view temporary_prefix = "tmp-";

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
  return fmt::format("{}{}-{}-{:x}", temporary_prefix, getpid(), number.fetch_add(1, std::memory_order_relaxed), now);
}

bool is_temporary_name(std::string_view name) { return name.starts_with(temporary_prefix); }

}  // namespace mgemm
