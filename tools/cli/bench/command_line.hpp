#pragma once
#include <string>

namespace mgemm::cli::bench {

/// Words, each ended by a NUL, as a shell would take them: quoted where they need it.
std::string shell_words(const std::string& words);

/// How this process was started; "" where the system does not say.
std::string own_command_line();

}  // namespace mgemm::cli::bench
