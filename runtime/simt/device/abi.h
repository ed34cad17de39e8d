#pragma once

// What compiled CUDA text and the engine agree on. Included by both; the compiled side gets it as text.
extern "C" {

struct StepcSimtThread;

// One way to touch memory, at one place of the text.
enum StepcSimtAccessKind { kStepcLoad, kStepcStore, kStepcAtomic };
struct StepcSimtAccess {
  StepcSimtAccessKind kind;
  int bytes;
  int alignment;  // a power of two
  int line;
};

// Warp operations.
enum StepcSimtOperation {
  kStepcSyncWarp,
  kStepcActiveMask,
  kStepcVote,
  kStepcShuffle,
  kStepcMma,
  kStepcLoadMatrices,
};

// What one lane leaves for the others of its warp, and how far apart those of neighbours lie.
enum { kStepcLaneBytes = 32, kStepcWarpSize = 32 };

struct StepcSimtEngine {
  // True where the access may be made; otherwise it was noted as a finding. `base` is the pointer that the text
  // indexes: the access must stay in the buffer or array that base points into.
  bool (*global)(StepcSimtThread*, const void* base, const void* address, StepcSimtAccess access);
  bool (*shared)(StepcSimtThread*, const void* base, const void* address, StepcSimtAccess access);
  bool (*atomic)(StepcSimtThread*, const void* address, StepcSimtAccess access);  // in either memory

  void (*barrier)(StepcSimtThread*, int line);
  // Waits until every lane of the mask has come with the same operation, mask and line, then gives what each brought:
  // 32 slots of kStepcLaneBytes, valid until the thread's next call. A mask of 0 stands for the lanes that can come;
  // `arrived` tells which they are.
  const unsigned char* (*exchange)(StepcSimtThread*, int operation, unsigned mask, const void* payload, unsigned bytes,
                                   int line, unsigned* arrived);
  void (*inactive_source)(StepcSimtThread*, int lane, unsigned mask, int line);

  void (*copy_async)(StepcSimtThread*, void* shared, const void* global, unsigned bytes, int line);
  void (*commit_async)(StepcSimtThread*);
  void (*wait_async)(StepcSimtThread*, int newest);
};

// The running CUDA thread. One per OS thread; the engine rewrites it at each switch.
struct StepcSimtThread {
  const StepcSimtEngine* engine;
  void* block;            // the engine's
  unsigned thread_index;  // threadIdx.x
  unsigned block_index;   // blockIdx.x
  unsigned threads;       // blockDim.x
  unsigned blocks;        // gridDim.x
};

// What an entry of a compiled text is: it runs the function once, as the current thread. Each of `arguments` points to
// a parameter's value.
typedef void (*StepcSimtEntry)(StepcSimtThread*, void* const* arguments);
// Where the dynamic shared memory of the calling OS thread lies.
typedef unsigned char* (*StepcSimtArena)();

}  // extern "C"
