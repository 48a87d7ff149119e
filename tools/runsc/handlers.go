package main

import (
	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/lisafs"
)

// handlers are the messages that an ownersServer answers. It answers all others with EOPNOTSUPP: those on extended
// attributes, because they contain the records, and those on sockets, which the sandbox keeps in its memory.
var handlers = map[lisafs.MID]lisafs.RPCHandler{
	lisafs.Mount:        lisafs.MountHandler,
	lisafs.Channel:      lisafs.ChannelHandler,
	lisafs.FStat:        lisafs.FStatHandler,
	lisafs.SetStat:      handleSetStat,
	lisafs.Walk:         lisafs.WalkHandler,
	lisafs.WalkStat:     lisafs.WalkStatHandler,
	lisafs.OpenAt:       lisafs.OpenAtHandler,
	lisafs.OpenCreateAt: lisafs.OpenCreateAtHandler,
	lisafs.Close:        lisafs.CloseHandler,
	lisafs.FSync:        lisafs.FSyncHandler,
	lisafs.PWrite:       lisafs.PWriteHandler,
	lisafs.PRead:        lisafs.PReadHandler,
	lisafs.MkdirAt:      lisafs.MkdirAtHandler,
	lisafs.MknodAt:      lisafs.MknodAtHandler,
	lisafs.SymlinkAt:    lisafs.SymlinkAtHandler,
	lisafs.LinkAt:       lisafs.LinkAtHandler,
	lisafs.FStatFS:      lisafs.FStatFSHandler,
	lisafs.FAllocate:    lisafs.FAllocateHandler,
	lisafs.ReadLinkAt:   lisafs.ReadLinkAtHandler,
	lisafs.UnlinkAt:     lisafs.UnlinkAtHandler,
	lisafs.RenameAt:     lisafs.RenameAtHandler,
	lisafs.Getdents64:   lisafs.Getdents64Handler,
}

// table returns the handlers in the form of a lisafs.Server.
func table() []lisafs.RPCHandler {
	var list []lisafs.RPCHandler
	for message, handler := range handlers {
		if missing := int(message) + 1 - len(list); missing > 0 {
			list = append(list, make([]lisafs.RPCHandler, missing)...)
		}
		list[message] = handler
	}
	return list
}

// handleSetStat fails if a change fails. In a mount that others may change, too, the sandbox ignores failures that the
// answer contains, and would report success for a chmod on a full disk.
func handleSetStat(c *lisafs.Connection, comm lisafs.Communicator, length uint32) (uint32, error) {
	length, err := lisafs.SetStatHandler(c, comm, length)
	if err != nil {
		return 0, err
	}
	var answer lisafs.SetStatResp
	if _, ok := answer.CheckedUnmarshal(comm.PayloadBuf(length)); !ok {
		return 0, unix.EIO
	}
	if answer.FailureMask != 0 {
		return 0, unix.Errno(answer.FailureErrNo)
	}
	return length, nil
}
