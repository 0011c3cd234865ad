package plot

// colors are the variables of one scheme: ground, text, quiet text, grid, box, limit
// and the series.
const (
	light = `--ground:#fff;--text:#1d2530;--quiet:#5d6876;--grid:#e6e9ee;--edge:#b8c0ca;--box:#fff;--bad:#c62839;` +
		`--c0:#9aa5b1;--c1:#1f6fd6;--c2:#d9730d;--c3:#128a78;--c4:#8b4fc9;--c5:#b5477a`
	dark = `--ground:#12161c;--text:#e4e8ee;--quiet:#98a4b3;--grid:#252c36;--edge:#4a5563;--box:#1b222b;--bad:#ff6b78;` +
		`--c0:#6d7886;--c1:#6aa9ff;--c2:#f5a04c;--c3:#3fc4ae;--c4:#bd8cf2;--c5:#ef87b2`
)

// Variables is the style that defines the colours for both schemes and for paper. A
// page that shows drawings, and takes its own colours from the same variables, holds
// it once, together with CSS.
const Variables = `:root{color-scheme:light dark;` + light + `}` +
	`@media (prefers-color-scheme:dark){:root{` + dark + `}}` +
	`@media print{:root{color-scheme:light;` + light + `}}`

// CSS is the style of the drawings themselves.
const CSS = `.plot{display:block;width:100%;height:auto;overflow:visible;font:11px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}` +
	`.plot text{fill:var(--quiet)}.plot .title{fill:var(--text);font-size:13px;font-weight:600}.plot .name{fill:var(--text)}.plot .why{font-size:13px}` +
	`.plot .end{text-anchor:end}.plot .mid{text-anchor:middle}` +
	`.plot path,.plot line{fill:none;stroke-linejoin:round;stroke-linecap:round}` +
	`.plot .grid{stroke:var(--grid);stroke-linecap:butt}.plot .axis{stroke:var(--edge);stroke-linecap:butt}` +
	`.plot .line{stroke-width:1.7}.plot .dash{stroke-dasharray:5 4;stroke-linecap:butt}.plot .points{stroke-width:2.6;opacity:.55}` +
	`.plot .area{stroke:none;opacity:.3}.plot .band{stroke:none;opacity:.18}` +
	`.plot .c0{stroke:var(--c0)}.plot .c1{stroke:var(--c1)}.plot .c2{stroke:var(--c2)}.plot .c3{stroke:var(--c3)}.plot .c4{stroke:var(--c4)}.plot .c5{stroke:var(--c5)}` +
	`.plot .f0{fill:var(--c0)}.plot .f1{fill:var(--c1)}.plot .f2{fill:var(--c2)}.plot .f3{fill:var(--c3)}.plot .f4{fill:var(--c4)}.plot .f5{fill:var(--c5)}` +
	`.plot .rule{stroke:var(--bad);stroke-width:1.3;stroke-dasharray:2 3;stroke-linecap:butt}.plot .limit{fill:var(--bad);font-weight:600;paint-order:stroke;stroke:var(--ground);stroke-width:4px;stroke-linejoin:round}.plot .rug{stroke:var(--bad);stroke-width:1.2;stroke-linecap:butt}` +
	`.plot .shade{fill:var(--grid);opacity:.55}` +
	`.plot .slot>rect{fill:transparent}.plot .slot>g{visibility:hidden;pointer-events:none}.plot .slot:hover>g{visibility:visible}` +
	`.plot .guide{stroke:var(--quiet);stroke-width:1}.plot .box{fill:var(--box);stroke:var(--edge)}.plot .slot text{fill:var(--text)}.plot .slot circle{stroke:var(--ground);stroke-width:1.5}` +
	`.plot .head{font-weight:600}` +
	`@media print{.plot .slot{display:none}}`

// Colors is the number of colours, the quiet one included.
const Colors = 6
