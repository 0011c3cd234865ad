package stats

import "math"

// Batches is a mean with its standard error from batch means.
type Batches struct {
	Mean float64
	SE   float64 // standard error of Mean
	K    int     // batches it rests on
	Lag1 float64 // autocorrelation of neighbouring batches
	OK   bool    // neighbouring batches are nearly independent: |Lag1| bound 0.2 kept
}

// BatchMeans estimates the mean of a rate from the values of equal, consecutive
// batches (30 of them by convention). While neighbours are correlated by 0.2 or
// more the batches are merged in pairs, as long as at least 15 remain; OK is
// false when they are still correlated then, or when there are fewer than 15.
//
// Deviations are taken about the first value and not about 0, so that equal batches
// have none: the rounding of their mean would make them all deviate alike, which
// looks like perfect correlation.
func BatchMeans(values []float64) Batches {
	if len(values) == 0 {
		return Batches{}
	}
	v := make([]float64, len(values))
	for i, x := range values {
		v[i] = x - values[0]
	}
	b := merged(v)
	b.Mean += values[0]
	return b
}

// merged is BatchMeans of values near 0, which it overwrites.
func merged(v []float64) Batches {
	for {
		b := batch(v)
		if b.K < 15 {
			return b
		}
		if b.Lag1 < 0.2 {
			b.OK = true
			return b
		}
		if len(v)%2 != 0 || len(v)/2 < 15 {
			return b
		}
		for i := range len(v) / 2 {
			v[i] = (v[2*i] + v[2*i+1]) / 2
		}
		v = v[:len(v)/2]
	}
}

func batch(v []float64) Batches {
	b := Batches{K: len(v)}
	for _, x := range v {
		b.Mean += x
	}
	b.Mean /= float64(len(v))
	if len(v) < 2 {
		return b
	}
	var squares, products float64
	for i, x := range v {
		squares += (x - b.Mean) * (x - b.Mean)
		if i > 0 {
			products += (x - b.Mean) * (v[i-1] - b.Mean)
		}
	}
	if squares > 0 {
		b.Lag1 = products / squares
	}
	b.SE = math.Sqrt(squares / float64(len(v)-1) / float64(len(v)))
	return b
}
