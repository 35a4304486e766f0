int taken() {
  const int one = 1;
  return one;
}
