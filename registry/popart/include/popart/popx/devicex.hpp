// The device of an Opx, which holds its inputs.
#pragma once

namespace popart {
namespace popx {

class Devicex;

}  // namespace popx
}  // namespace popart
