// Accuracy of the generated code's own functions against libm in f64.
#include "codegen/device/scalar.h"
#include "ir/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace stepc::test {
namespace {

using stepc_device::bits_of;

// The distance in units of the last place of the correctly rounded result.
double ulps(float own, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(own) ? 0 : 1e30;
  if (std::isinf(rounded) || std::isinf(own)) return own == rounded ? 0 : 1e30;
  const float magnitude = std::max(std::fabs(rounded), std::numeric_limits<float>::min());
  const double ulp = static_cast<double>(std::nextafter(magnitude, INFINITY)) - static_cast<double>(magnitude);
  return std::fabs(static_cast<double>(own) - exact) / ulp;
}

template <typename Own, typename Exact>
void expect_ulps(const char* name, Own own, Exact exact, double bound) {
  double worst = 0;
  float at = 0;
  // Every 4999th float, which meets all exponents and both signs, and the special ones.
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4999) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const double error = ulps(own(x), exact(static_cast<double>(x)));
    if (error > worst) worst = error, at = x;
  }
  for (const float x :
       {0.0F, -0.0F, INFINITY, -INFINITY, NAN, 1e-45F, -1e-45F, 88.72284F, -87.3F, -103.9F, -104.1F, 1.0F}) {
    const double error = ulps(own(x), exact(static_cast<double>(x)));
    if (error > worst) worst = error, at = x;
  }
  EXPECT_LE(worst, bound) << name << " at " << at << ": " << own(at) << ", exactly " << exact(static_cast<double>(at));
}

double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(DeviceMath, StaysWithinItsBounds) {
  using namespace stepc_device;
  expect_ulps(
      "exp", [](float x) { return exp_f32(x); }, [](double x) { return std::exp(x); }, 1);
  expect_ulps(
      "log", [](float x) { return log_f32(x); }, [](double x) { return std::log(x); }, 1);
  expect_ulps(
      "tanh", [](float x) { return tanh_f32(x); }, [](double x) { return std::tanh(x); }, 2);
  expect_ulps(
      "erf", [](float x) { return erf_f32(x); }, [](double x) { return std::erf(x); }, 1.5);
  expect_ulps(
      "sigmoid", [](float x) { return sigmoid_f32(x); }, exact_sigmoid, 2.5);
  expect_ulps(
      "sin", [](float x) { return sin_f32(x); }, [](double x) { return std::sin(x); }, 1);
  expect_ulps(
      "cos", [](float x) { return cos_f32(x); }, [](double x) { return std::cos(x); }, 1);
  for (const float y : {0.0F, 0.5F, -0.5F, 1.0F, 2.0F, 3.0F, -3.0F, 7.25F, 100.0F, -INFINITY, INFINITY})
    expect_ulps(
        "pow", [y](float x) { return pow_f32(x, y); }, [y](double x) { return std::pow(x, static_cast<double>(y)); },
        1);
  for (const float x : {0.0F, -0.0F, 1.0F, -1.0F, 2.0F, -2.0F, 0.9F, -0.9F, INFINITY, -INFINITY})
    expect_ulps(
        "pow", [x](float y) { return pow_f32(x, y); }, [x](double y) { return std::pow(static_cast<double>(x), y); },
        1);
}

// What attention sums: results too small to matter are 0.
TEST(DeviceMath, BoundedExpIsExpBetweenItsBounds) {
  using stepc_device::exp_bounded_f32;
  expect_ulps(
      "exp_bounded", [](float x) { return x > 88 ? INFINITY : exp_bounded_f32(x); },
      [](double x) { return x < -87  ? 0
                            : x > 88 ? INFINITY
                                     : std::exp(x); }, 1);
  for (const float x : {89.0F, 1e30F, INFINITY}) EXPECT_EQ(exp_bounded_f32(x), INFINITY);
}

TEST(DeviceMath, SignsOfZeros) {
  EXPECT_TRUE(std::signbit(stepc_device::sin_f32(-0.0F)));
  EXPECT_TRUE(std::signbit(stepc_device::tanh_f32(-0.0F)));
  EXPECT_TRUE(std::signbit(stepc_device::erf_f32(-0.0F)));
}

TEST(DeviceMath, SixteenBitFloatsAreThoseOfTheInterpreter) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    EXPECT_EQ(bits_of<uint32_t>(stepc_device::f16_to_f32(half)), bits_of<uint32_t>(f16_to_f32(half))) << bits;
    EXPECT_EQ(bits_of<uint32_t>(stepc_device::bf16_to_f32(half)), bits_of<uint32_t>(bf16_to_f32(half))) << bits;
  }
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4093) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    ASSERT_EQ(stepc_device::f32_to_f16(x), f32_to_f16(x)) << x;
    ASSERT_EQ(stepc_device::f32_to_bf16(x), f32_to_bf16(x)) << x;
  }
}

TEST(DeviceMath, CastsToIntegersSaturate) {
  using namespace stepc_device;
  EXPECT_EQ(to_i64(INFINITY), INT64_MAX);
  EXPECT_EQ(to_i64(-1e30), INT64_MIN);
  EXPECT_EQ(to_i64(NAN), 0);
  EXPECT_EQ(to_i32(2147483648.0F), INT32_MAX);
  EXPECT_EQ(to_i32(2147483646.5), 2147483646);
  EXPECT_EQ(to_i32(-2147483648.0F), INT32_MIN);
  EXPECT_EQ(to_i8(127.9F), 127);
  EXPECT_EQ(to_i8(-128.9F), -128);
  EXPECT_EQ(to_u8(-1.0F), 0);
  EXPECT_EQ(to_u8(254.9F), 254);
  EXPECT_EQ(to_u8(1e9F), 255);
  EXPECT_EQ(to_i64(-1.9F), -1);
}

TEST(DeviceMath, IntegerDivisionNeverTraps) {
  using namespace stepc_device;
  EXPECT_EQ(div_of<int64_t>(5, 0), 0);
  EXPECT_EQ(mod_of<int64_t>(5, 0), 0);
  EXPECT_EQ(div_of<int64_t>(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(mod_of<int64_t>(INT64_MIN, -1), 0);
  EXPECT_EQ(div_of<int64_t>(-7, 2), -3);
  EXPECT_EQ(mod_of<int64_t>(-7, 2), -1);
  EXPECT_EQ(pow_of<int64_t>(-2, 3), -8);
  EXPECT_EQ(pow_of<int64_t>(-1, -3), -1);
}

}  // namespace
}  // namespace stepc::test
