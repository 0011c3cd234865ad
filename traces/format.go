package traces

import (
	"fmt"
	"io"
	"strings"
)

// Input is a trace as it was opened.
type Input struct {
	Place string    // names it in errors
	Name  string    // base name, for the trailer and the scope of block ids
	Path  string    // "" for standard input and endpoints
	R     io.Reader // its uncompressed bytes; nil for a folder

	// Open opens a file by its path and looks through its compression, for a folder's
	// files and for those that lie beside a trace.
	Open func(path string) (io.ReadCloser, error)
}

// Options say how a trace is read. The zero value is right for the published traces.
// Each format reads the options that its row of Formats lists.
type Options struct {
	Scope     string // where block ids mean the same text; "" for the format's own rule
	Strict    bool   // refuse unknown keys and columns
	BlockSize int64  // tokens of a block, where the trace does not say; 0 for the format's own
	Context   string // schedule.Whole or Delta, for sessions that do not show which; "" decides from block ids

	DropFailed bool  // leave out requests that failed upstream
	MintBlocks int64 // tokens of blocks to assume where the trace has no ids; 0 for none

	Tables        string // folder of the tables that a trace needs; "" for the one where it lies
	SessionColumn string // the column that names the session; "" for the format's own
	SessionKey    string // the key or attribute that names the session; "" for the format's own
	Independent   bool   // draw each length for itself, where a trace has distributions
	Seed          int64  // of what is drawn, for formats that have Draws
	KVHints       bool   // send the recorded block ids with the requests
	Think         string // RecordedThink: delays are the trace's own think times; "" for those that follow from starts and ends
}

// MaxBlockSize is the largest block size that is accepted.
const MaxBlockSize = 1 << 24

// RecordedThink takes the think times of a trace as delays.
const RecordedThink = "recorded"

// Format is a trace format that tracegen reads.
type Format struct {
	Name    string // the subcommand, and the format in a schedule's header
	Usage   string // half a sentence: what is read
	Text    string // the help page
	Options []string
	// Needs names options that have no effect unless another one is given.
	Needs  map[string]string
	Folder bool // a folder is a trace as well
	Draws  bool // requests are drawn, with the seed of the options
	// Block is the block size that an option may change, 0 where there is none.
	Block int64
	// Sniff reports whether a trace that begins with head is in this format. head is
	// up to SniffBytes of uncompressed bytes; a folder has none, but has its names.
	Sniff func(head []byte, names []string) bool
	// Read reads a trace to its end. The options it looks at are those listed above,
	// by the names of their flags.
	Read func(Input, Options) (*Trace, error)
}

// SniffBytes is how much of a trace Sniff may look at.
const SniffBytes = 64 << 10

// Formats are all formats, in the order in which they are listed and tried.
var Formats = []Format{
	azureFormat,
	vidurFormat,
	burstgptFormat,
	bailianFormat,  // before mooncake, which has some of its keys
	ragpulseFormat, // the same
	servegenFormat,
	mooncakeFormat,
	wekaFormat,
	basetenFormat,
	openaiFormat,
	otelFormat,
}

// Sniff returns the format of a trace that begins with head, or of a folder that holds
// files of these names.
func Sniff(place string, head []byte, names []string) (Format, error) {
	for _, f := range Formats {
		if f.Sniff != nil && f.Sniff(head, names) {
			return f, nil
		}
	}
	var known []string
	for _, f := range Formats {
		known = append(known, f.Name)
	}
	return Format{}, fmt.Errorf("%s: no known trace format, want one of %s", place, strings.Join(known, ", "))
}
