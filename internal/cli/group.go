package cli

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// PanicError is a panic that was caught: a broken invariant of this program, not
// a fault of the input.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("internal error: %v", e.Value) }

// Hint asks for a report.
func (e *PanicError) Hint() string {
	return "this is a fault of the program; please report it with the lines below"
}

// Group runs goroutines and hands their first error to whoever waits. A panic in
// one of them would end the process with status 2, which means something else
// here; Group turns it into a *PanicError. The zero value is ready.
type Group struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	err  error
	dead bool // err is a panic and stays
}

// Go runs f in a goroutine of its own.
func (g *Group) Go(f func() error) {
	g.wg.Go(func() { g.keep(Guard(f)) })
}

func (g *Group) keep(err error) {
	if err == nil {
		return
	}
	_, panicked := err.(*PanicError)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil || panicked && !g.dead {
		g.err, g.dead = err, panicked
	}
}

// Wait blocks until every function has returned and returns the first error; a
// panic comes before any other error, since it is the likelier cause.
func (g *Group) Wait() error {
	g.wg.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Guard calls f and returns its error; a panic inside becomes a *PanicError.
func Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}
