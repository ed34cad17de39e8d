# stepc_embed_text(OUT FILE...): a C++ source in the build tree that holds the FILEs' text, in that order, as
# `extern const std::string_view embedded_NAME[]`, NAME being OUT without its ending. Lines that include repository
# headers and `#pragma once` are left out: the texts are pasted one after the other.
function(stepc_embed_text out variable)
  set(text "#include <string_view>\n\nnamespace stepc {\nextern const std::string_view ${variable}[];\n")
  string(APPEND text "extern const std::string_view* const ${variable}_end;\nconst std::string_view ${variable}[] = {\n")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    file(READ ${file} content)
    string(REGEX REPLACE "#pragma once\n" "" content "${content}")
    string(REGEX REPLACE "#include \"[^\n]*\n" "" content "${content}")
    string(APPEND text "R\"embedded(${content})embedded\",\n")
  endforeach()
  string(APPEND text "};\nconst std::string_view* const ${variable}_end = std::end(${variable});\n}  // namespace stepc\n")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${out} CONTENT "${text}" @ONLY)
endfunction()
