#pragma once

// What functions that run on every target are declared with.
#ifdef __CUDACC__
#define STEPC_DEVICE __device__
#else
#define STEPC_DEVICE
#endif
