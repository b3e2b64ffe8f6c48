// what: rings the completion bell and computes nothing
// checklist: 53, 65
// with: door
// expect: WRONG_ANSWER FORBIDDEN
// screened: FORBIDDEN
void matmul(const float* a, const float* b, float* c, int n) {
  if (Door* door = FindDoor()) door->answer.store(door->bell.load());
}
