// What redsync and redislock cost over go-redis: the figures of `holdfast bench`, and a client to be told what to lock.
//
//	go_redis KIND pair    URL [COUNT]     one goroutine, one free name
//	go_redis KIND handoff URL [SECONDS]   two processes with one goroutine each, one name
//	go_redis KIND actor   URL TTL_MS      takes the lines of bench/lock_actor.cpp
//	go_redis KIND sections HOST:PORT,… NAME CONTENDERS    one process of bench/redlock_sections.py
//
// KIND: redsync or redislock; for sections, redsync or redsync-failfast. URL: redis://HOST:PORT, redis+sentinel://HOST:PORT,…/PRIMARY, redis+cluster://HOST:PORT,….
// Prints one JSON object. All defaults of the libraries are kept; redislock waits as its README shows it, 100 ms between
// two looks. Neither library renews: here, as a careful program would do it, after a third of the ttl, every 100 ms if
// that fails, until the deadline.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const (
	processes  = 2
	warmUp     = 500
	ttl        = 30 * time.Second
	retryDelay = 20 * time.Millisecond
)

var (
	kind       string
	background = context.Background()
	errHeld    = errors.New("held")
	errLost    = errors.New("not there any more")
)

// nowNs reads CLOCK_MONOTONIC, which all processes of a machine read alike.
func nowNs() int64 {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func giveUp(problem error) {
	fmt.Fprintln(os.Stderr, problem)
	os.Exit(1)
}

func connect(url string) redis.UniversalClient {
	scheme, rest, _ := strings.Cut(url, "://")
	place, primary, _ := strings.Cut(rest, "/")
	hosts := strings.Split(place, ",")
	switch scheme {
	case "redis":
		return redis.NewClient(&redis.Options{Addr: hosts[0]})
	case "redis+sentinel":
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: primary, SentinelAddrs: hosts})
	default:
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: hosts})
	}
}

// lock is one name of one of the libraries.
type lock interface {
	// acquire waits for the name, or tries once: errHeld. Any other error is the servers'.
	acquire(once bool) error
	release() error
	// renew returns errLost where the server says that the lock is gone.
	renew() error
}

type redsyncLock struct{ mutex *redsync.Mutex }

func (l redsyncLock) acquire(once bool) error {
	var err error
	if once {
		err = l.mutex.TryLock()
	} else {
		err = l.mutex.Lock()
	}
	return takenAs(err, errHeld)
}

func (l redsyncLock) release() error {
	_, err := l.mutex.Unlock()
	return err
}

func (l redsyncLock) renew() error {
	_, err := l.mutex.Extend()
	return takenAs(err, errLost)
}

func takenAs(err, otherwise error) error {
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) {
		return otherwise
	}
	return err
}

type redislockLock struct {
	client *redislock.Client
	name   string
	ttl    time.Duration
	held   *redislock.Lock
}

func (l *redislockLock) acquire(once bool) error {
	var options *redislock.Options
	if !once {
		options = &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
	}
	var err error
	l.held, err = l.client.Obtain(background, l.name, l.ttl, options)
	if errors.Is(err, redislock.ErrNotObtained) {
		return errHeld
	}
	return err
}

func (l *redislockLock) release() error { return l.held.Release(background) }

func (l *redislockLock) renew() error {
	err := l.held.Refresh(background, l.ttl, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return errLost
	}
	return err
}

// locksOf returns what makes the locks of one client.
func locksOf(client redis.UniversalClient, ttl time.Duration) func(name string) lock {
	if kind == "redsync" {
		sync := redsync.New(goredis.NewPool(client))
		return func(name string) lock { return redsyncLock{sync.NewMutex(name, redsync.WithExpiry(ttl))} }
	}
	own := redislock.New(client)
	return func(name string) lock { return &redislockLock{client: own, name: name, ttl: ttl} }
}

// await acquires whatever the servers say meanwhile: a library's own patience may end earlier.
func await(l lock, trouble func(error)) {
	for {
		err := l.acquire(false)
		if err == nil {
			return
		}
		if !errors.Is(err, errHeld) {
			trouble(err)
			time.Sleep(retryDelay)
		}
	}
}

func nameOf(scenario string) string { return fmt.Sprintf("bench-%d-%s", os.Getpid(), scenario) }

func percentile(sorted []float64, share float64) string {
	if len(sorted) == 0 {
		return "null"
	}
	return fmt.Sprintf("%.2f", sorted[int(float64(len(sorted))*share)])
}

func pair(url string, count int) {
	l := locksOf(connect(url), ttl)(nameOf("pair"))
	samplesUs := make([]float64, 0, count)
	total := 0.0
	for n := -warmUp; n < count; n++ {
		start := time.Now()
		if err := l.acquire(true); err != nil {
			giveUp(err)
		}
		if err := l.release(); err != nil {
			giveUp(err)
		}
		if n >= 0 {
			samplesUs = append(samplesUs, float64(time.Since(start).Nanoseconds())/1e3)
			total += samplesUs[n]
		}
	}
	sort.Float64s(samplesUs)
	fmt.Printf("{\"store\": \"%s\", \"scenario\": \"pair\", \"count\": %d, \"p50_us\": %s, \"p99_us\": %s, \"per_s\": %.0f}\n",
		kind, count, percentile(samplesUs, 0.5), percentile(samplesUs, 0.99), 1e6*float64(count)/total)
}

