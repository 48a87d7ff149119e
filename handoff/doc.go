// Package handoff holds the contexts of Strata: the data that one layer hands to the next.
//
// Bootstrap goes from layer 1 to layer 2 as the outputs of a Pulumi stack. Tenant goes from layer 2 to a team as a Secret
// and a ConfigMap in the team's namespace. A reader checks a whole context before it uses any part of it.
package handoff
