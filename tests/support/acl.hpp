// An access control list that lets another user write to a folder.
#pragma once
#include <sys/xattr.h>

#include <array>
#include <filesystem>

namespace mgemm::test {

/// Gives user 1001 all rights, and the owner's group none; stat then shows mode 0770. Whether the file system has ACLs.
inline bool let_a_stranger_write(const std::filesystem::path& file) {
  // Little-endian: version 2, then tag, rights and user of each: the owner, user 1001, the group, the mask, others.
  constexpr std::array<unsigned char, 44> bytes{2,  0, 0, 0,                          //
                                                1,  0, 7, 0, 0xff, 0xff, 0xff, 0xff,  //
                                                2,  0, 7, 0, 0xe9, 0x03, 0,    0,     //
                                                4,  0, 0, 0, 0xff, 0xff, 0xff, 0xff,  //
                                                16, 0, 7, 0, 0xff, 0xff, 0xff, 0xff,  //
                                                32, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
  return ::setxattr(file.c_str(), "system.posix_acl_access", bytes.data(), bytes.size(), 0) == 0;
}

}  // namespace mgemm::test
