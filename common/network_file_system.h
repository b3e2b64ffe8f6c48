// Some file systems have no memory that processes of two hosts share, and locks that may be seen by
// one host alone.
#ifndef WHETSTONE_COMMON_NETWORK_FILE_SYSTEM_H_
#define WHETSTONE_COMMON_NETWORK_FILE_SYSTEM_H_

#include <cstdint>
#include <string>

namespace whetstone {

// Returns the name of the network file system that `path` lies on ("NFS"), or nothing for a local
// one, or where nobody can tell. FUSE counts as one: sshfs, and many a cluster's own, come that
// way. It is thread-safe.
std::string NetworkFileSystem(const std::string& path);

// Lets tests lie on another: every path has this f_type (statfs) from here on; 0: its own again.
void TEST_SetFileSystemType(int64_t f_type);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_NETWORK_FILE_SYSTEM_H_
