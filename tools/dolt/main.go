// Command dolt is the SQL server of Dolt, restricted for users who trust neither each other nor the server: no user can
// reach files, the network, the server's settings, or a database without a grant.
//
// Upstream's own main lets every user of one database perform operations that need a privilege on the whole server. It also
// has procedures, functions and settings that reach files and addresses, and no option to turn them off.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/dolthub/dolt/go/cmd/dolt/commands/sqlserver"
	"github.com/dolthub/dolt/go/cmd/dolt/doltversion"
	"github.com/dolthub/dolt/go/libraries/doltcore/dbfactory"
	"github.com/dolthub/dolt/go/libraries/doltcore/doltdb"
	"github.com/dolthub/dolt/go/libraries/doltcore/env"
	"github.com/dolthub/dolt/go/libraries/doltcore/sqle/dfunctions"
	"github.com/dolthub/dolt/go/libraries/doltcore/sqle/dsess"
	"github.com/dolthub/dolt/go/libraries/events"
	"github.com/dolthub/dolt/go/libraries/utils/dynassert"
	"github.com/dolthub/dolt/go/libraries/utils/filesys"
	"github.com/dolthub/dolt/go/libraries/utils/svcs"
	"github.com/dolthub/dolt/go/store/util/tempfiles"
)

func main() {
	if len(os.Args) != 4 || os.Args[1] != "sql-server" || os.Args[2] != "--config" {
		fmt.Fprintln(os.Stderr, "usage: dolt sql-server --config FILE, in the folder of the databases")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx, os.Args[2:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dolt:", err)
		os.Exit(1)
	}
}

// serve runs the server until ctx ends. The working directory is the folder of the databases.
func serve(ctx context.Context, args []string) error {
	dynassert.InitDyanmicAsserts()
	dfunctions.VersionString = doltversion.Version
	events.SetGlobalCollector(events.NewCollector(doltversion.Version, events.NullEmitter{}))
	narrow()
	dolt, err := environment(ctx)
	if err != nil {
		return err
	}
	defer tempfiles.MovableTempFileProvider.Clean()
	controller := svcs.NewController()
	ended := make(chan struct{})
	go func() {
		// A server that has failed to start returns by itself.
		if controller.WaitForStart() != nil {
			return
		}
		select {
		case <-ctx.Done():
			controller.Stop()
		case <-ended:
		}
	}()
	err = sqlserver.StartServer(context.WithoutCancel(ctx), doltversion.Version, "dolt sql-server", args, dolt, dolt.FS, controller)
	close(ended)
	if closed := dbfactory.CloseAllLocalDatabases(); err == nil {
		err = closed
	}
	return err
}

// environment returns Dolt's environment: its folder and its settings.
func environment(ctx context.Context) (*env.DoltEnv, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	fs, err := filesys.LocalFS.WithWorkingDir(folder)
	if err != nil {
		return nil, err
	}
	// Dolt writes temporary files beside the databases, into which it renames them, and never to a shared folder.
	temporary := filepath.Join(folder, dbfactory.DoltDir, env.TmpDirName)
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return nil, err
	}
	tempfiles.MovableTempFileProvider = tempfiles.NewTempFileProviderAt(temporary)
	dolt := env.LoadWithoutDB(ctx, env.GetCurrentUserHomeDir, fs, doltdb.LocalDirDoltDB, doltversion.Version)
	if dolt.CfgLoadErr != nil {
		return nil, fmt.Errorf("read the settings: %w", dolt.CfgLoadErr)
	}
	if dolt.Config, err = env.LoadDoltCliConfig(env.GetCurrentUserHomeDir, unwritable{fs}); err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	return dolt, dsess.InitPersistedSystemVars(dolt)
}
