// Kernels with one fault each: it is found, in every order of threads, at the line that is marked `// here`.
#include "ir/support/error.h"
#include "tests/runtime/simt/simt_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepc::test {
namespace {

using simt::Finding;
using simt::FindingKind;
using simt::Order;

// Runs one block of 64 threads over 64 floats.
void expect_fault(const std::string& body, const std::vector<FindingKind>& kinds, const std::string& message) {
  for (const Order order : kOrders) {
    SimtCase test("extern \"C\" __global__ void kernel(const float* x, float* y) {\n" + body + "\n}\n", order);
    const std::vector<Finding> findings =
        test.findings(1, 64, 1024, test.buffer(std::vector<float>(64, 1.0F)), test.output<float>(64));
    ASSERT_FALSE(findings.empty()) << message;
    EXPECT_THAT(kinds, testing::Contains(findings[0].kind)) << findings[0].message();
    EXPECT_EQ(findings[0].line, test.line_of("// here")) << findings[0].message();
    EXPECT_THAT(findings[0].message(), testing::HasSubstr(message));
    EXPECT_EQ(findings[0].kernel, "kernel");
  }
}

TEST(SimtFaults, RemovedBarrier) {
  expect_fault(R"(
    __shared__ float s[64];
    const int t = threadIdx.x;
    shared_store(s, t, load(x, t));
    store(y, t, shared_load(s, 63 - t));  // here
  )",
               {FindingKind::race, FindingKind::uninitialised}, "of kernel::s (256 bytes), which ");
}

TEST(SimtFaults, RemovedSecondBarrier) {
  expect_fault(R"(
    __shared__ float s[64];
    const int t = threadIdx.x;
    shared_store(s, t, load(x, t));
    __syncthreads();
    const float other = shared_load(s, 63 - t);
    __syncwarp();
    shared_store(s, t, other);  // here
    store(y, t, other);
  )",
               {FindingKind::race}, "which was read by thread ");
}

TEST(SimtFaults, BarrierInADivergentBranch) {
  expect_fault(R"(
    if (threadIdx.x < 5) {
      __syncthreads();
    } else {
      __syncthreads();  // here
    }
  )",
               {FindingKind::divergent_barrier}, "different barriers: threads 0-4 at the barrier at line ");
}

TEST(SimtFaults, BarrierThatSomeThreadsLeaveOut) {
  expect_fault(R"(
    if (threadIdx.x % 2 == 1 || threadIdx.x < 4) __syncthreads();  // here
  )",
               {FindingKind::abandoned_barrier}, "; threads 4, 6, 8, 10, ");
}

TEST(SimtFaults, ShuffleWhoseMaskNamesLanesThatNeverCome) {
  expect_fault(R"(
    float v = load(x, threadIdx.x);
    if (threadIdx.x < 16) v += __shfl_down_sync(0xffffffff, v, 8);  // here
    __syncthreads();
    store(y, threadIdx.x, v);
  )",
               {FindingKind::incomplete_warp},
               "lanes 16-31 of mask 0xffffffff never come to this warp operation: threads 0-15 in the warp operation");
}

TEST(SimtFaults, ShuffleWhoseMaskLeavesItsLaneOut) {
  expect_fault("store(y, threadIdx.x, __shfl_xor_sync(0xfffffffe, 1.0f, 2));  // here", {FindingKind::incomplete_warp},
               "takes part in a warp operation whose mask 0xfffffffe leaves it out");
}

TEST(SimtFaults, ShuffleFromALaneOutsideTheMask) {
  expect_fault("if (threadIdx.x < 16) store(y, threadIdx.x, __shfl_xor_sync(0xffff, 1.0f, 16));  // here",
               {FindingKind::inactive_source}, "which is not in its mask 0xffff");
}

TEST(SimtFaults, StorePastTheEnd) {
  expect_fault("store(y, threadIdx.x + 1, 1.0f);  // here", {FindingKind::out_of_bounds}, "thread 63, address 0x");
  expect_fault("store(y, threadIdx.x + 1, 1.0f);  // here", {FindingKind::out_of_bounds},
               "global store to 4 bytes at byte 256 of a buffer of 256 bytes");
}

TEST(SimtFaults, LoadBeforeTheBegin) {
  expect_fault("store(y, threadIdx.x, load(x, static_cast<int>(threadIdx.x) - 1));  // here",
               {FindingKind::out_of_bounds}, "global load of 4 bytes 4 bytes before a buffer of 256 bytes");
}

TEST(SimtFaults, SharedStorePastItsArray) {
  expect_fault(R"(
    __shared__ float before[64];
    __shared__ float after[64];
    shared_store(after, threadIdx.x, 0.0f);
    shared_store(before, threadIdx.x + 1, 0.0f);  // here
  )",
               {FindingKind::out_of_bounds}, "shared store to 4 bytes at byte 256 of kernel::before (256 bytes)");
}

TEST(SimtFaults, SharedStorePastTheDynamicMemory) {
  expect_fault(R"(
    extern __shared__ __align__(16) unsigned char stepc_shared[];
    shared_store(reinterpret_cast<float*>(stepc_shared), 4 * threadIdx.x + 4, 0.0f);  // here
  )",
               {FindingKind::out_of_bounds}, "byte 1024 of the dynamic shared memory (1024 bytes)");
}

TEST(SimtFaults, MisalignedVectors) {
  expect_fault("if (threadIdx.x < 8) store(y, threadIdx.x, load_vector<4>(x, 4 * threadIdx.x + 1)[0]);  // here",
               {FindingKind::misaligned}, "global load of 16 bytes at an address that is no multiple of 16");
  expect_fault(R"(
    extern __shared__ __align__(16) unsigned char stepc_shared[];
    Vector<float, 2> v = {{1.0f, 2.0f}};
    shared_store_vector<2>(reinterpret_cast<float*>(stepc_shared), 2 * threadIdx.x + 1, v);  // here
  )",
               {FindingKind::misaligned}, "at an address that is no multiple of 8");
}

