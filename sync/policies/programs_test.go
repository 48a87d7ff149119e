package policies_test

import "fmt"

const askForTypes = ". Programs of team web may declare gcp:sql/database:Database, random:*; for others ask the platform team"

var programs = map[string]attempt{
	"none at all":               {program("{}"), ""},
	"what is given":             {program("{resources: {a: {type: 'gcp:sql/database:Database', properties: {name: web}}, b: {type: 'random:index/randomPassword:RandomPassword'}}}"), ""},
	"the same, written short":   {program("{resources: {a: {type: 'gcp:sql:Database', properties: {name: web_shop, instance: '${instance}'}}, b: {type: 'random:RandomPassword'}}}"), ""},
	"what Pulumi calls with it": {program("{variables: {server: {fn::invoke: {function: 'gcp:sql:getDatabaseInstance', arguments: {name: x}}}}, outputs: {x: {fn::toJSON: [1, {a: true, b: null, c: 1.5}]}}}"), ""},
	"a package by its version":  {program("{packages: {random: 4.16.7, gcp: 'gcp@7.38.0'}}"), ""},
	"harmless options":          {program("{resources: {a: {type: 'gcp:sql:Database', properties: {name: web_shop}, options: {protect: true, aliases: [old], version: 7.38.0, dependsOn: ['${b}']}}, b: {type: 'random:RandomPet'}}}"), ""},
	"another package": {program("{resources: {vm: {type: 'gcp:compute:Instance'}}}"),
		`resource "vm" is of type gcp:compute:Instance. Programs of team web may declare gcp:sql/database:Database, random:*; for others ask the platform team`},
	"a component":                {program("{resources: {a: {type: 'strata:index:Database', properties: {name: web}}}}"), `resource "a" is of type strata:index:Database` + askForTypes},
	"another of the module":      {program("{resources: {vm: {type: 'gcp:sql:DatabaseInstance'}}}"), `resource "vm" is of type gcp:sql:DatabaseInstance` + askForTypes},
	"what only begins so":        {program("{resources: {grant: {type: 'gcp:sql:DatabaseGrant'}}}"), `resource "grant" is of type gcp:sql:DatabaseGrant` + askForTypes},
	"a package that begins so":   {program("{resources: {pet: {type: 'randomness:Pet'}}}"), `resource "pet" is of type randomness:Pet` + askForTypes},
	"the first of two is named":  {program("{resources: {b: {type: 'x:y:Z'}, a: {type: 'x:y:Y'}, ok: {type: 'random:RandomPet'}}}"), `resource "a" is of type x:y:Y (and 1 more)` + askForTypes},
	"one that is only read":      {program("{resources: {vm: {type: 'gcp:compute:Instance', get: {id: x}}}}"), `resource "vm" is of type gcp:compute:Instance` + askForTypes},
	"a provider of its own":      {program("{resources: {mine: {type: 'pulumi:providers:gcp'}}}"), `resource "mine" is of type pulumi:providers:gcp` + noPulumi},
	"another stack":              {program("{resources: {up: {type: 'pulumi:pulumi:StackReference', properties: {name: bootstrap}}}}"), `resource "up" is of type pulumi:pulumi:StackReference` + noPulumi},
	"a provider in options":      {program("{resources: {a: {type: 'random:RandomPet', options: {provider: 'urn:x'}}}}"), `resource "a" names a provider in its options` + noProvider},
	"providers in options":       {program("{resources: {a: {type: 'random:RandomPet', options: {providers: {gcp: '${x}'}}}}}"), `resource "a" names a provider in its options` + noProvider},
	"a package by its address":   {program("{packages: {random: 'https://example.com/random'}}"), `package "random" comes from https://example.com/random` + noAddress},
	"a package of a repository":  {program("{packages: {random: 'github.com/example/random@v1'}}"), `package "random" comes from github.com/example/random@v1` + noAddress},
	"a package of a folder":      {program("{packages: {random: ./random}}"), `package "random" comes from ./random` + noAddress},
	"a stack read in a variable": {program("{variables: {x: {fn::stackReference: [bootstrap, kubeconfig]}}}"), "a value contains fn::stackReference" + noCalls},
	"the same, deep and in capitals": {program("{outputs: {x: {a: [{b: {Fn::StackReference: [bootstrap, kubeconfig]}}]}}}"),
		"a value contains fn::stackReference" + noCalls},
	"the same, with the sign for Kelvin": {program("{variables: {x: {\"fn::stac\u212Areference\": [bootstrap, kubeconfig]}}}"),
		"a value contains fn::stackReference" + noCalls},
	"a function of the engine": {program("{variables: {x: {fn::invoke: {function: 'pulumi:pulumi:readStackOutputs', arguments: {name: bootstrap}}}}}"),
		"a value contains pulumi:pulumi:" + noCalls},
	"a function of the engine, short": {program("{resources: {a: {type: 'random:RandomPet', properties: {x: {fn::pulumi:readStackOutputs: {name: bootstrap}}}}}}"),
		"a value contains fn::pulumi:" + noCalls},
	"a plugin from elsewhere": {program("{variables: {x: {fn::invoke: {function: 'random:x:y', options: {pluginDownloadURL: 'https://example.com'}}}}}"),
		"a value contains pluginDownloadURL" + noCalls},
}

const (
	noPulumi   = ". Programs of team web may not read other stacks or declare providers; ask the platform team"
	noProvider = ". Programs of team web run with the providers of the team; ask the platform team"
	noAddress  = ". Programs of team web may name versions of packages, but no addresses; ask the platform team"
	noCalls    = ". Programs of team web may not read other stacks or load other plugins; ask the platform team"
)

func program(body string) string {
	return fmt.Sprintf("{apiVersion: pulumi.com/v1, kind: Program, metadata: {name: tried}, program: %s}", body)
}
