package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

func close(a, b, tol float64) bool { return math.Abs(a-b) <= tol*max(math.Abs(a), math.Abs(b), 1e-300) }

// Against the other implementation where that one converges, and against sums of
// binomial terms where it does not.
func TestIncompleteBeta(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		a, b, x := 0.1+200*r.Float64()*r.Float64(), 0.1+200*r.Float64()*r.Float64(), r.Float64()
		want := mathext.RegIncBeta(a, b, x)
		if got := IncompleteBeta(x, a, b); !close(got, want, 1e-9) && math.Abs(got-want) > 1e-14 {
			t.Errorf("I_%v(%v, %v) = %v; want %v", x, a, b, got, want)
		}
	}
	for _, c := range []struct{ x, a, b, want float64 }{
		{0.3, 0, 5, 1}, {0.3, 5, 0, 0}, {0.3, 0, 0, 1}, {0, 2, 3, 0}, {1, 2, 3, 1},
		{0.25, 1, 1, 0.25}, {0.5, 0.5, 0.5, 0.5}, {0.1, 2, 1, 0.01},
	} {
		if got := IncompleteBeta(c.x, c.a, c.b); math.Abs(got-c.want) > 1e-14 {
			t.Errorf("I_%v(%v, %v) = %v; want %v", c.x, c.a, c.b, got, c.want)
		}
	}
	for _, bad := range [][3]float64{{-0.1, 1, 1}, {1.1, 1, 1}, {0.5, -1, 1}, {0.5, 1, math.NaN()}} {
		if got := IncompleteBeta(bad[0], bad[1], bad[2]); !math.IsNaN(got) {
			t.Errorf("I_%v(%v, %v) = %v; want NaN", bad[0], bad[1], bad[2], got)
		}
	}
}

func TestIncompleteBetaLarge(t *testing.T) {
	for _, n := range []int{1_000, 100_000} {
		for _, p := range []float64{0.5, 0.99} {
			sd := math.Sqrt(float64(n) * p * (1 - p))
			for _, off := range []float64{-3, -1, 0, 2} {
				k := int(float64(n)*p + off*sd)
				want := 0.0 // P(at least k of n), smallest terms first
				for i := n; i >= k; i-- {
					a, _ := math.Lgamma(float64(n + 1))
					b, _ := math.Lgamma(float64(i + 1))
					c, _ := math.Lgamma(float64(n - i + 1))
					want += math.Exp(a - b - c + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
				}
				if got := IncompleteBeta(p, float64(k), float64(n-k+1)); !close(got, want, 1e-8) {
					t.Errorf("P(at least %d of %d at %v) = %v; want %v", k, n, p, got, want)
				}
			}
		}
	}
}

func TestTQuantile(t *testing.T) {
	for _, df := range []float64{1, 2, 4, 14, 29, 1000} {
		for _, p := range []float64{0.01, 0.05, 0.5, 0.9, 0.95, 0.975, 0.99, 0.999} {
			want := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(p)
			if got := TQuantile(p, df); math.Abs(got-want) > 1e-7*max(1, math.Abs(want)) {
				t.Errorf("TQuantile(%v, %v) = %.10f; want %.10f", p, df, got, want)
			}
		}
	}
	if got := TQuantile(0.99, 29); math.Abs(got-2.462021) > 1e-6 {
		t.Errorf("TQuantile(0.99, 29) = %v; want 2.462021", got)
	}
	if got := TQuantile(1, 5); !math.IsNaN(got) {
		t.Errorf("TQuantile(1, 5) = %v; want NaN", got)
	}
}
