#include "cache/entry_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace mgemm {
namespace {

constexpr mode_t entry_mode = S_IRUSR | S_IWUSR;

Reject reject_of(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return Reject::not_a_file;
  if (status.st_nlink > 1) return Reject::hard_linked;  // 0: replaced or evicted since it was opened, and still whole
  if (status.st_uid != geteuid()) return Reject::owner;
  if ((status.st_mode & os::permission_bits) != entry_mode) return Reject::mode;
  if (static_cast<std::uint64_t>(status.st_size) > most_entry_bytes) return Reject::overlong;
  return Reject::none;
}

EntryFile unreadable(int error) {
  EntryFile file;
  if (error == ENOENT) return file;
  file.reject = error == ELOOP || error == ENXIO ? Reject::not_a_file : Reject::unreadable;
  file.error = error;
  return file;
}

struct Temporary {
  Descriptor file;
  std::string name;
  int error = 0;
};

/// A new file whose lock says that its writer lives.
Temporary make_temporary(int directory) {
  constexpr int attempts = 8;
  int error = 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Temporary temporary;
    temporary.name = fresh_temporary_name();
    os::Opened made = os::open_at(directory, temporary.name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, entry_mode);
    error = made.error;
    if (error == EEXIST) continue;
    if (error != 0) break;
    temporary.file = std::move(made.file);
    // Between these two calls a reaper may have taken it for a dead writer's. On a file system without locks there is
    // nothing to take.
    struct stat status {};
    if (os::try_lock(temporary.file.get(), 0, 1) != EAGAIN && os::status_of(temporary.file.get(), status) == 0 &&
        status.st_nlink == 1) {
      return temporary;
    }
    os::unlink_at(directory, temporary.name);
    error = EAGAIN;
  }
  return {{}, {}, error};
}

int write_whole(int file, std::string_view bytes) {
  int error = os::change_mode(file, entry_mode);  // the umask may have taken bits away
  if (error == 0) error = os::write_all(file, bytes);
  if (error == 0) error = os::sync(file);
  return error;
}

}  // namespace

EntryFile read_entry_file(int directory, const EntryName& name) {
  // O_NONBLOCK: a pipe in place of a file must not stop us.
  os::Opened opened = os::open_at(directory, entry_name(name.key, name.kind), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!opened.file) return unreadable(opened.error);
  struct stat status {};
  const int status_error = os::status_of(opened.file.get(), status);
  if (status_error != 0) return unreadable(status_error);

  EntryFile file;
  file.bytes = static_cast<std::uint64_t>(status.st_size);
  file.used_at = status.st_mtim.tv_sec;
  file.reject = reject_of(status);
  if (file.reject != Reject::none) return file;
  std::string bytes;
  file.error = os::read_all(opened.file.get(), most_entry_bytes + 1, bytes);
  if (file.error != 0) {
    file.reject = Reject::unreadable;
    return file;
  }
  file.entry = decode(bytes, file.reject);
  if (file.entry && (file.entry->key != name.key || file.entry->kind != name.kind)) {
    file.entry.reset();
    file.reject = Reject::wrong_key;
  }
  if (file.entry) file.descriptor = std::move(opened.file);
  return file;
}

int publish(int directory, const std::string& name, std::string_view bytes) {
  if (bytes.size() > os::most_file_bytes()) return EFBIG;
  const Temporary temporary = make_temporary(directory);
  if (temporary.error != 0) return temporary.error;
  int error = write_whole(temporary.file.get(), bytes);
  if (error == 0) {
    error = os::rename_at(directory, temporary.name, name);
    // An empty folder in the entry's place can be taken away; anything else than a folder is replaced by the rename.
    if (error == EISDIR && os::unlink_at(directory, name, AT_REMOVEDIR) == 0) {
      error = os::rename_at(directory, temporary.name, name);
    }
  }
  if (error != 0) {
    os::unlink_at(directory, temporary.name);
    return error;
  }
  os::sync(directory);  // if this fails the entry may be lost in a crash, which is a miss
  return 0;
}

bool reap_temporary(int directory, const std::string& name) {
  // Where locks do not work age decides.
  constexpr std::int64_t longest_write_seconds = 86400;
  struct stat status {};
  if (os::status_at(directory, name, status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
      (status.st_mode & os::permission_bits) != entry_mode) {
    return false;
  }
  const bool is_old = status.st_mtim.tv_sec < std::time(nullptr) - longest_write_seconds;
  if (!is_old) {
    const os::Opened file = os::open_at(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
    if (!file.file || os::try_lock(file.file.get(), 0, 1) != 0) return false;
    return os::unlink_at(directory, name) == 0;  // while locked, so that its writer, if about to lock it, gives it up
  }
  return os::unlink_at(directory, name) == 0;
}

}  // namespace mgemm
