// .npy files put together by hand, right and wrong ones, independently of the code under test.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace mgemm::test {

inline std::string dict_text(std::string_view descr, std::string_view fortran_order, std::string_view shape) {
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + std::string(fortran_order) +
         ", 'shape': " + std::string(shape) + ", }";
}

/// Magic, version (major, 0), header length, header and a newline, data.
inline std::string npy_bytes(int major, std::string_view dict, std::string_view data) {
  const std::size_t length = dict.size() + 1;
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(major), '\0'};
  const int length_bytes = major == 1 ? 2 : 4;
  for (int i = 0; i < length_bytes; ++i) bytes.push_back(static_cast<char>(length >> (8 * i) & 0xffU));
  return bytes.append(dict).append("\n").append(data);
}

inline std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace mgemm::test
