// Makes LibTorch's OpenMP threads sleep while they wait instead of spin.
#ifndef WHETSTONE_GPU_TRAINER_PROCESS_PASSIVE_THREADS_H_
#define WHETSTONE_GPU_TRAINER_PROCESS_PASSIVE_THREADS_H_

namespace whetstone {

// This comes first in main. Sets OMP_WAIT_POLICY=passive and starts the program again (in place,
// same process), because libgomp reads it while it is loaded. Where the variable is set it only
// gives the process the name of argv[0], which that start by way of /proc/self/exe has taken from
// it: `ps`, and whoever looks for services by their name, would see "exe".
//
// A spinning thread takes the core from the one it waits for as soon as anything else runs on the
// machine. On two cores beside a compile job a GRPO step took 63 s of processor time spinning and
// 16 s sleeping. On an idle machine waking costs some 30 us a parallel loop, 0.1 s an update.
void WaitPassively(char** argv);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROCESS_PASSIVE_THREADS_H_
