package traces

import (
	"cmp"
	"slices"
)

// family finds the session of chats that each name a parent: the chat that its parents
// lead to, wherever in the file they stand. The zero value is ready.
type family struct {
	list  []chat
	index map[int64]int // by id
}

// chat is one request of a family.
type chat struct {
	id     int64
	parent int64 // its id while chats are added, then its index; none where there is none
	line   int64
	at     int64 // ns
	turn   int64 // as recorded
	rank   int64 // its place in the session, by turn and time
	root   int   // index
	left   int64 // of a root: requests of the session that have not come out
	out    int64 // its id in the schedule, none before
}

// none is no chat.
const none = -1

// add adds a chat and returns its index, or the chat that has its id already.
func (f *family) add(c chat) (index int, twin *chat) {
	if f.index == nil {
		f.index = map[int64]int{}
	}
	if i, ok := f.index[c.id]; ok {
		return 0, &f.list[i]
	}
	f.index[c.id] = len(f.list)
	c.root = none
	f.list = append(f.list, c)
	return len(f.list) - 1, nil
}

// at returns a chat and its root.
func (f *family) at(index int) (c, root *chat) {
	c = &f.list[index]
	return c, &f.list[c.root]
}

// settle finds roots and ranks when all chats are there. It returns how many have a
// parent that is not: the walk ends at those. loop is a chat that descends from itself.
func (f *family) settle() (orphans int64, loop *chat) {
	for i := range f.list {
		c := &f.list[i]
		if c.parent == none {
			continue
		}
		if p, ok := f.index[c.parent]; ok {
			c.parent = int64(p)
		} else {
			c.parent = none
			orphans++
		}
	}
	f.index = nil
	var path []int
	for i := range f.list {
		path = path[:0]
		at := i
		for f.list[at].root == none {
			path = append(path, at)
			f.list[at].root = walking
			if f.list[at].parent == none {
				f.list[at].root = at
				break
			}
			at = int(f.list[at].parent)
		}
		root := f.list[at].root
		if root == walking {
			return 0, &f.list[at]
		}
		for _, j := range path {
			f.list[j].root = root
		}
		f.list[root].left++
	}
	f.rank()
	return orphans, nil
}

// walking marks a chat on the path that is being walked.
const walking = -2

// rank numbers the chats of each session from 0, by turn, then time, then line.
func (f *family) rank() {
	order := make([]int, len(f.list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &f.list[a], &f.list[b]
		return cmp.Or(cmp.Compare(x.root, y.root), cmp.Compare(x.turn, y.turn), cmp.Compare(x.at, y.at), cmp.Compare(x.line, y.line))
	})
	root, rank := none, int64(0)
	for _, i := range order {
		c := &f.list[i]
		if c.root != root {
			root, rank = c.root, 0
		}
		c.rank = rank
		rank++
	}
}
