// Goroutines in a static program: out of reach of a preloaded library.  SPDX-License-Identifier: Apache-2.0
package main

import (
	"fmt"
	"sync"
	"time"
)

func main() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	sum, ch := 0, make(chan int)
	for i := 0; i < 100; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			time.Sleep(time.Millisecond)
			mu.Lock()
			sum += i
			mu.Unlock()
			ch <- i
		}(i)
	}
	got := 0
	for i := 0; i < 100; i++ {
		got += <-ch
	}
	wg.Wait()
	fmt.Println("sum", sum, "got", got)
}
