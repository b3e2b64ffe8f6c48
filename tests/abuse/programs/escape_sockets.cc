// what: talks to anybody: TCP, UDP, DNS, abstract unix, netlink, vsock, raw packets
// checklist: 29, 30
// expect: FORBIDDEN
// screened: FORBIDDEN
// variant: tcp6: socket(AF_INET6, SOCK_STREAM, 0)
// variant: udp: socket(AF_INET, SOCK_DGRAM, 0)
// variant: abstract: socket(AF_UNIX, SOCK_STREAM, 0)
// variant: netlink: socket(AF_NETLINK, SOCK_RAW, 0)
// variant: vsock: socket(AF_VSOCK, SOCK_STREAM, 0)
// variant: packet: socket(AF_PACKET, SOCK_RAW, 0)
// variant: dns: getaddrinfo("example.org", "80", nullptr, &found)
// variant: borrowed: connect(0, (sockaddr*)"\0\0", 2)
// variant: send: sendto(1, "x", 1, 0, nullptr, 0)
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>
void matmul(const float* a, const float* b, float* c, int n) {
  addrinfo* found = nullptr;
  c[0] = VARIANT;
  if (found != nullptr) c[0] = found->ai_family;
}
