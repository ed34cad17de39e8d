# stepc_embed(TARGET file...): for each text file makes FILE.inc, a string literal of its content, which TARGET includes by the
# file's path from the repository's root:
#
#   constexpr std::string_view kReduce =
#   #include "codegen/cuda/reduce.cuh.inc"
#       ;
function(stepc_embed target)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    set(literal "R\"embedded(${text})embedded\"\n")
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    set(output ${PROJECT_BINARY_DIR}/embedded/${name}.inc)
    # Written only when it differs, so that a configure alone rebuilds nothing.
    if(EXISTS ${output})
      file(READ ${output} previous)
    else()
      set(previous "")
    endif()
    if(NOT literal STREQUAL previous)
      file(WRITE ${output} "${literal}")
    endif()
  endforeach()
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/embedded)
endfunction()
