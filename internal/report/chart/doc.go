// Package chart draws the charts of the page without a browser.
//
// In: analysis.Results with Charts. Out: one chart as an SVG file, the same bytes
// that the page's SVG button saves; browsertests holds the two against each other,
// chart for chart. The page draws in JavaScript, since it zooms and points; a
// JavaScript engine in the program would cost a quarter of its build, so what stands
// in the page's draw.js, time.js, dist.js and waterfall.js stands here a second time,
// function for function under the same names. A change there is a change here. It
// must never compute: what it draws is the page's data document.
package chart
