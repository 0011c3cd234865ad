// Package pace releases requests at absolute instants of CLOCK_MONOTONIC.
//
// A Queue orders what is due and an Alarm sleeps to the next instant on a pinned
// thread. An instant comes from the plan and is never moved: an item that is late goes
// out late, so errors of single sleeps do not add up and a stall shows as lag instead
// of thinning the load.
package pace
