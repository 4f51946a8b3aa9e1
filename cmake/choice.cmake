include_guard(GLOBAL)

# shakedown_choice(NAME text): a choice of who builds, by -DNAME=... or else by the environment, which is read each time: a
# build folder does not keep what the environment said when it was made.
macro(shakedown_choice name text)
  set(${name} "" CACHE STRING "${text}")
  if("${${name}}" STREQUAL "")
    set(${name} "$ENV{${name}}")
  endif()
endmacro()

# The programs of these names in folders, folder by folder: shakedown_named_in(out "FOLDERS" NAME...)
function(shakedown_named_in out folders)
  set(found "")
  foreach(folder ${folders})
    foreach(name ${ARGN})
      if(EXISTS ${folder}/${name})
        list(APPEND found ${folder}/${name})
      endif()
    endforeach()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# The folders on PATH, each once.
function(shakedown_path out)
  string(REPLACE ":" ";" folders "$ENV{PATH}")
  list(REMOVE_DUPLICATES folders)
  set(${out} ${folders} PARENT_SCOPE)
endfunction()

# Compile and link a small program, and read what it says of a library where it stands as SHAKEDOWN[first|second]:
# shakedown_trial(FOLDER "COMPILE" "LINK" works first second). Its source is trial.cpp in that folder; what the compiler
# said of a failure goes into trial.log there.
function(shakedown_trial folder compile link out_works out_first out_second)
  try_compile(works ${folder}/build SOURCES ${folder}/trial.cpp COMPILE_DEFINITIONS ${compile} LINK_LIBRARIES ${link}
              OUTPUT_VARIABLE said COPY_FILE ${folder}/trial)
  if(NOT works)
    file(WRITE ${folder}/trial.log "${said}")
    set(${out_works} FALSE PARENT_SCOPE)
    return()
  endif()
  file(STRINGS ${folder}/trial found REGEX "SHAKEDOWN\\[[^|]*\\|[^]]*\\]" LIMIT_COUNT 1)
  string(REGEX MATCH "SHAKEDOWN\\[([^|]*)\\|([^]]*)\\]" found "${found}")
  set(${out_works} TRUE PARENT_SCOPE)
  set(${out_first} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  set(${out_second} "${CMAKE_MATCH_2}" PARENT_SCOPE)
endfunction()
