package requestqueue_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/aqmkit/aqmkit/codel"
	"github.com/aqmkit/aqmkit/datapath/requestqueue"
)

// Have eight requests served at a time, and the others wait for about 20 ms.
func Example() {
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	a, err := codel.New(requestqueue.CoDel(20 * time.Millisecond))
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := requestqueue.New(hello, requestqueue.Config{AQM: a, Workers: 8, Limit: 1000, RetryAfter: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder() // http.ListenAndServe("localhost:8080", q)
	q.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 200 hello
}
