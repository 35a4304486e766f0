// What etcd's Election costs: the figures of `holdfast bench term`, for another store.
//
//	etcd_bench term HOST:PORT [COUNT]     one session campaigns and resigns, nobody else there
//	etcd_bench campaign HOST:PORT TTL_S   a candidate, which says "ready" and then "elected"
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

const warmUp = 300

func check(failed error) {
	if failed == nil {
		return
	}
	fmt.Fprintln(os.Stderr, failed)
	os.Exit(1)
}

func number(at, otherwise int) int {
	if len(os.Args) <= at {
		return otherwise
	}
	value, failed := strconv.Atoi(os.Args[at])
	check(failed)
	return value
}

func session(options ...concurrency.SessionOption) *concurrency.Session {
	client, failed := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[2]}, DialTimeout: 10 * time.Second})
	check(failed)
	s, failed := concurrency.NewSession(client, options...)
	check(failed)
	return s
}

func term(count int) {
	election := concurrency.NewElection(session(), fmt.Sprintf("/bench-%d", os.Getpid()))
	samples := make([]float64, 0, count)
	began := time.Now()
	for n := -warmUp; n < count; n++ {
		if n == 0 {
			began = time.Now()
		}
		start := time.Now()
		check(election.Campaign(context.Background(), "bench"))
		check(election.Resign(context.Background()))
		if n >= 0 {
			samples = append(samples, float64(time.Since(start).Nanoseconds())/1e3)
		}
	}
	total := time.Since(began).Seconds()
	sort.Float64s(samples)
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"scenario": "term", "count": count, "p50_us": samples[count/2], "p99_us": samples[count*99/100],
		"per_s": float64(count) / total,
	}))
}

func campaign(ttl int) {
	election := concurrency.NewElection(session(concurrency.WithTTL(ttl)), "/bench-failover")
	fmt.Println("ready")
	check(election.Campaign(context.Background(), "bench"))
	fmt.Println("elected")
	select {} // until it is killed
}

func main() {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "term":
		term(number(3, 3000))
	case len(os.Args) > 3 && os.Args[1] == "campaign":
		campaign(number(3, 3))
	default:
		fmt.Fprintln(os.Stderr, "usage: etcd_bench term|campaign HOST:PORT [COUNT|TTL_S]")
		os.Exit(2)
	}
}
