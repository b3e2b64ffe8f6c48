// A service started by `whet run` dies with it, however it dies: the kernel signals the child when
// its parent thread goes (PDEATHSIG), and a pipe whose write end only the parent holds closes when
// the parent process goes, which also covers a parent that died before PDEATHSIG was set.
#ifndef WHETSTONE_COMMON_LIFE_LINE_H_
#define WHETSTONE_COMMON_LIFE_LINE_H_

namespace whetstone {

// HoldLifeLine is called at the start of main. `fd` is the pipe's read end, inherited; with -1
// there is no life line, and it does nothing. When the pipe closes the process ends at once with
// exit code 0 (its state is the journal's and the checkpoints', never its own). It starts one
// detached thread.
void HoldLifeLine(int fd);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_LIFE_LINE_H_
