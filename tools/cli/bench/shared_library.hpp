#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace mgemm::cli::bench {

/// What is not of the library failed: the driver as we call it, cuBLAS, or one of their files.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& text, bool fatal = false) : std::runtime_error(text), fatal_(fatal) {}
  /// Nothing more can be done on the device.
  bool fatal() const noexcept { return fatal_; }

 private:
  bool fatal_;
};

/// A library that was opened at run time. It is never closed: its threads and exit handlers may not outlive its code.
class SharedLibrary {
 public:
  /// The first of the paths that can be opened. Failure says of each why it cannot; `what` names what is looked for.
  SharedLibrary(const std::string& what, const std::vector<std::string>& paths);

  const std::string& path() const { return path_; }

  template <typename Function>
  void find(Function*& function, const char* name) const {
    if (!find_if_any(function, name)) throw Failure(path_ + " has no " + name);
  }
  /// Whether it has the function, which is null otherwise.
  template <typename Function>
  bool find_if_any(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

 private:
  void* symbol(const char* name) const;

  std::string path_;
  void* handle_ = nullptr;
};

}  // namespace mgemm::cli::bench
