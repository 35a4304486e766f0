#pragma once

namespace wrong {

class above {};

}  // namespace wrong
