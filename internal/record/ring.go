package record

// ring is a queue that grows with what it holds.
type ring[T any] struct {
	slots []T // a power of two of them
	head  uint
	tail  uint
}

func (r *ring[T]) len() int { return int(r.tail - r.head) }

func (r *ring[T]) push(x T) {
	if r.len() == len(r.slots) {
		slots := make([]T, max(16, 2*len(r.slots)))
		for i := range r.len() {
			slots[i] = r.slots[(r.head+uint(i))&uint(len(r.slots)-1)]
		}
		r.slots, r.head, r.tail = slots, 0, uint(r.len())
	}
	r.slots[r.tail&uint(len(r.slots)-1)] = x
	r.tail++
}

// pop returns the oldest of what is queued, which is something.
func (r *ring[T]) pop() T {
	x := r.slots[r.head&uint(len(r.slots)-1)]
	r.head++
	return x
}
