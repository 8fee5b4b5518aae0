package dumbbell
import ("testing";"time")
func TestTry(t *testing.T){
 for _,c:=range []struct{rate uint64;rtt time.Duration;k,n int}{{10e9,100*time.Microsecond,40,1},{10e9,100*time.Microsecond,40,2},{10e9,100*time.Microsecond,40,4},{10e9,400*time.Microsecond,65,2},{1e9,400*time.Microsecond,20,2},{1e9,1000*time.Microsecond,30,2},{10e9,100*time.Microsecond,40,10}}{
  r,err:=RunDCTCP(c.rate,c.rtt,c.k,c.n,.4)
  t.Logf("%+v %v",r,err)
 }
}
