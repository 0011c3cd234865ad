package wire

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// loopBatch is how many ready sockets one system call names.
const loopBatch = 128

// poller is an epoll instance with a bell.
type poller struct {
	fd    int
	bell  int   // eventfd
	timer int   // timerfd for instants that are far
	armed int64 // what it is armed for, CLOCK_MONOTONIC; 0: nothing
	old   bool  // the kernel has no epoll_pwait2: the timer ends all waits
	keepP bool
	cut   int // waits in a row that a signal ended
	batch [loopBatch]unix.EpollEvent
}

// cutWaits is after how many waits in a row that a signal ended the thread gives up its P:
// after some 200 ms in which nothing came.
const cutWaits = 16

// Slots that are no socket's.
const (
	bellSlot  = -1
	timerSlot = -2
)

func (p *poller) open() (err error) {
	p.fd, p.bell, p.timer = -1, -1, -1
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if p.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	// edge-triggered: each ring is an edge, and the counter never has to be read
	if err = p.watch(p.bell, handle{slot: bellSlot}, unix.EPOLLIN|unix.EPOLLET); err != nil {
		return err
	}
	_, errno := p.pwait2(0)
	p.old = errno == unix.ENOSYS || errno == unix.EPERM
	if p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return err
	}
	return p.watch(p.timer, handle{slot: timerSlot}, unix.EPOLLIN|unix.EPOLLET)
}

func (p *poller) watch(fd int, h handle, events uint32) error {
	return unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: h.slot, Pad: int32(h.gen)})
}

// wait returns what is ready within timeout ns, below 0 for ever. The slice is valid
// until the next call.
func (p *poller) wait(timeout int64) []unix.EpollEvent {
	var n int
	var errno unix.Errno
	switch {
	case !p.old:
		n, errno = p.pwait2(timeout)
	case timeout <= 0:
		n, errno = p.pwait(int(max(timeout, -1)))
	default:
		p.armed = 0
		it := unix.ItimerSpec{Value: unix.NsecToTimespec(timeout)}
		if err := unix.TimerfdSettime(p.timer, 0, &it, nil); err != nil {
			n, errno = p.pwait(int(timeout/1e6) + 1) // late, which the lag shows
		} else {
			n, errno = p.pwait(-1)
		}
	}
	if errno != 0 && errno != unix.EINTR {
		panic("internal error: epoll_wait: " + errno.Error())
	}
	p.cut++
	if errno != unix.EINTR {
		p.cut = 0
	}
	if errno != 0 {
		n = 0
	}
	for i := range p.batch[:n] {
		if p.batch[i].Fd == timerSlot {
			p.armed = 0 // it has rung, however early that is by the caller's clock
		}
	}
	return p.batch[:n]
}

// alarm has the timer end a wait without a timeout at instant at, or before it when it was
// armed for a nearer one. It reports whether there is a timer.
func (p *poller) alarm(at, now int64) bool {
	if p.armed > now && p.armed <= at {
		return true
	}
	it := unix.ItimerSpec{Value: unix.NsecToTimespec(at)}
	if err := unix.TimerfdSettime(p.timer, unix.TFD_TIMER_ABSTIME, &it, nil); err != nil {
		return false
	}
	p.armed = at
	return true
}

// pwait2 is epoll_pwait2. A wait that does not block need not tell the scheduler, nor one of
// a thread with a P of its own: given up, the P would be taken over by sysmon at each
// wait, and sysmon then looks at all of them every 20 µs. A stop of the world ends the
// wait with its signal. So does sysmon, every 10 to 20 ms, as if a goroutine ran too long, which
// costs several switches of threads: after cutWaits of them nothing is going on, and
// the P is given up.
func (p *poller) pwait2(timeout int64) (int, unix.Errno) {
	var t *unix.Timespec
	if timeout >= 0 {
		ts := unix.NsecToTimespec(timeout)
		t = &ts
	}
	if timeout == 0 || p.keepP && p.cut < cutWaits {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.batch[0])), loopBatch, uintptr(unsafe.Pointer(t)), 0, 0)
		return int(n), errno
	}
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.batch[0])), loopBatch, uintptr(unsafe.Pointer(t)), 0, 0)
	return int(n), errno
}

func (p *poller) pwait(ms int) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.batch[0])), loopBatch, uintptr(ms), 0, 0)
	return int(n), errno
}

// ring wakes whoever waits. It may be called by any goroutine until close.
func (p *poller) ring() {
	one := [8]byte{1}
	_, _ = unix.Write(p.bell, one[:]) // a full counter has rung already
}

func (p *poller) close() {
	for _, fd := range []*int{&p.fd, &p.bell, &p.timer} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
}
