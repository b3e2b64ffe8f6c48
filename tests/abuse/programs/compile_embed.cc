// what: embeds or includes host files by every spelling a compiler may know
// checklist: 2, 9
// expect: COMPILE_ERROR
// variant: embed: 1
// variant: angle: 2
// variant: next: 3
// variant: dots: 4
// variant: macro: 5
// variant: import: 6
#if VARIANT == 1
const char leak[] = {
#embed "/etc/shadow"
};
#elif VARIANT == 2
#include </etc/shadow>
#elif VARIANT == 3
#include_next "/etc/shadow"
#elif VARIANT == 4
#include "../../../../../../etc/shadow"
#elif VARIANT == 5
#define FILE_NAME "/proc/self/environ"
#include FILE_NAME
#else
import "/etc/shadow";
#endif
void matmul(const float* a, const float* b, float* c, int n) { c[0] = n; }
