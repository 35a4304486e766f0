#pragma once

// What tests/tree/check has to refuse in a public header.

namespace holdfast {

/// Has one code.
enum class errc {
  present,  ///< the only one
};

/// The comment is of two overloads. \throws errc::present.
void documented(int height);
void documented(long height);
void undocumented(int height);

/// \param level there is none. \throws errc::absent.
void documented(char height);

/// A class.
class sample {
 public:
  /// Both of these.
  void together(int height);
  void together(long height);

  void together(char height);
};

}  // namespace holdfast
