#pragma once

namespace stepc {

// What this machine does, measured: the roofline that predictions and the profile's shares refer to.
struct Calibration {
  int threads = 0;
  double f32_flops_per_second = 0;   // a large oneDNN matrix product
  double copy_bytes_per_second = 0;  // read and written bytes of a copy that no cache holds
};

// Takes about a second. `threads` 0: all processors.
Calibration calibrate(int threads = 0);

}  // namespace stepc
