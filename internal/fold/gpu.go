package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"hydrant/formats"
	"hydrant/formats/gpu"
	"hydrant/formats/summary"
)

// gpus gathers the devices of all gpu streams. A sample is folded as it comes: a
// device costs a fixed amount of memory, whatever the length of its stream.
type gpus struct {
	streams int64
	at      map[deviceKey]*device
	reasons []string // of streams without samples
	wall    bool     // some stream was joined by wall clock
	devices []summary.GPU
	note    string
}

type deviceKey struct {
	host, uuid string
	index      int64
}

// readGPU folds every part of a gpu stream.
func (f *fold) readGPU(ctx context.Context, in Input) error {
	r, err := gpu.NewReader(in.R, in.Name)
	if err != nil {
		return err
	}
	if f.gpu.at == nil {
		f.gpu.at = map[deviceKey]*device{}
	}
	for {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		h := p.Header()
		same := h.BootID != "" && h.BootID == f.parts[0].header.Host.BootID
		n := 0
		for ; ; n++ {
			if n%4096 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			s, err := p.NextSample()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			t := s.WallNS - f.epoch.WallNS
			if same {
				t = s.MonotonicNS - f.epoch.MonotonicNS
			}
			if t < -maxTime || t > maxTime {
				return &formats.SyntaxError{Place: in.Name, What: "time of a sample", Got: fmt.Sprintf("%d ns from the run", t), Want: "within 36 years of the run"}
			}
			f.sample(s, t)
		}
		if n > 0 && !same {
			f.gpu.wall = true
		}
		end, err := p.End()
		if err != nil {
			return err
		}
		f.gpu.streams++
		if n == 0 {
			f.gpu.reasons = append(f.gpu.reasons, cmp.Or(h.Reason, end.Reason, "a gpu stream without samples"))
		}
		if end.Status != "complete" {
			f.note("a gpu stream is " + end.Status)
		}
		var size int64
		for i, off := range end.Offsets {
			size = max(size, off+end.Lengths[i])
		}
		f.inputs = append(f.inputs, summary.Input{Name: base(in.Name), Kind: kindGPU, SHA256: end.SHA256, Bytes: size})
	}
}
