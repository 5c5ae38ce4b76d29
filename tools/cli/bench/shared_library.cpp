#include "bench/shared_library.hpp"

#include <dlfcn.h>

namespace mgemm::cli::bench {

SharedLibrary::SharedLibrary(const std::string& what, const std::vector<std::string>& paths) {
  std::string reasons;
  for (const std::string& path : paths) {
    handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      path_ = path;
      return;
    }
    const char* const why = ::dlerror();
    reasons += "\n  " + path + ": " + (why != nullptr ? why : "unknown reason");
  }
  throw Failure("no " + what + " could be opened; it was looked for as" + reasons);
}

void* SharedLibrary::symbol(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace mgemm::cli::bench
