package traces

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
	arriving "hydrant/internal/arrivals"
)

// servegenWindow is how long the rate of a row holds, s.
const servegenWindow = 600

// servegenRate bounds a rate, requests per s: a window's requests stay countable.
const servegenRate = 1e6

var servegenFormat = Format{
	Name:  "servegen",
	Usage: "from ServeGen's parameters of clients, sampled",
	Text: `TRACE is chunk-N-trace.csv with chunk-N-dataset.json beside it, or a folder of such
pairs; each pair is a client and becomes a class. The files hold parameters, not
requests: a rate and a shape of the gaps for each 600 s, and the lengths every few
hours. Requests are drawn with --seed; their number is that of the file for any seed.
One number in 0..1 gives all lengths of a request, as in the authors' generator, so
long prompts have long answers; --independent draws each for itself.

  tracegen servegen chunk-52-trace.csv --seed 3 -o client.sched.zst
  tracegen servegen ServeGen/data/language/m-large --window 0s:1h | replay --sim default | reduce`,
	Options: []string{"independent", "strict"},
	Folder:  true,
	Draws:   true,
	Sniff: func(head []byte, names []string) bool {
		if len(names) > 0 {
			return len(servegenClients(names)) > 0
		}
		cells, fault := split(firstLine(head))
		if fault != nil || len(cells) != 6 || cells[3] != "" && cells[3] != "Gamma" && cells[3] != "Weibull" {
			return false
		}
		for i, c := range cells {
			if i != 3 && !isDecimal([]byte(c)) {
				return false
			}
		}
		return true
	},
	Read: ServeGen,
}

// ServeGen draws requests from ServeGen's parameters.
//
// Errors are *formats.SyntaxError or *formats.TruncatedError with the row, or those of
// the files and of the temporary file. Memory is that of one client's parameters.
func ServeGen(f Input, o Options) (*Trace, error) {
	in := newIntake(f.Place, o.Strict)
	p := &servegen{intake: in, o: o, rows: newStore(in)}
	t, err := p.read(f)
	if err != nil {
		p.rows.close()
		return nil, err
	}
	return t, nil
}

// servegen is a folder of clients while it is read.
type servegen struct {
	*intake
	o    Options
	rows *store
	made int64 // requests
}

// servegenClient is a pair of files.
type servegenClient struct{ name, trace, dataset string }

const servegenTrace, servegenDataset = "-trace.csv", "-dataset.json"

// servegenClients pairs the files of a folder, in order of their names.
func servegenClients(names []string) (all []servegenClient) {
	datasets := map[string]string{}
	for _, n := range names {
		if client, ok := strings.CutSuffix(unpacked(n), servegenDataset); ok {
			datasets[client] = n
		}
	}
	for _, n := range names {
		if client, ok := strings.CutSuffix(unpacked(n), servegenTrace); ok && datasets[client] != "" {
			all = append(all, servegenClient{client, n, datasets[client]})
		}
	}
	slices.SortFunc(all, func(a, b servegenClient) int { return strings.Compare(a.name+a.trace, b.name+b.trace) })
	return all
}

// unpacked is a file's name without the extension of a compressor.
func unpacked(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, ".zst"), ".gz")
}

