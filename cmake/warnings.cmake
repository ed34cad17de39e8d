# Flags for our own code only; what comes from outside is included as system headers.
add_library(stepc_flags INTERFACE)
target_compile_options(stepc_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
# g++ 12 reports overlaps that cannot happen in "literal" + std::string (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(stepc_flags INTERFACE -Wno-restrict)
endif()
if(STEPC_WERROR)
  target_compile_options(stepc_flags INTERFACE -Werror)
endif()

# __FILE__ is relative to the repository, whether the compiler is called with absolute paths or (by ccache) with relative ones.
file(RELATIVE_PATH source_from_build ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
string(REGEX REPLACE "/$" "" source_from_build ${source_from_build})
target_compile_options(stepc_flags INTERFACE
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -fmacro-prefix-map=${source_from_build}/=)

# Bits may not depend on whether the compiler fuses a multiply and an add: fma is written where it is meant.
target_compile_options(stepc_flags INTERFACE -ffp-contract=off)

if(STEPC_SANITIZE)
  target_compile_options(stepc_flags INTERFACE
    -fsanitize=${STEPC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(stepc_flags INTERFACE -fsanitize=${STEPC_SANITIZE})
endif()
