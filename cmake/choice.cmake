include_guard(GLOBAL)

# shakedown_choice(NAME text): a choice of who builds, by -DNAME=... or else by the environment, which is read each time: a
# build folder does not keep what the environment said when it was made.
macro(shakedown_choice name text)
  set(${name} "" CACHE STRING "${text}")
  if("${${name}}" STREQUAL "")
    set(${name} "$ENV{${name}}")
  endif()
endmacro()
