// A Go library in a C program: goroutines, collections, calls back into C.  SPDX-License-Identifier: Apache-2.0
package main

/*
typedef long (*callback)(long);
static long call(callback f, long x) { return f(x); }
*/
import "C"
import (
	"runtime"
	"sync"
)

func grow(n int) int {
	var room [64]int
	room[n%64] = n
	if n == 0 {
		return room[0]
	}
	return grow(n-1) + room[n%64] - n + 1
}

//export Work
func Work(f C.callback, n C.long) C.long {
	var wait sync.WaitGroup
	sums := make(chan int, 64)
	for i := 0; i < 64; i++ {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			all := map[int][]byte{}
			for k := 0; k < 200; k++ {
				all[k%17] = append(all[k%17], make([]byte, 100+k)...)
			}
			sum := grow(500 + i)
			for k := 0; k < 200000; k++ {
				sum = (sum*31 + k) % 1000003
			}
			sums <- sum + len(all) + int(C.call(f, C.long(i)))
		}(i)
	}
	wait.Wait()
	close(sums)
	runtime.GC()
	total := int(n)
	for s := range sums {
		total += s
	}
	return C.long(total)
}

// A nil pointer, which the runtime makes a panic of.
//
//export Faults
func Faults(n C.long) (seen C.long) {
	for i := 0; i < int(n); i++ {
		func() {
			defer func() {
				if recover() != nil {
					seen++
				}
			}()
			var p *int
			*p = i
		}()
	}
	return
}

func main() {}
