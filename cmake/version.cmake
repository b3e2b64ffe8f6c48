# Writes OUTPUT from common/version.cc.in: cmake -DSOURCE=… -DVERSION=… -DOUTPUT=… -P version.cmake.
# Runs at every build; a file that would be the same is left alone, so nothing is built again.
set(VERSION_TEXT "${VERSION}")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${SOURCE}/.git)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --exclude=* --abbrev=12 --dirty
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    string(REPLACE "-dirty" ", changed" commit "${commit}")
    set(VERSION_TEXT "${VERSION} (commit ${commit})")
  endif()
endif()
configure_file(${SOURCE}/common/version.cc.in ${OUTPUT} @ONLY)
