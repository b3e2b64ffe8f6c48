// what: opens a connection
// checklist: 29
// expect: FORBIDDEN
// screened: FORBIDDEN
#include <sys/socket.h>
void matmul(const float* a, const float* b, float* c, int n) {
  c[0] = socket(AF_INET, SOCK_STREAM, 0);
}
