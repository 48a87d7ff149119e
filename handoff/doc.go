// Package handoff holds the contexts of Strata: everything that one layer hands to the next, and nothing more.
//
// Bootstrap travels from layer 1 to layer 2 as the outputs of a Pulumi stack. Tenant travels from layer 2 to a team as
// a Secret and a ConfigMap in the team's namespace. A reader checks a context as a whole before it uses any of it.
package handoff
