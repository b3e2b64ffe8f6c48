// Landlock by raw system calls: a second, independent line behind the mount namespace.
#ifndef WHETSTONE_SANDBOX_PLAN_LANDLOCK_H_
#define WHETSTONE_SANDBOX_PLAN_LANDLOCK_H_

namespace whetstone {

// Highest version the kernel knows; 0: none.
int LandlockAbi();

// From here on the calling thread and its children may read and execute below /, and write below
// /work and /tmp if `writable_work`; no TCP, no abstract unix sockets or signals to the outside.
// True without doing anything where the kernel has no Landlock; false with errno on failure.
bool EnterLandlock(bool writable_work);

}  // namespace whetstone

#endif  // WHETSTONE_SANDBOX_PLAN_LANDLOCK_H_
