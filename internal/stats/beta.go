package stats

import "math"

// IncompleteBeta returns I_x(a, b), the regularised incomplete beta function, for
// 0 ≤ x ≤ 1 and real a, b ≥ 0. By convention it is 1 for a = 0 and 0 for b = 0.
// Arguments outside that range give NaN.
//
// For whole a and b, I_p(k, n−k+1) is the chance that at least k of n independent
// trials succeed with probability p each.
//
// Note: gonum's mathext stops its continued fraction after 300 terms, too early
// for the hundreds of thousands of requests that meet here.
func IncompleteBeta(x, a, b float64) float64 {
	switch {
	case math.IsNaN(x) || math.IsNaN(a) || math.IsNaN(b) || a < 0 || b < 0 || x < 0 || x > 1:
		return math.NaN()
	case a == 0:
		return 1
	case b == 0:
		return 0
	case x == 0:
		return 0
	case x == 1:
		return 1
	}
	// The fraction converges fast below the mean; above it the mirror image does.
	if x > (a+1)/(a+b+2) {
		return 1 - betaTail(1-x, b, a)
	}
	return betaTail(x, a, b)
}

// betaTail evaluates I_x(a, b) for x below the mean by the continued fraction
// x^a (1−x)^b / (a·B(a, b)) · 1/(1 + d1/(1 + d2/(1 + …))), from the front, by the
// modified Lentz algorithm.
func betaTail(x, a, b float64) float64 {
	const (
		tiny  = 1e-300
		limit = 1_000_000 // terms; about the root of max(a, b) suffices
	)
	front := math.Exp(a*math.Log(x)+b*math.Log1p(-x)-lbeta(a, b)) / a
	if front == 0 {
		return 0
	}
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c := 1.0
	d := 1 / away(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < limit; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / away(1+even*d)
		c = away(1 + even/c)
		f *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / away(1+odd*d)
		c = away(1 + odd/c)
		step := d * c
		f *= step
		if math.Abs(step-1) < 1e-15 {
			break
		}
	}
	return min(1, front*f)
}

// lbeta returns ln B(a, b). For a large sum the logarithms of the gamma function
// nearly cancel, so from 10 on Stirling's series is used with the large terms
// cancelled by hand.
func lbeta(a, b float64) float64 {
	if a > b {
		a, b = b, a
	}
	if a >= 10 { // both large
		rest := stirling(a) + stirling(b) - stirling(a+b)
		return 0.5*math.Log(2*math.Pi/b) + (a-0.5)*math.Log(a/(a+b)) - b*math.Log1p(a/b) + rest
	}
	la, _ := math.Lgamma(a)
	if b >= 10 { // ln Γ(b) − ln Γ(a+b)
		return la + stirling(b) - stirling(a+b) + a - a*math.Log(a+b) - (b-0.5)*math.Log1p(a/b)
	}
	lb, _ := math.Lgamma(b)
	ls, _ := math.Lgamma(a + b)
	return la + lb - ls
}

// stirling returns ln Γ(z) − ((z−½) ln z − z + ½ ln 2π) for z ≥ 10.
func stirling(z float64) float64 {
	i := 1 / (z * z)
	return (1.0/12 - i*(1.0/360-i*(1.0/1260-i*(1.0/1680-i*(1.0/1188-i*691.0/360360))))) / z
}
