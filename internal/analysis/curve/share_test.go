package curve

import "testing"

// The interval of a share over several runs stays between 0 and 1.
func TestShareInterval(t *testing.T) {
	var vs []Value
	for _, v := range []float64{0.1, 0.9, 0.95} {
		vs = append(vs, Value{Value: ref(v)})
	}
	if free := bounded(pool(vs), "tokens/s"); *free.CI[1] <= 1 {
		t.Fatalf("the runs lie too close to tell: %v", *free.CI[1])
	}
	if v := bounded(pool(vs), Unit("cached_ratio")); *v.CI[0] != 0 || *v.CI[1] != 1 {
		t.Errorf("the interval is %v … %v", *v.CI[0], *v.CI[1])
	}
}
