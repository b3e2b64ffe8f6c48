// what: prints the words of an honest failure before it does what is forbidden
// checklist: 0, 50
// expect: FORBIDDEN
// screened: FORBIDDEN
#include <sys/socket.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  const char text[] = "terminate called after throwing an instance of 'std::bad_alloc'\n";
  write(2, text, sizeof(text) - 1);
  c[0] = socket(AF_INET, SOCK_STREAM, 0);
}
