#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/core.h>

#include "base/error.hpp"
#include "numeric/problem.hpp"

namespace mgemm {
namespace {

constexpr std::uint32_t plain_nan_bits = 0x7fc00000U;

std::string number_text(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return bits == plain_nan_bits ? "nan" : fmt::format("0x{:08x}", bits);
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

/// Walks over a problem string and knows where it is, for messages.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  /// The next field, up to ':' or ',' or the end.
  std::optional<std::string_view> next() {
    if (position_ > text_.size()) return std::nullopt;
    start_ = position_;
    const size_t end = std::min(text_.find_first_of(":,", position_), text_.size());
    position_ = end + 1;
    return text_.substr(start_, end - start_);
  }

  template <typename... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> format, Args&&... args) const {
    invalid("problem string '{}', at character {}: {}", text_, start_ + 1,
            fmt::format(format, std::forward<Args>(args)...));
  }

  std::int64_t integer(std::string_view field, std::string_view digits) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || digits.starts_with('-')) {
      reject("'{}' is no whole number of 0 or more for {}", digits, field);
    }
    return value;
  }

  float number(std::string_view field, std::string_view digits) const {
    const char* const last = digits.data() + digits.size();
    if (digits.starts_with("0x")) {
      std::uint32_t bits = 0;
      const auto [end, error] = std::from_chars(digits.data() + 2, last, bits, 16);
      if (error != std::errc{} || end != last || digits.size() != 10) {
        reject("'{}' are no 8 hexadecimal digits of an f32 for {}", digits, field);
      }
      return std::bit_cast<float>(bits);
    }
    if (digits == "nan") return std::bit_cast<float>(plain_nan_bits);
    float value = 0;
    const auto [end, error] = std::from_chars(digits.data(), last, value);
    if (error != std::errc{} || end != last || std::isnan(value)) reject("'{}' is no f32 number for {}", digits, field);
    return value;
  }

  Type type(std::string_view name) const {
    for (const auto& [type, known] : type_names) {
      if (known == name) return type;
    }
    reject("'{}' is no type; types are f32, bf16, f16, tf32", name);
  }

 private:
  std::string_view text_;
  size_t position_ = 0;
  size_t start_ = 0;
};

Op read_op(const Reader& reader, std::string_view field) {
  for (const auto& [op, name] : op_names) {
    if (name == field) return op;
  }
  reader.reject("'{}' is no operation; operations are nn, tn, nt", field);
}

void read_extents(const Reader& reader, std::string_view field, mgemm_problem& c) {
  const std::array<std::pair<std::string_view, std::int64_t*>, 3> extents{{{"M", &c.m}, {"K", &c.k}, {"N", &c.n}}};
  std::string_view rest = field;
  for (const auto& [name, value] : extents) {
    const size_t end = name == "N" ? rest.size() : rest.find('x');
    if (end == std::string_view::npos) reader.reject("'{}' is not of the form MxKxN", field);
    *value = reader.integer(name, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

struct Extra {
  std::string_view name;
  void (*read)(const Reader&, std::string_view value, mgemm_problem&);
};

constexpr std::array<Extra, 6> extras{{
    {"lda", [](const Reader& r, std::string_view v, mgemm_problem& c) { c.lda = r.integer("lda", v); }},
    {"ldb", [](const Reader& r, std::string_view v, mgemm_problem& c) { c.ldb = r.integer("ldb", v); }},
    {"ldout", [](const Reader& r, std::string_view v, mgemm_problem& c) { c.ldout = r.integer("ldout", v); }},
    {"alpha", [](const Reader& r, std::string_view v, mgemm_problem& c) { c.alpha = r.number("alpha", v); }},
    {"beta", [](const Reader& r, std::string_view v, mgemm_problem& c) { c.beta = r.number("beta", v); }},
    {"out",
     [](const Reader& r, std::string_view v, mgemm_problem& c) { c.out_type = static_cast<std::int32_t>(r.type(v)); }},
}};

void read_extra(const Reader& reader, std::string_view field, std::array<bool, extras.size() + 1>& seen,
                mgemm_problem& c) {
  const size_t equals = field.find('=');
  const std::string_view name = field.substr(0, equals);
  size_t index = extras.size();  // bias
  for (size_t i = 0; i < extras.size(); ++i) {
    if (extras.at(i).name == name) index = i;
  }
  if (index == extras.size() && field != "bias") {
    reader.reject("'{}' is no extra; extras are bias, lda=, ldb=, ldout=, alpha=, beta=, out=", field);
  }
  if (seen.at(index)) reader.reject("'{}' is given twice", name);
  seen.at(index) = true;
  if (index == extras.size()) {
    c.bias = 1;
    return;
  }
  if (equals == std::string_view::npos) reader.reject("'{}' needs a value: {}=...", name, name);
  extras.at(index).read(reader, field.substr(equals + 1), c);
}

}  // namespace

std::string to_string(const Problem& p) {
  std::string text = fmt::format("{}:{}:{}x{}x{}", name_of(p.op), name_of(p.in_type), p.m, p.k, p.n);
  if (p.out_type != default_out_type(p.op, p.in_type)) text += fmt::format(":out={}", name_of(p.out_type));
  if (p.bias) text += ":bias";
  if (p.lda != layout_a(p).columns) text += fmt::format(":lda={}", p.lda);
  if (p.ldb != layout_b(p).columns) text += fmt::format(":ldb={}", p.ldb);
  if (p.ldout != output_columns(p)) text += fmt::format(":ldout={}", p.ldout);
  const auto differs = [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) != std::bit_cast<std::uint32_t>(b);
  };
  if (differs(p.alpha, 1.0F)) text += fmt::format(":alpha={}", number_text(p.alpha));
  if (differs(p.beta, default_beta(p.op))) text += fmt::format(":beta={}", number_text(p.beta));
  return text;
}

Problem problem_from_string(std::string_view text) {
  Reader reader(text);
  mgemm_problem c{};
  c.struct_size = sizeof c;
  const auto required = [&](const char* what) {
    const auto field = reader.next();
    if (!field) reader.reject("{} is missing; the form is op:type:MxKxN[:extra...]", what);
    return *field;
  };
  const Op op = read_op(reader, required("the operation"));
  c.op = static_cast<std::int32_t>(op);
  c.in_type = static_cast<std::int32_t>(reader.type(required("the type")));
  c.out_type = static_cast<std::int32_t>(default_out_type(op, static_cast<Type>(c.in_type)));
  read_extents(reader, required("MxKxN"), c);
  c.alpha = 1.0F;
  c.beta = default_beta(op);
  std::array<bool, extras.size() + 1> seen{};
  while (const auto field = reader.next()) read_extra(reader, *field, seen, c);
  return check_problem(c);
}

}  // namespace mgemm