func (p *servegen) read(f Input) (*Trace, error) {
	folder := f.Path
	if f.R != nil {
		if folder = filepath.Dir(f.Path); f.Path == "" {
			return nil, &formats.SyntaxError{Place: f.Place, What: "dataset", Got: "a trace without a folder", Want: "chunk-N-dataset.json beside chunk-N-trace.csv"}
		}
	}
	names, err := fileNames(folder)
	if err != nil {
		return nil, err
	}
	all := servegenClients(names)
	if f.R != nil {
		all = slices.DeleteFunc(all, func(c servegenClient) bool { return c.trace != filepath.Base(f.Path) })
	}
	if len(all) == 0 {
		return nil, &formats.SyntaxError{Place: f.Place, What: "files", Got: "no pair", Want: "chunk-N-trace.csv and chunk-N-dataset.json beside it"}
	}
	for i, c := range all {
		if i > 0 && all[i-1].name == c.name {
			return nil, &formats.SyntaxError{Place: filepath.Join(folder, c.trace), What: "client", Got: c.name, Want: "one trace of each client"}
		}
		if err := p.client(f, folder, c); err != nil {
			return nil, err
		}
	}
	if p.made == 0 {
		return nil, &formats.SyntaxError{Place: f.Place, What: "rate", Got: "0 in all windows", Want: "a window with requests"}
	}
	get, err := p.rows.requests()
	if err != nil {
		return nil, err
	}
	t := p.trace(1, nil, get, p.rows.close)
	ranks := "one number for all lengths"
	if p.o.Independent {
		ranks = "independent lengths"
	}
	t.Transforms = []schedule.Transform{{Name: "draw", Params: map[string]string{"lengths": ranks, "seed": strconv.FormatInt(p.o.Seed, 10)}}}
	return t, nil
}

// client reads the files of a client and draws its requests.
func (p *servegen) client(f Input, folder string, c servegenClient) error {
	d, err := p.dataset(f, filepath.Join(folder, c.dataset))
	if err != nil {
		return err
	}
	dataset := len(p.sources) - 1
	r, place := f.R, f.Place
	if r == nil {
		place = filepath.Join(folder, c.trace)
		file, err := f.Open(place)
		if err != nil {
			return err
		}
		defer file.Close()
		r = file
	}
	p.place = place
	next := int64(0)
	rows := p.n
	err = p.lines(r, c.trace, func(line []byte) (*jsonl.Fault, error) {
		w, fault := parseServegenRow(line)
		switch {
		case fault != nil:
			return fault, nil
		case w.start < next:
			return &jsonl.Fault{What: "start", Got: strconv.FormatInt(w.start, 10), Want: "windows of 600 s in order, from " + strconv.FormatInt(next, 10)}, nil
		}
		next = w.start + servegenWindow
		p.n++
		if w.requests == 0 {
			p.counts["windows_idle"]++
			return nil, nil
		}
		l, fault := d.at(w.start)
		if fault != nil {
			return fault, nil
		}
		return p.draw(c.name, w, l)
	})
	if err != nil {
		return err
	}
	if p.n == rows {
		return &formats.TruncatedError{Place: place, Want: "a first row", Help: "the input is empty"}
	}
	// The trace first, then its dataset, though this was read before it.
	last := len(p.sources) - 1
	p.sources[dataset], p.sources[last] = p.sources[last], p.sources[dataset]
	return nil
}

// servegenRow is the load of one window.
type servegenRow struct {
	start    int64 // s
	requests int64
	gaps     arriving.Process
}

// maxServegenStart keeps times within 292 years.
const maxServegenStart = math.MaxInt64/1_000_000_000 - servegenWindow

