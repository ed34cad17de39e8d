#pragma once

#include "runtime/cuda/cublaslt.h"
#include "tests/runtime/cuda/fake_driver.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace stepc::test {

// Stands in for cuBLASLt over the memory of a FakeDriver: reads the descriptors as the library's manual defines them,
// multiplies naively, and refuses what the library would.
class FakeCublasLt {
 public:
  // With a driver, products are enqueued on its streams as "cublasLtMatmul"; without one they are done at once.
  explicit FakeCublasLt(FakeDriver* driver = nullptr) : driver_(driver) {}
  FakeCublasLt(const FakeCublasLt&) = delete;
  FakeCublasLt& operator=(const FakeCublasLt&) = delete;

  cuda::CublasLtApi table();
  size_t live_objects() const { return matrices_.size() + products_.size() + preferences_.size() + handles_; }

  size_t version = 130100;
  int choices = 1;  // how many algorithms it has
  int create_status = 0;
  bool refuses_kept_algorithm = false;

  int heuristics = 0;  // how often an algorithm was asked for
  struct Call {
    uint64_t algorithm = 0;
    int compute_type = 0;
    int batch = 0;
    bool has_bias = false;
    size_t workspace_bytes = 0;
    void* workspace = nullptr;
  };
  std::vector<Call> calls;
  std::map<int, uint64_t> preferences;  // the last ones, by attribute

 private:
  struct Matrix {
    int type = 0;
    int64_t rows = 0, columns = 0, leading = 0, batch_stride = 0;
    int32_t batch = 1;
  };
  struct Product {
    int compute_type = 0;
    int32_t transpose_a = 0, transpose_b = 0;
    uint32_t epilogue = 1;
    const void* bias = nullptr;
    int64_t bias_stride = 0;
  };

  static int set(Matrix& matrix, int attribute, const void* value, size_t bytes);
  static int set(Product& product, int attribute, const void* value, size_t bytes);
  static bool is_valid(const Product& product, const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d);
  static void multiply(const Product& product, const void* a, const Matrix& a_matrix, const void* b,
                       const Matrix& b_matrix, float beta, const void* c, const Matrix& c_matrix, void* d,
                       const Matrix& d_matrix);
  void add_descriptors(cuda::CublasLtApi& api);
  void add_products(cuda::CublasLtApi& api);

  FakeDriver* driver_;
  std::map<void*, std::unique_ptr<Matrix>> matrices_;
  std::map<void*, std::unique_ptr<Product>> products_;
  std::map<void*, std::unique_ptr<int>> preferences_;
  size_t handles_ = 0;
};

}  // namespace stepc::test
