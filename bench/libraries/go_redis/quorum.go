package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// sectionsReport is what bench/redlock_sections.py reads.
type sectionsReport struct {
	Sections [][5]int64 `json:"sections"` // contender; requested, granted, released, done in ns
	Errors   int        `json:"errors"`
	Problem  string     `json:"problem"`
}

// quorumSections is one process of a measurement on several servers, of which a majority decides: so many goroutines
// lock and unlock one name with one client, until the time that a line of the input says.
func quorumSections(servers, name string, contenders int) {
	var pools []redsyncredis.Pool
	for _, each := range strings.Split(servers, ",") {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: each})))
	}
	locks := redsync.New(pools...)
	options := []redsync.Option{redsync.WithExpiry(ttl)}
	if kind == "redsync-failfast" {
		options = append(options, redsync.WithFailFast(true))
	}
	fmt.Println("ready")
	var end, limit int64
	fmt.Scanln(&end, &limit)
	var all reports
	for n := range contenders {
		go func() {
			mutex := locks.NewMutex(name, options...)
			for nowNs() < limit {
				all.add(n, mutex)
			}
		}()
	}
	for now := nowNs(); now < end || (now < limit && all.count() == 0); now = nowNs() {
		time.Sleep(time.Millisecond)
	}
	all.print()
}

// reports is what the goroutines have done together.
type reports struct {
	guard sync.Mutex
	sectionsReport
}

func (r *reports) add(contender int, mutex *redsync.Mutex) {
	requested := nowNs()
	err := mutex.Lock()
	granted := nowNs()
	released := nowNs()
	if err == nil {
		_, err = mutex.Unlock()
	}
	r.guard.Lock()
	defer r.guard.Unlock()
	if err == nil {
		r.Sections = append(r.Sections, [5]int64{int64(contender), requested, granted, released, nowNs()})
	} else {
		r.Errors++
		r.Problem = err.Error()
	}
}

func (r *reports) count() int {
	r.guard.Lock()
	defer r.guard.Unlock()
	return len(r.Sections)
}

// print leaves the guard locked: nothing comes after it.
func (r *reports) print() {
	r.guard.Lock()
	if r.Sections == nil {
		r.Sections = [][5]int64{}
	}
	output := bufio.NewWriter(os.Stdout)
	if err := json.NewEncoder(output).Encode(r.sectionsReport); err != nil {
		giveUp(err)
	}
	output.Flush()
}

func contendersOf(arguments []string) int {
	count, err := strconv.Atoi(arguments[len(arguments)-1])
	if err != nil {
		giveUp(err)
	}
	return count
}
