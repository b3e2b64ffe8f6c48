// what: writes nonsense over the whole shared page
// checklist: 66
// with: door
// expect: TIMEOUT FORBIDDEN CRASH WRONG_ANSWER
// screened: FORBIDDEN
void matmul(const float* a, const float* b, float* c, int n) {
  if (Door* door = FindDoor()) __builtin_memset((char*)door, 0xff, 4096);
}
