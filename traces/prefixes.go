package traces

import "hydrant/formats/schedule"

// prefixes gives block ids to prompts that are lists of components, by what stands in
// front: blocks of equal texts after equal texts have equal ids. An id counts the first
// appearances of (id of the block before, the parts of components in the block). A block
// belongs to the component in which it ends, so that a tree of component lists says all
// of it: the blocks that end in one node are numbered when the node is new. Memory is
// some 50 bytes for each distinct list of leading components.
type prefixes struct {
	size  int64 // tokens of a block, full ones only
	nodes map[edge]node
	fresh int64 // the next id
	runs  []schedule.Run
}

// component is a stretch of text: its number, unique over all kinds, and its length.
type component struct{ number, tokens int64 }

// edge leads from a list of components to one that has another behind it.
type edge struct{ list, number int64 }

// node is a list of components: its number, from 1, and the id of the first block that
// ends in its last component.
type node struct{ list, first int64 }

// cut returns the ids of a prompt's full blocks as runs, at most the first most of them,
// valid until the next call.
func (p *prefixes) cut(parts []component, most int64) []schedule.Run {
	if p.nodes == nil {
		p.nodes = map[edge]node{}
	}
	p.runs = p.runs[:0]
	list, off := int64(0), int64(0)
	for _, c := range parts {
		ends := (off+c.tokens)/p.size - off/p.size // blocks that end in c
		e := edge{list, c.number}
		n, ok := p.nodes[e]
		if !ok {
			n = node{int64(len(p.nodes)) + 1, p.fresh}
			p.nodes[e] = n
			p.fresh += ends
		}
		if k := min(ends, most); k > 0 {
			p.runs = appendRun(p.runs, schedule.Run{n.first, k})
			most -= k
		}
		list, off = n.list, off+c.tokens
	}
	return p.runs
}
