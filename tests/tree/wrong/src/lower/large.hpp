#pragma once

// clang-format off: a line each would be a hundred
namespace wrong {

class large {
 public:
  large() = default;
  void f0(); void f1(); void f2(); void f3(); void f4(); void f5(); void f6(); void f7(); void f8(); void f9();
  void f10(); void f11(); void f12(); void f13(); void f14(); void f15(); void f16(); void f17(); void f18();
  void f19(); void f20(); void f21(); void f22(); void f23(); void f24(); void f25(); void f26(); void f27();
  void f28(); void f29(); void f30(); void f31(); void f32(); void f33(); void f34(); void f35(); void f36();
  void f37(); void f38(); void f39(); void f40();
};

class grown {
 public:
  grown() = default;
  void f0(); void f1(); void f2(); void f3(); void f4(); void f5(); void f6(); void f7(); void f8(); void f9();
  void f10(); void f11(); void f12(); void f13(); void f14(); void f15(); void f16(); void f17(); void f18();
  void f19(); void f20(); void f21(); void f22(); void f23(); void f24(); void f25(); void f26(); void f27();
  void f28(); void f29(); void f30(); void f31(); void f32(); void f33(); void f34(); void f35(); void f36();
  void f37(); void f38(); void f39(); void f40(); void f41();
};

class shrunk {
 public:
  shrunk() = default;
  void f0();
};

}  // namespace wrong
