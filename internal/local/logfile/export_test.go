package logfile

// ReplaceStderr is what BoundStderr does at each look.
var ReplaceStderr = replaceStderr
