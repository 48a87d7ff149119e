package logfile

// ReplaceStderr is one check of BoundStderr.
var ReplaceStderr = replaceStderr
