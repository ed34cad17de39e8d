# Everything from outside. Debian's packages are found as installed; ONNX where cmake/deps/install.sh built it.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS context)
find_package(GTest REQUIRED)
find_package(Protobuf REQUIRED)
if(STEPC_BENCH)
  find_package(benchmark REQUIRED)
endif()

if(STEPC_ONEDNN)
  # Debian's package file of oneDNN asks for OpenCL, which nothing here uses.
  find_path(dnnl_include_dir dnnl.hpp REQUIRED)
  find_library(dnnl_library dnnl REQUIRED)
  add_library(DNNL::dnnl SHARED IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES
    IMPORTED_LOCATION ${dnnl_library}
    INTERFACE_INCLUDE_DIRECTORIES ${dnnl_include_dir})
endif()

execute_process(
  COMMAND ${PROJECT_SOURCE_DIR}/cmake/deps/paths.sh onnx
  OUTPUT_VARIABLE onnx_prefix OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(ONNX CONFIG PATHS ${onnx_prefix} NO_DEFAULT_PATH)
if(NOT ONNX_FOUND)
  message(FATAL_ERROR "ONNX is not built yet: run cmake/deps/install.sh once")
endif()

# Where there is no CUDA toolkit, tests compile CUDA kernels by the NVRTC that cmake/deps/install.sh installed.
execute_process(
  COMMAND ${PROJECT_SOURCE_DIR}/cmake/deps/paths.sh nvrtc
  OUTPUT_VARIABLE nvrtc_prefix OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS ${nvrtc_prefix})
  set(STEPC_NVRTC_OF_TESTS "STEPC_NVRTC=${nvrtc_prefix}/nvidia/cu13/lib")
endif()
