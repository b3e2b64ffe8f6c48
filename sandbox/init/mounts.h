// Builds the program's file system view: an empty tmpfs with read-only binds, /work and /tmp.
#ifndef WHETSTONE_SANDBOX_INIT_MOUNTS_H_
#define WHETSTONE_SANDBOX_INIT_MOUNTS_H_

#include "sandbox/plan/plan.h"

namespace whetstone {

// Enters the new root for good; the working directory is /work. Everything written later lives in
// one size-limited tmpfs that dies with the namespace, so there is nothing to clean up on the host.
void BuildRoot(const Plan& plan);

// A /proc of the new pid namespace that is attached nowhere: only this descriptor reaches it. Call
// before BuildRoot (the kernel wants to see the host's /proc mounted), in the pid namespace.
// -1, with errno, where the host forbids it.
int OpenPrivateProc();

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_INIT_MOUNTS_H_
