package traces

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hydrant/formats"
	"hydrant/formats/jsonl"
)

// kinds is how many kinds of components there are.
const kinds = 5

// ragpulseKinds are the kinds of components in the order in which prompts are made of
// them: the key of hash_ids, the name of the table's file without its number, and the
// key of an id in it.
var ragpulseKinds = [kinds]struct{ list, file, id string }{
	{"sys_prompt", "sys_prompt", "sys_prompt_id"},
	{"passages_ids", "passages", "passage_id"},
	{"history", "history", "history_id"},
	{"web_search", "web_search", "web_search_id"},
	{"user_input", "user_input", "user_input_id"},
}

// lookup is the table of one kind of components.
type lookup struct {
	path string
	of   map[int64]component // by id
}

// ragpulseFiles finds the tables among the names of a folder's files, and the trace
// where it is to be there as well.
func ragpulseFiles(names []string, trace bool) (tables [kinds]string, zero string, _ *jsonl.Fault) {
	find := func(what string, is func(plain string) bool) (string, *jsonl.Fault) {
		var found []string
		for _, name := range names {
			plain := stem(name)
			bare := strings.TrimLeft(plain, "0123456789")
			if bare != plain && strings.Contains(name, ".jsonl") && is(strings.TrimPrefix(bare, "_")) {
				found = append(found, name)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		got := "no such file"
		if len(found) > 1 {
			slices.Sort(found)
			got = strings.Join(found, " and ")
		}
		return "", &jsonl.Fault{What: "folder", Got: got, Want: "one file like " + what}
	}
	for k, kind := range ragpulseKinds {
		var fault *jsonl.Fault
		if tables[k], fault = find("N_"+kind.file+".jsonl", func(plain string) bool { return plain == kind.file }); fault != nil {
			return tables, "", fault
		}
	}
	if !trace {
		return tables, "", nil
	}
	zero, fault := find("0_trace.jsonl", func(plain string) bool { return strings.HasPrefix(plain, "trace") })
	return tables, zero, fault
}

// open reads the tables and opens the trace.
func (p *ragpulse) open(f Input) (r io.ReadCloser, name string, err error) {
	folder := p.o.Tables
	switch {
	case folder != "":
	case f.R == nil:
		folder = f.Path
	case f.Path != "":
		folder = filepath.Dir(f.Path)
	default:
		return nil, "", &formats.SyntaxError{Place: f.Place, What: "tables", Got: "a trace without a folder", Want: "the five tables of components", Help: "--tables DIR says where they are"}
	}
	if err := p.readTables(f, folder); err != nil {
		return nil, "", err
	}
	p.place = f.Place
	if f.R != nil {
		return io.NopCloser(f.R), f.Name, nil
	}
	names, err := fileNames(f.Path)
	if err != nil {
		return nil, "", err
	}
	_, name, fault := ragpulseFiles(names, true)
	if fault != nil {
		return nil, "", &formats.SyntaxError{Place: f.Place, What: fault.What, Got: fault.Got, Want: fault.Want}
	}
	p.place = filepath.Join(f.Path, name)
	r, err = f.Open(p.place)
	return r, name, err
}

func fileNames(folder string) (names []string, _ error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// readTables reads the five tables of a folder. Components are numbered over all of them.
func (p *ragpulse) readTables(f Input, folder string) error {
	names, err := fileNames(folder)
	if err != nil {
		return err
	}
	tables, _, fault := ragpulseFiles(names, false)
	if fault != nil {
		return &formats.SyntaxError{Place: folder, What: fault.What, Got: fault.Got, Want: fault.Want, Help: "--tables DIR says where the five tables are"}
	}
	number := int64(0)
	for k, name := range tables {
		t := &p.tables[k]
		*t = lookup{path: filepath.Join(folder, name), of: map[int64]component{}}
		if err := p.readTable(f, t, ragpulseKinds[k].id, &number); err != nil {
			return err
		}
	}
	return nil
}

func (p *ragpulse) readTable(f Input, t *lookup, key string, number *int64) error {
	r, err := f.Open(t.path)
	if err != nil {
		return err
	}
	defer r.Close()
	p.place = t.path
	m := &p.keys
	return p.lines(r, filepath.Base(t.path), func(line []byte) (*jsonl.Fault, error) {
		id, tokens := int64(0), int64(0)
		fault := m.each(line, []string{key, "token_length"}, func(name string) bool {
			switch name {
			case key:
				id = m.whole(0)
			case "token_length":
				if tokens = m.whole(1); tokens > MaxBlockSize {
					m.s.Fail(name, strconv.FormatInt(tokens, 10), fmt.Sprintf("at most %d", MaxBlockSize))
				}
			default:
				return false
			}
			return true
		})
		if fault != nil {
			return fault, nil
		}
		if fault := p.ignored(m.unknown); fault != nil {
			return fault, nil
		}
		if c, ok := t.of[id]; ok && c.tokens != tokens {
			return &jsonl.Fault{What: "token_length", Got: strconv.FormatInt(tokens, 10), Want: fmt.Sprintf("%d as before for %s %d", c.tokens, key, id)}, nil
		} else if !ok {
			*number++
			t.of[id] = component{*number, tokens}
		}
		return nil, nil
	})
}

// components reads the five lists of hash_ids.
func (p *ragpulse) components() {
	s := &p.keys.s
	for k := range p.ids {
		p.ids[k] = p.ids[k][:0]
	}
	seen := 0
	for ok := s.Open('{'); ok; ok = s.More('{') {
		name := s.Name()
		s.Field = "hash_ids." + name
		k := slices.IndexFunc(ragpulseKinds[:], func(kind struct{ list, file, id string }) bool { return kind.list == name })
		if k < 0 {
			s.Raw()
			p.keys.unknown = append(p.keys.unknown, s.Field)
			continue
		}
		if seen&(1<<k) != 0 {
			s.Fail("key", s.Field, "each key once")
		}
		seen |= 1 << k
		for ok := s.Open('['); ok; ok = s.More('[') {
			p.ids[k] = append(p.ids[k], p.keys.whole(0))
		}
	}
	for k, kind := range ragpulseKinds {
		if seen&(1<<k) == 0 {
			s.Fail("hash_ids."+kind.list, "nothing", "this list on every row")
		}
	}
}
