#pragma once
#include <string>

namespace mgemm {

/// The file the dynamic loader would open for a library's bare name, without opening it: what is loaded already, else
/// in LD_LIBRARY_PATH as it was at the start, the loader's cache, its default folders. "" if there is none.
std::string path_by_loader(const std::string& name);

/// The file that the bytes of /etc/ld.so.cache name for a library; "" if they are damaged or do not name one.
std::string path_in_loader_cache(const std::string& bytes, const std::string& name);

}  // namespace mgemm