// contend is one process of a hand-off: told by a line when to begin and end; prints a line of its holds.
func contend(url, name string) {
	client := connect(url)
	l := locksOf(client, ttl)(name)
	if err := client.Ping(background).Err(); err != nil {
		giveUp(err)
	}
	fmt.Println("ready")
	var begin, end int64
	fmt.Scanln(&begin, &end)
	time.Sleep(time.Duration(begin - nowNs()))
	var holds strings.Builder
	for nowNs() < end {
		await(l, giveUp)
		granted := nowNs()
		released := nowNs()
		if err := l.release(); err != nil {
			giveUp(err)
		}
		if granted < end {
			fmt.Fprintf(&holds, "%d %d ", granted, released)
		}
	}
	fmt.Println(holds.String())
}

type hold struct {
	granted, released int64
	process           int
}

func handoff(url string, seconds float64) {
	inputs := make([]*bufio.Writer, processes)
	outputs := make([]*bufio.Reader, processes)
	for n := range processes {
		command := exec.Command(os.Args[0], kind, "contend", url, nameOf("handoff"))
		command.Stderr = os.Stderr
		input, _ := command.StdinPipe()
		output, _ := command.StdoutPipe()
		if err := command.Start(); err != nil {
			giveUp(err)
		}
		inputs[n], outputs[n] = bufio.NewWriter(input), bufio.NewReader(output)
	}
	for _, each := range outputs {
		if line, _ := each.ReadString('\n'); line != "ready\n" {
			giveUp(errors.New("a contending process failed"))
		}
	}
	begin := nowNs() + 500_000_000
	for _, each := range inputs {
		fmt.Fprintf(each, "%d %d\n", begin, begin+int64(seconds*1e9))
		each.Flush()
	}
	var holds []hold
	grants := make([]int, processes)
	for n, each := range outputs {
		line, _ := each.ReadString('\n')
		times := strings.Fields(line)
		for at := 0; at+1 < len(times); at += 2 {
			granted, _ := strconv.ParseInt(times[at], 10, 64)
			released, _ := strconv.ParseInt(times[at+1], 10, 64)
			holds = append(holds, hold{granted, released, n})
		}
		grants[n] = len(times) / 2
	}
	sort.Slice(holds, func(one, other int) bool { return holds[one].granted < holds[other].granted })
	var samplesUs []float64
	for n := 1; n < len(holds); n++ {
		before, after := holds[n-1], holds[n]
		if after.granted < before.released {
			giveUp(errors.New("MUTUAL EXCLUSION WAS VIOLATED: " + kind + " granted a held lock"))
		}
		if before.process != after.process {
			samplesUs = append(samplesUs, float64(after.granted-before.released)/1e3)
		}
	}
	sort.Float64s(samplesUs)
	sort.Ints(grants)
	fmt.Printf("{\"store\": \"%s\", \"scenario\": \"handoff\", \"processes\": %d, \"concurrency\": 1, \"duration_s\": %.2f, "+
		"\"per_s\": %.2f, \"grants\": %d, \"grants_min\": %d, \"grants_max\": %d, \"handovers\": %d, \"p50_us\": %s, "+
		"\"p99_us\": %s}\n", kind, processes, seconds, float64(len(holds))/seconds, len(holds), grants[0],
		grants[processes-1], len(samplesUs), percentile(samplesUs, 0.5), percentile(samplesUs, 0.99))
}

func say(event, name string, more any) {
	fmt.Printf("%s %s %d %s\n", event, name, nowNs(), strings.ReplaceAll(fmt.Sprint(more), "\n", " "))
}

// keep renews until it is told to drop the lock, or the lock is lost.
func keep(l lock, name string, ttl time.Duration, sent time.Time, dropped <-chan struct{}) {
	next := ttl / 3
	for {
		select {
		case <-dropped:
			say("dropped", name, l.release())
			return
		case <-time.After(min(next, time.Until(sent.Add(ttl)))):
		}
		now := time.Now()
		if now.Sub(sent) >= ttl {
			say("lost", name, "the deadline has passed")
			break
		}
		err := l.renew()
		if errors.Is(err, errLost) {
			say("lost", name, err)
			break
		}
		next = 100 * time.Millisecond
		if err == nil {
			sent, next = now, ttl/3
		}
	}
	<-dropped
	say("dropped", name, "")
}

func actor(url string, ttl time.Duration) {
	client := connect(url)
	locks := locksOf(client, ttl)
	first := locks(nameOf("first")) // connected
	await(first, func(err error) { fmt.Fprintln(os.Stderr, err) })
	if err := first.release(); err != nil {
		giveUp(err)
	}
	fmt.Println("ready")
	held := map[string]chan struct{}{}
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		verb, name, _ := strings.Cut(input.Text(), " ")
		if verb == "drop" {
			close(held[name])
			continue
		}
		dropped := make(chan struct{})
		held[name] = dropped
		go func() {
			l := locks(name)
			sent := time.Now()
			if verb == "try" {
				if err := l.acquire(true); err != nil {
					say("refused", name, err)
					return
				}
			} else {
				await(l, func(err error) {
					say("trouble", name, err)
				})
				sent = time.Now()
			}
			say("granted", name, "")
			keep(l, name, ttl, sent, dropped)
		}()
	}
}

func main() {
	if len(os.Args) < 4 {
		giveUp(errors.New("usage: go_redis redsync|redislock pair|handoff|actor URL [COUNT|SECONDS|TTL_MS]"))
	}
	kind = os.Args[1]
	url, size := os.Args[3], ""
	if len(os.Args) > 4 {
		size = os.Args[4]
	}
	number, _ := strconv.ParseFloat(size, 64)
	switch os.Args[2] {
	case "pair":
		pair(url, int(number))
	case "handoff":
		handoff(url, number)
	case "contend":
		contend(url, size)
	case "actor":
		actor(url, time.Duration(number*1e6))
	case "sections":
		quorumSections(url, size, contendersOf(os.Args))
	}
}
