// what: opens the kernel's less guarded doors
// checklist: 35, 36, 38, 39, 42
// expect: FORBIDDEN
// screened: FORBIDDEN
// variant: io_uring: syscall(SYS_io_uring_setup, 8, c)
// variant: keyctl: syscall(SYS_keyctl, 0, -3, 1)
// variant: add_key: syscall(SYS_add_key, "user", "a", "b", 1, -3)
// variant: userns: unshare(CLONE_NEWUSER)
// variant: clone_userns: syscall(SYS_clone, CLONE_NEWUSER | 17, 0, 0, 0, 0)
// variant: setns: setns(0, 0)
// variant: mount: mount("none", "/tmp", "tmpfs", 0, nullptr)
// variant: fsopen: syscall(430 /* fsopen */, "tmpfs", 0)
// variant: open_tree: syscall(428 /* open_tree */, -100, "/", 1)
// variant: chroot: chroot("/tmp")
// variant: pivot_root: syscall(SYS_pivot_root, "/", "/tmp")
// variant: mknod: mknod("/tmp/sda", S_IFBLK | 0600, makedev(8, 0))
// variant: handle: syscall(SYS_open_by_handle_at, -1, nullptr, 0)
// variant: bpf: syscall(SYS_bpf, 0, nullptr, 0)
// variant: perf: syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0)
// variant: userfaultfd: syscall(SYS_userfaultfd, 0)
// variant: module: syscall(SYS_init_module, c, 4, "")
// variant: seccomp: syscall(SYS_seccomp, 1, 0, nullptr)
// variant: landlock: syscall(446 /* landlock_restrict_self */, -1, 0)
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) { c[0] = VARIANT; }
