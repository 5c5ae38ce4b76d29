#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compile/file_stamp.hpp"
#include "compile/nvrtc_search.hpp"
#include "identity/identity.hpp"

namespace mgemm {

/// The two files an NVRTC consists of, and how they looked.
struct NvrtcFiles {
  std::string library;
  std::string builtins;
  FileStamp library_stamp;
  FileStamp builtins_stamp;
  friend bool operator==(const NvrtcFiles&, const NvrtcFiles&) = default;
};

/// Looks at them without reading them. Error with MGEMM_IO.
NvrtcFiles nvrtc_files(const std::string& library, const std::string& builtins);

/// The key of a memo: of the stamps, not of the paths.
std::string stamp_key(const NvrtcFiles& files);

/// What an NVRTC is, wherever it lies.
struct NvrtcContent {
  NvrtcVersion version;
  Digest library;
  Digest builtins;
  friend bool operator==(const NvrtcContent&, const NvrtcContent&) = default;
};

/// Reads both files whole, which takes 60 to 500 ms. Error with MGEMM_IO, also if they change meanwhile or look
/// different from `files`.
NvrtcContent hash_nvrtc(const NvrtcFiles& files, const NvrtcVersion& version);

/// How many files of NVRTC this process has hashed. A warm start must not.
std::uint64_t nvrtc_hashes() noexcept;

// The memo of a content, so that the next process need not hash. Who keeps it must be able to trust it as much as the
// compiled code.

std::string encode_memo(const NvrtcFiles& files, const NvrtcContent& content);

/// nullopt if the bytes are not exactly a memo of files that look like these.
std::optional<NvrtcContent> decode_memo(std::string_view bytes, const NvrtcFiles& files);

/// Whether the files were last changed long enough ago (two seconds) that a change to come would show in their stamps,
/// whose resolution is that of the kernel's clock; a memo of others must not be kept. `now_ns` is the real time.
bool memo_may_be_kept(const NvrtcFiles& files, std::int64_t now_ns);

enum class OutputKind { ptx, machine_code };

/// The variables that NVRTC reads from the environment and that change what it makes; nullopt if not set.
struct NvrtcVariables {
  std::optional<std::string> append_flags;
  std::optional<std::string> nvvm_version;  // chooses its code generator
  friend bool operator==(const NvrtcVariables&, const NvrtcVariables&) = default;
};

constexpr const char* append_flags_variable = "NVRTC_APPEND_FLAGS";
constexpr const char* nvvm_version_variable = "NV_NVVM_VERSION";

/// As they are now.
NvrtcVariables nvrtc_variables();

/// All that decides what comes out for a given text: which NVRTC by content, target, every option in order, kind of
/// output, and what NVRTC takes from the environment, if anything. No path, time or user. Without a content, which is
/// then not known, it identifies nothing: what it is of must not be kept.
Identity compiler_identity(const NvrtcVersion& version, const std::optional<NvrtcContent>& content,
                           std::string_view target, std::span<const std::string> options, OutputKind output,
                           const NvrtcVariables& variables);

}  // namespace mgemm