// parseServegenRow reads start, rate, CV, pattern, shape and scale. The scale does not
// give the rate, and the CV of a Weibull is not that of its shape: neither is used.
func parseServegenRow(line []byte) (w servegenRow, _ *jsonl.Fault) {
	cells, fault := split(line)
	if fault != nil {
		return w, fault
	}
	if len(cells) != 6 {
		return w, &jsonl.Fault{What: "row", Got: counted(len(cells), "cell"), Want: "6 cells: start, rate, CV, pattern, shape, scale"}
	}
	var v [6]float64
	for i, what := range []string{"start", "rate", "cv", "", "shape", "scale"} {
		if what == "" {
			continue
		}
		var err error
		if v[i], err = strconv.ParseFloat(cells[i], 64); err != nil || !isDecimal([]byte(cells[i])) || !(v[i] >= 0) || math.IsInf(v[i], 0) {
			return w, &jsonl.Fault{What: what, Got: formats.Clip(cells[i]), Want: "a number of at least 0"}
		}
	}
	start, ok := whole([]byte(cells[0]))
	if !ok || start > maxServegenStart {
		return w, &jsonl.Fault{What: "start", Got: formats.Clip(cells[0]), Want: "a whole number of seconds within 292 years"}
	}
	w.start = start
	if v[1] > servegenRate {
		return w, &jsonl.Fault{What: "rate", Got: formats.Clip(cells[1]), Want: fmt.Sprintf("at most %d requests per s", int64(servegenRate))}
	}
	w.requests = int64(math.Round(v[1] * servegenWindow))
	var shape arriving.Shape
	switch cells[3] {
	case "Gamma":
		shape = arriving.Gamma
	case "Weibull":
		shape = arriving.Weibull
	case "":
		if v[1] > 0 {
			return w, &jsonl.Fault{What: "pattern", Got: "", Want: "Gamma or Weibull where the rate is above 0"}
		}
		return w, nil
	default:
		return w, &jsonl.Fault{What: "pattern", Got: formats.Clip(cells[3]), Want: "Gamma, Weibull or nothing"}
	}
	if w.requests == 0 {
		return w, nil
	}
	var err error
	if w.gaps, err = arriving.NewProcess(shape, v[4]); err != nil {
		return w, &jsonl.Fault{What: "shape", Got: formats.Clip(cells[4]), Want: "a number from 0.01 to 1e6"}
	}
	return w, nil
}

// draw draws the requests of a window. One gap more than there are requests fills it,
// so that all lie within.
func (p *servegen) draw(client string, w servegenRow, l *servegenLengths) (*jsonl.Fault, error) {
	key := client + "/" + strconv.FormatInt(w.start, 10)
	const span = servegenWindow * 1_000_000_000
	at := arriving.Spread(func() *rand.Rand { return arriving.Stream(p.o.Seed, "servegen/gaps", key) }, w.gaps, w.requests+1, span)
	at() // the start of the window, which is no arrival
	lengths := arriving.Stream(p.o.Seed, "servegen/lengths", key)
	for range w.requests {
		in, out, fault := l.draw(lengths, p.o.Independent)
		if fault != nil {
			return fault, nil
		}
		ns := w.start*1_000_000_000 + min(at(), span-1)
		r := schedule.Request{AtNS: formats.Some(ns), Context: schedule.Whole, InputTokens: formats.Some(in), OutputTokens: formats.Some(out), Class: client}
		p.made++
		if err := p.rows.single(ns, p.made, &r); err != nil {
			return nil, err
		}
	}
	p.count("reason_ratio_dropped", l.dropped(w.requests))
	return nil, nil
}

// dataset reads the lengths of a client.
func (p *servegen) dataset(f Input, path string) (*servegenData, error) {
	r, err := f.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p.place, p.line = path, 1
	sum := newDigest()
	text, err := io.ReadAll(io.LimitReader(io.TeeReader(r, sum), maxServegenData+1))
	if err != nil {
		return nil, p.broken(1, err)
	}
	if len(text) > maxServegenData {
		return nil, &formats.SyntaxError{Place: path, What: "size", Got: fmt.Sprintf("more than %d bytes", maxServegenData), Want: "the lengths of one client"}
	}
	p.source(filepath.Base(path), sum)
	d, fault := parseServegenData(text, p.key)
	switch {
	case fault == nil:
		return d, nil
	case fault.Got == "end of line": // the scanner's word for the end of its bytes
		return nil, &formats.TruncatedError{Place: path, Want: "the rest of the dataset", Help: "the file was cut off; copy it again"}
	}
	return nil, &formats.SyntaxError{Place: path, What: fault.What, Got: fault.Got, Want: fault.Want}
}

// maxServegenData bounds a dataset, which is in memory while its client is drawn. The
// published ones have up to some MB.
const maxServegenData = 64 << 20
