// Package integrating holds the code of docs/integrating.md, as examples that are
// compiled and run. A test holds the page to them.
package integrating
