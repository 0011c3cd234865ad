package stats

// Steady is the result of MSER-5 on one series.
type Steady struct {
	Batches int     // batch means, five values each
	Cut     int     // batch means to leave out at the start
	Score   float64 // the minimum that the cut reaches
	Enough  bool    // at least 10 batch means: fewer say nothing
	Tail    bool    // the cut lies in the first half: there is a steady tail
}

// MSER5 finds where a series of values at equal steps becomes steady: batch means
// of five, then the cut that minimises the squared standard error of what remains.
// Values after the last whole batch are left out. The warm-up ends 5·Cut steps
// after the start of the series.
func MSER5(series []float64) Steady {
	z := make([]float64, len(series)/5)
	for i := range z {
		for _, v := range series[5*i : 5*i+5] {
			z[i] += v
		}
		z[i] /= 5
	}
	s := Steady{Batches: len(z), Enough: len(z) >= 10}
	if len(z) >= 5 {
		s.Cut, s.Score = MSER(z)
	}
	s.Tail = s.Enough && 2*s.Cut <= len(z)
	return s
}

// MSER returns the d in 0..len(z)−5 that minimises Σ_{j>d}(z_j − mean_d)²/(k−d)²,
// the smallest on ties, and the minimum; mean_d is the mean of what follows d and k
// is len(z). It returns 0, 0 for fewer than 5 values.
func MSER(z []float64) (d int, score float64) {
	k := len(z)
	// From the end, mean and sum of squares about it grow value by value (Welford).
	var mean, squares float64
	best := false
	for i := k - 1; i >= 0; i-- {
		n := float64(k - i)
		delta := z[i] - mean
		mean += delta / n
		squares += delta * (z[i] - mean)
		if i > k-5 {
			continue
		}
		if s := squares / (n * n); !best || s <= score {
			best, d, score = true, i, s
		}
	}
	return d, score
}
