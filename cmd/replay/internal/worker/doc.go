// Package worker is one worker process of a replay: it takes jobs from its parent,
// prepares their bodies ahead, sends each at its instant and reports a row for every
// one of them, whatever became of it.
//
// Main is the whole process. Goroutines and what they own:
//
//	reader     takes frames from the parent; never blocks on anything else
//	preparer   builds bodies ahead, within a budget of bytes
//	pacer      a pinned thread that sleeps to the next instant and hands over; an engine
//	           with an event loop serves its sockets in that sleep
//	one per request in flight, in the engine on net/http
//	reporter   tells the parent what was dispatched
//	rows       encodes finished rows into record batches
//	ticker     writes a client row each second; two probes measure hiccups
package worker
