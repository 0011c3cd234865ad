// Package plot draws charts as SVG: linear, logarithmic and clock axes, lines and steps
// with gaps, bands, points, limits, marks of failures, and values that show when a
// stretch is pointed at. It knows nothing of runs.
//
// A Chart is a value; Inline gives its drawing for a page that holds CSS once, File a
// document of its own. Both are pure functions: the same Chart gives the same bytes.
// Colours are variables that follow prefers-color-scheme, so a drawing is readable on
// light and dark ground and prints dark on white. No script is needed for any of it.
package plot