TEST(SimtFaults, SharedMemoryThatWasNeverWritten) {
  expect_fault(R"(
    __shared__ float s[64];
    if (threadIdx.x != 9) shared_store(s, threadIdx.x, 1.0f);
    __syncthreads();
    store(y, threadIdx.x, shared_load(s, 63 - threadIdx.x));  // here
  )",
               {FindingKind::uninitialised}, "byte 36 of kernel::s (256 bytes), which the block has not written");
}

TEST(SimtFaults, CopyThatIsNotWaitedFor) {
  expect_fault(R"(
    __shared__ __align__(16) float s[64];
    const int t = threadIdx.x;
    copy_async<4>(s + t, x + t);
    commit_async();
    __syncthreads();
    store(y, t, shared_load(s, t));  // here
  )",
               {FindingKind::copy_not_awaited}, "has not been waited for");
  expect_fault(R"(
    __shared__ __align__(16) float s[128];
    const int t = threadIdx.x;
    copy_async<4>(s + t, x + t);
    commit_async();
    copy_async<4>(s + 64 + t, x + t);
    commit_async();
    wait_async<1>();
    __syncthreads();
    store(y, t, shared_load(s, t));
    store(y, t, shared_load(s, 64 + t));  // here
  )",
               {FindingKind::copy_not_awaited}, "has not been waited for");
}

TEST(SimtFaults, CopyWithoutABarrierAfterTheWait) {
  expect_fault(R"(
    __shared__ __align__(16) float s[64];
    const int t = threadIdx.x;
    copy_async<4>(s + t, x + t);
    commit_async();
    wait_async<0>();
    store(y, t, shared_load(s, t ^ 1));  // here
  )",
               {FindingKind::race, FindingKind::uninitialised}, "of kernel::s");
}

TEST(SimtFaults, LaunchesBeyondTheLimits) {
  const auto finding = [](cuda::Architecture architecture, int64_t grid, int32_t threads, int64_t shared_bytes) {
    SimtCase test("extern \"C\" __global__ void kernel(float* y) {}\n", Order::ascending, architecture);
    const std::vector<Finding> findings = test.findings(grid, threads, shared_bytes, test.output<float>(1));
    return findings.empty() ? "none" : findings[0].message();
  };
  EXPECT_EQ(finding({9, 0}, 1, 1024, 227 * 1024), "none");
  EXPECT_EQ(finding({9, 0}, 1, 1025, 0), "kernel kernel: a launch with 1025 threads per block; sm_90 allows 1 to 1024");
  EXPECT_EQ(finding({8, 6}, 1, 32, 99 * 1024), "none");
  EXPECT_EQ(finding({8, 6}, 1, 32, 99 * 1024 + 1),
            "kernel kernel: a launch with 101377 bytes of shared memory per block; sm_86 allows 0 to 101376");
  EXPECT_EQ(finding({8, 0}, 0, 32, 0), "kernel kernel: a launch with 0 blocks; sm_80 allows 1 to 2147483647");
  EXPECT_EQ(finding({12, 0}, int64_t{1} << 31, 32, 0),
            "kernel kernel: a launch with 2147483648 blocks; sm_120 allows 1 to 2147483647");
}

TEST(SimtFaults, PlainStoreIntoARedZone) {
  SimtCase test("extern \"C\" __global__ void kernel(float* y) { y[16] = 1.0f; }\n");
  const std::vector<Finding> findings = test.findings(1, 1, 0, test.output<float>(16));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::red_zone);
}

// A buffer that is a part of an allocation ends where the launch says.
TEST(SimtFaults, StoreIntoTheNeighbourInAnArena) {
  SimtCase test("extern \"C\" __global__ void kernel(float* y) { store(y, threadIdx.x, 1.0f); }\n");
  float* y = test.output<float>(128);
  void* arguments[] = {&y};
  const simt::Extent buffers[] = {{y, 64 * sizeof(float)}, {y + 64, 64 * sizeof(float)}};
  test.device.launch({"kernel", 1, 64, 0}, arguments, buffers);
  EXPECT_THROW(test.device.launch({"kernel", 1, 65, 0}, arguments, buffers), simt::FindingsError);
}

TEST(SimtFaults, UnknownIntrinsicsDoNotCompile) {
  try {
    SimtCase test("extern \"C\" __global__ void kernel(float* y) { __nanosleep(1); }\n");
    FAIL() << "accepted";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("__nanosleep"));
  }
}

TEST(SimtFaults, TheMessageCountsAndOrdersFindings) {
  for (const Order order : kOrders) {
    SimtCase test(R"(extern "C" __global__ void kernel(float* y) {
      if (blockIdx.x == 6) store(y, -2, 1.0f);
      store(y, 8 * blockIdx.x + threadIdx.x / 8, 1.0f);
    })",
                  order);
    try {
      test.launch(8, 8, 0, test.output<float>(40));
      FAIL() << "found nothing";
    } catch (const simt::FindingsError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(", block 5, thread "));
      EXPECT_THAT(error.what(),
                  testing::HasSubstr("at byte 160 of a buffer of 160 bytes (24 times) (and 1 more finding)"));
      ASSERT_EQ(error.findings().size(), 2U);
      EXPECT_EQ(error.findings()[1].block, 6);
    }
  }
}

}  // namespace
}  // namespace stepc::test
