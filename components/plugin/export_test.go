package plugin

// Update is the flag that writes generated files.
var Update = update
