// Package web reproduces what L. Le, J. Aikat, K. Jeffay and F. D. Smith, "The Effects
// of Active Queue Management and Explicit Congestion Notification on Web Performance",
// IEEE/ACM Transactions on Networking 15(6), 2007, say of response times on the web:
// drop-tail, PI, REM and Adaptive RED, with and without ECN, under loads of 80 to 105 %.
//
// The paper's abstract could be read, its set-up in part. What is not in a source is
// assumed: everything that a result may rest on stands in assumed.go, with its source
// or the word "assumed", and was fixed there before any claim was judged.
package web
