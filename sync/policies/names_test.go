package policies_test

import (
	"fmt"
	"strings"
)

// databaseNames are names that Programs give to databases and users, for a team that may declare every type of Google
// Cloud and every component of Strata.
var databaseNames = map[string]attempt{
	"a name with a part that is known when it runs": {named("Database", "'web_${pulumi.stack}-1'"), ""},
	"the longest name of a database":                {named("Database", "web_"+strings.Repeat("a", 60)), ""},
	"the longest name of a user":                    {named("User", "web_"+strings.Repeat("a", 28)), ""},
	"another team's database": {named("Database", "hr_salaries"),
		`resource "a" has the name "hr_salaries", which only team hr may use. Programs of team web must name their databases and users web, or web_ followed by letters, digits, _ and -, up to 64 characters for a database and 32 for a user; ask the platform team`},
	"another team's user":                        {named("User", "hr"), `resource "a" has the name "hr", which only team hr may use` + noName},
	"the user of a team that begins so":          {named("User", "web-2_x"), `resource "a" has the name "web-2_x", which only team web-2 may use` + noName},
	"the administrator of the instance":          {named("User", "root"), `resource "a" has the name "root", which only team root may use` + noName},
	"a team's name in capitals":                  {named("Database", "WEB_shop"), `resource "a" has the name "WEB_shop", which only team WEB may use` + noName},
	"the type in its long form":                  {ofType("gcp:sql/user:User", "{name: hr}"), `resource "a" has the name "hr", which only team hr may use` + noName},
	"the type in other cases":                    {ofType("gcp:sql/uSeR:user", "{name: hr}"), `resource "a" has the name "hr", which only team hr may use` + noName},
	"the type in letters that fold to these":     {ofType("gcp:sql/databa\u017fe:Databa\u017fe", "{name: hr}"), `resource "a" has the name "hr", which only team hr may use` + noName},
	"a name that is known when it runs":          {named("Database", "'${name}'"), `resource "a" has the name "${name}", which begins with a value that is known only at run time` + noName},
	"a team's name that goes on when it runs":    {named("Database", "'web${rest}_x'"), `resource "a" has the name "web${rest}_x", which begins with a value that is known only at run time` + noName},
	"a name that is decoded again":               {named("Database", "'web_%2e%2e%2fhr'"), `resource "a" has the name "web_%2e%2e%2fhr", which is too long or has other characters` + noName},
	"a name with a folder in it":                 {named("Database", "'web_/../hr'"), `resource "a" has the name "web_/../hr", which is too long or has other characters` + noName},
	"a name with a dot":                          {named("Database", "web_a.b"), `resource "a" has the name "web_a.b", which is too long or has other characters` + noName},
	"a name that ends its line":                  {named("Database", `"web_a\nb"`), `resource "a" has a name with characters outside printable ASCII` + noName},
	"a name with a zero byte":                    {named("Database", `"web_\0"`), `resource "a" has a name with characters outside printable ASCII` + noName},
	"a name in letters that look like these":     {named("Database", "w\u0435b_shop"), `resource "a" has a name with characters outside printable ASCII` + noName},
	"a dollar that only looks like a reference":  {named("Database", "'web_$${x}'"), `resource "a" has the name "web_$${x}", which is too long or has other characters` + noName},
	"a name that MySQL cuts off":                 {named("User", "web_"+strings.Repeat("a", 29)), `resource "a" has the name "web_` + strings.Repeat("a", 29) + `", which is too long or has other characters` + noName},
	"a name that is too long by what is known":   {named("Database", "'web_${x}"+strings.Repeat("a", 61)+"'"), `resource "a" has the name "web_${x}` + strings.Repeat("a", 61) + `", which is too long or has other characters` + noName},
	"a name that a function makes":               {named("Database", "{fn::join: ['', [h, r]]}"), `resource "a" has no plain-text name` + noName},
	"a name that is no text":                     {named("Database", "[hr]"), `resource "a" has no plain-text name` + noName},
	"no name at all":                             {ofType("gcp:sql:Database", "{instance: x}"), `resource "a" has no plain-text name` + noName},
	"no properties at all":                       {program("{resources: {a: {type: 'gcp:sql:User'}}}"), `resource "a" has no plain-text name` + noName},
	"a component":                                {ofType("strata:index:Database", "{name: web_shop}"), ""},
	"another team's database by a component":     {ofType("strata:index:Database", "{name: hr_salaries}"), `resource "a" has the name "hr_salaries", which only team hr may use` + noName},
	"a component's type in another spelling":     {ofType("Strata:index/DATABASE:database", "{name: hr}"), `resource "a" is of type Strata:index/DATABASE:database. Programs of team web may declare gcp:*, strata:*; for others ask the platform team`},
	"a component's type in its short form":       {ofType("strata:dataBase", "{name: hr}"), `resource "a" has the name "hr", which only team hr may use` + noName},
	"a component without a name":                 {ofType("strata:index:Database", "{instance: x}"), `resource "a" has no plain-text name` + noName},
	"a component whose user has too long a name": {ofType("strata:index:Database", "{name: web_"+strings.Repeat("a", 29)+"}"), `resource "a" has the name "web_` + strings.Repeat("a", 29) + `", which is too long or has other characters` + noName},
	"a database that is imported":                {program("{resources: {a: {type: 'gcp:sql:Database', properties: {name: web_shop}, options: {import: hr_salaries}}}}"), `resource "a" reads or imports an existing resource` + noTaking},
	"a user that is read":                        {program("{resources: {a: {type: 'gcp:sql:User', get: {id: hr}}}}"), `resource "a" reads or imports an existing resource` + noTaking},
}

const (
	noName   = ". Programs of team web must name their databases and users web, or web_ followed by letters, digits, _ and -, up to 64 characters for a database and 32 for a user; ask the platform team"
	noTaking = ". Programs of team web create their own databases and users, and may not take over existing ones; ask the platform team"
)

func named(kind, name string) string { return ofType("gcp:sql:"+kind, "{name: "+name+"}") }

func ofType(kind, properties string) string {
	return program(fmt.Sprintf(`{resources: {a: {type: "%s", properties: %s}}}`, kind, properties))
}
