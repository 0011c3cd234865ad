package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Process is a shape of the gaps between arrivals. The zero value is constant: every
// gap the same. Two of the same shape and parameter are equal.
type Process struct {
	shape Shape
	param float64
	norm  float64 // what makes the mean 1: a factor, for Weibull and lognormal its logarithm
}

// Shape names a family of gaps.
type Shape string

// The shapes, with what their parameter is.
const (
	Constant  Shape = ""          // none
	Poisson   Shape = "poisson"   // none
	Gamma     Shape = "gamma"     // shape k; vLLM calls it burstiness, AIPerf smoothness
	Weibull   Shape = "weibull"   // shape k
	Lognormal Shape = "lognormal" // coefficient of variation c
)

// Bounds of a parameter. Below, a Weibull gap leaves the range of float64; above, every
// shape is constant to nine digits.
const (
	minParam = 0.01
	maxParam = 1e6
)

const wantProcess = "constant, poisson, gamma:K, weibull:K or lognormal:C with a number from 0.01 to 1e6"

// NewProcess returns a shape with its parameter, which constant and poisson ignore.
func NewProcess(shape Shape, param float64) (Process, error) {
	p := Process{shape: shape, param: param}
	switch shape {
	case Constant, Poisson:
		return Process{shape: shape}, nil
	case Gamma, Weibull, Lognormal:
	default:
		return Process{}, fmt.Errorf("got %q, want %s", string(shape), wantProcess)
	}
	if !(param >= minParam && param <= maxParam) {
		return Process{}, fmt.Errorf("got %q, want %s", p, wantProcess)
	}
	switch shape {
	case Gamma:
		p.norm = 1 / param
	case Weibull:
		lg, _ := math.Lgamma(1 + 1/param)
		p.norm = -lg
	case Lognormal:
		p.norm = -math.Log1p(param*param) / 2
	}
	return p, nil
}

// ParseProcess reads a process as String prints it. A parameter that is missing, not
// above 0 or not known is an error, never a default.
func ParseProcess(text string) (Process, error) {
	name, number, has := strings.Cut(text, ":")
	bad := fmt.Errorf("got %q, want %s", text, wantProcess)
	switch {
	case text == "constant":
		return Process{}, nil
	case text == string(Poisson):
		return NewProcess(Poisson, 0)
	case !has || name == "" || Shape(name) == Poisson:
		return Process{}, bad
	}
	param, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return Process{}, bad
	}
	p, err := NewProcess(Shape(name), param)
	if err != nil {
		return Process{}, bad
	}
	return p, nil
}

// String prints the process in the one way that ParseProcess reads.
func (p Process) String() string {
	switch p.shape {
	case Constant:
		return "constant"
	case Poisson:
		return string(Poisson)
	}
	return string(p.shape) + ":" + strconv.FormatFloat(p.param, 'g', -1, 64)
}

// CV is the coefficient of variation of the gaps.
func (p Process) CV() float64 {
	switch p.shape {
	case Poisson:
		return 1
	case Gamma:
		return 1 / math.Sqrt(p.param)
	case Weibull:
		lg2, _ := math.Lgamma(1 + 2/p.param)
		return math.Sqrt(math.Expm1(lg2 + 2*p.norm))
	case Lognormal:
		return p.param
	}
	return 0
}

// Gap draws a gap of mean 1.
func (p Process) Gap(r *rand.Rand) float64 {
	switch p.shape {
	case Poisson:
		return r.ExpFloat64()
	case Gamma:
		return gamma(r, p.param) * p.norm
	case Weibull:
		return math.Exp(math.Log(r.ExpFloat64())/p.param + p.norm)
	case Lognormal:
		return math.Exp(math.Sqrt(-2*p.norm)*r.NormFloat64() + p.norm)
	}
	return 1
}

// gamma draws from the gamma distribution of shape k and scale 1, after Marsaglia and
// Tsang, "A simple method for generating gamma variables" (ACM TOMS 26, 2000).
//
// Note: gonum's distuv draws the same by another method. Ours is kept here because the
// bytes of schedules must outlive the versions of a library.
func gamma(r *rand.Rand, k float64) float64 {
	boost := 1.0
	if k < 1 { // gamma(k) is gamma(k+1) times U^(1/k)
		boost = math.Pow(1-r.Float64(), 1/k)
		k++
	}
	d := k - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < x*x/2+d*(1-v+math.Log(v)) {
			return boost * d * v
		}
	}
}
