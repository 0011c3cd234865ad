package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"hydrant/formats"
)

// tasks reads what each thread of a process has had of the scheduler, through files that
// stay open. The file of the process itself covers its main thread only.
type tasks struct {
	dir  string // /proc/PID/task
	open map[string]*task
	buf  [128]byte
}

// task is one thread at the last read.
type task struct {
	file         *os.File
	wait, slices int64
	seen         bool
}

// read returns the increase of run-queue wait (ns) and timeslices since the last call, over
// all threads; null where the kernel keeps no such statistics. A thread that died since
// the last call loses its last interval.
func (t *tasks) read() (wait, slices formats.Int) {
	d, err := os.Open(t.dir)
	if err != nil {
		return
	}
	names, err := d.Readdirnames(-1)
	d.Close()
	if err != nil {
		return
	}
	if t.open == nil {
		t.open = map[string]*task{}
	}
	for _, name := range names {
		k := t.open[name]
		w, s, ok := t.stat(k)
		if !ok { // a new thread, or the id of a dead one was given to a new one
			k.close()
			delete(t.open, name)
			f, err := os.Open(filepath.Join(t.dir, name, "schedstat"))
			if err != nil {
				continue
			}
			k = &task{file: f}
			if w, s, ok = t.stat(k); !ok {
				k.close()
				continue
			}
			t.open[name] = k
		}
		wait, slices = formats.Some(wait.V+w-k.wait), formats.Some(slices.V+s-k.slices)
		k.wait, k.slices, k.seen = w, s, true
	}
	for name, k := range t.open {
		if !k.seen {
			k.close()
			delete(t.open, name)
		}
		k.seen = false
	}
	return wait, slices
}

// stat reads "ns on CPU, ns waiting, timeslices" of a thread.
func (t *tasks) stat(k *task) (wait, slices int64, ok bool) {
	if k == nil {
		return 0, 0, false
	}
	n, _ := k.file.ReadAt(t.buf[:], 0) // an error leaves n at 0; io.EOF is the end of a short file
	f := bytes.Fields(t.buf[:n])
	if len(f) != 3 {
		return 0, 0, false
	}
	wait, errW := strconv.ParseInt(string(f[1]), 10, 64)
	slices, errS := strconv.ParseInt(string(f[2]), 10, 64)
	return wait, slices, errW == nil && errS == nil
}

func (k *task) close() {
	if k != nil {
		k.file.Close()
	}
}

func (t *tasks) close() {
	for _, k := range t.open {
		k.close()
	}
	t.open = nil
}
