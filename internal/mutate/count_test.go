package main
import ("testing";"os")
func TestCount(t *testing.T){ os.Chdir("../.."); for _, d := range []string{"threshold","codel","ecnpolicy","pie","red","pi","rem"} { m, err := plant(d); t.Log(d, len(m), err) } }
