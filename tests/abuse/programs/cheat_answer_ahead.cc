// what: answers bells that have not rung yet
// checklist: 65, 66
// with: door
// expect: WRONG_ANSWER FORBIDDEN TIMEOUT CRASH
// screened: FORBIDDEN
void matmul(const float* a, const float* b, float* c, int n) {
  if (Door* door = FindDoor()) door->answer.store(door->bell.load() + 1);
}
