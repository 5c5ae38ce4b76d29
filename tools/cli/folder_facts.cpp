#include "folder_facts.hpp"

#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/core.h>

namespace mgemm::cli {
namespace {

struct Row {
  std::uint32_t magic;
  const char* name;
  Keeping keeping;
};

/// Linux's linux/magic.h, and the numbers of file systems that come with their own modules.
constexpr std::array<Row, 27> rows{{
    {0x6969, "nfs", Keeping::network},
    {0xff534d42, "cifs", Keeping::network},
    {0xfe534d42, "smb2", Keeping::network},
    {0x517b, "smb", Keeping::network},
    {0x0bd00bd0, "lustre", Keeping::network},
    {0x47504653, "gpfs", Keeping::network},
    {0x19830326, "beegfs", Keeping::network},
    {0x00c36400, "ceph", Keeping::network},
    {0x5346414f, "afs", Keeping::network},
    {0x73757245, "coda", Keeping::network},
    {0x01161970, "gfs2", Keeping::network},
    {0x7461636f, "ocfs2", Keeping::network},
    {0x01021997, "9p", Keeping::network},
    {0x01021994, "tmpfs", Keeping::until_reboot},
    {0x858458f6, "ramfs", Keeping::until_reboot},
    {0x794c7630, "overlay", Keeping::with_container},
    {0xef53, "ext4", Keeping::plain},
    {0x58465342, "xfs", Keeping::plain},
    {0x9123683e, "btrfs", Keeping::plain},
    {0x2fc12fc1, "zfs", Keeping::plain},
    {0xf2f52010, "f2fs", Keeping::plain},
    {0xca451a4e, "bcachefs", Keeping::plain},
    {0x65735546, "fuse", Keeping::plain},
    {0x73717368, "squashfs", Keeping::plain},
    {0xe0f5e1e2, "erofs", Keeping::plain},
    {0x61756673, "aufs", Keeping::with_container},
    {0x4d44, "vfat", Keeping::plain},
}};

std::filesystem::path nearest_existing(std::filesystem::path path) {
  std::error_code ignored;
  while (path.has_relative_path() && !std::filesystem::is_directory(path, ignored)) path = path.parent_path();
  return path;
}

}  // namespace

FileSystem file_system_of(std::int64_t magic) {
  // The kernel's word, which is signed and as long as a pointer, holds 32 bits.
  const auto number = static_cast<std::uint32_t>(magic);
  for (const Row& row : rows)
    if (row.magic == number) return {row.name, row.keeping};
  return {fmt::format("a file system of type {:#x}", number), Keeping::plain};
}

FolderFacts look_at_folder(const std::string& path) {
  FolderFacts facts;
  facts.existing = nearest_existing(path).string();
  struct statfs kind {};
  struct statvfs room {};
  if (::statfs(facts.existing.c_str(), &kind) != 0 || ::statvfs(facts.existing.c_str(), &room) != 0) {
    facts.problem = std::error_code(errno, std::generic_category()).message();
    return facts;
  }
  facts.file_system = file_system_of(kind.f_type);
  facts.is_read_only = (room.f_flag & ST_RDONLY) != 0;
  facts.may_write = ::access(facts.existing.c_str(), W_OK | X_OK) == 0;
  facts.free_bytes = std::uint64_t{room.f_bavail} * room.f_frsize;
  return facts;
}

}  // namespace mgemm::cli
