// Package stats holds the statistics that every stage shares: nearest-rank
// percentiles and the sample sizes they need, exact sums, sketches, and the
// tests by which the judge decides.
//
// Two functions carry most of the weight. NearestRank says which order statistic
// a percentile is, and Tau says how many requests in a row count as one
// independent observation. Everything works on plain slices, keeps nothing and
// gives the same digits for the same input; percentile levels are counted in
// thousandths throughout, 999 is p99.9.
package stats
