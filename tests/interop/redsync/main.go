// redsync, told what to do by lines on standard input, as tests/actor is; it ends with its input.
//
//	open SOCKET...                       -> open        servers of which a majority decides
//	hold NAME ttl=MS [within=0]          -> held | refused
//	release                              -> released | failed TEXT
//	contend NAME WITNESS MILLISECONDS [every=MS] [sections=N]   -> contended TURNS   lock, visit, unlock; until it was
//	                              inside three times, for as long as this at least, and until all were inside N times
package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func option(options []string, key string, otherwise int) int {
	for _, each := range options {
		if value, found := strings.CutPrefix(each, key+"="); found {
			number, _ := strconv.Atoi(value)
			return number
		}
	}
	return otherwise
}

func milliseconds(count int) time.Duration { return time.Duration(count) * time.Millisecond }

type actor struct {
	locks *redsync.Redsync
	held  *redsync.Mutex
}

func (a *actor) open(sockets []string) string {
	var pools []redsyncredis.Pool
	for _, each := range sockets {
		client := redis.NewClient(&redis.Options{Network: "unix", Addr: each})
		if err := client.Ping(context.Background()).Err(); err != nil {
			return err.Error()
		}
		pools = append(pools, goredis.NewPool(client))
	}
	a.locks = redsync.New(pools...)
	return "open"
}

// acquire tries until it has the name, once every `delay` or so.
func acquire(lock *redsync.Mutex, delay time.Duration) {
	for lock.TryLock() != nil {
		time.Sleep(delay/2 + time.Duration(rand.Int63n(int64(delay))))
	}
}

func (a *actor) hold(name string, options []string) string {
	a.held = a.locks.NewMutex(name, redsync.WithExpiry(milliseconds(option(options, "ttl", 8000))))
	if option(options, "within", -1) == 0 {
		if a.held.TryLock() != nil {
			return "refused"
		}
	} else {
		acquire(a.held, milliseconds(10))
	}
	return "held"
}

func (a *actor) release() string {
	if released, err := a.held.Unlock(); !released {
		return "failed " + strings.ReplaceAll(fmt.Sprint(err), "\n", "; ")
	}
	return "released"
}

func (a *actor) contend(name, path, length string, options []string) string {
	place := openWitness(path)
	ms, _ := strconv.Atoi(length)
	end := time.Now().Add(milliseconds(ms))
	sections := int64(option(options, "sections", 0))
	delay := milliseconds(option(options, "every", 20))
	lock := a.locks.NewMutex(name, redsync.WithExpiry(30*time.Second))
	turns := 0
	for ; turns < 3 || time.Now().Before(end) || place.get(count) < sections; turns++ {
		acquire(lock, delay)
		place.visit()
		if released, err := lock.Unlock(); !released {
			return fmt.Sprint("failed ", err)
		}
	}
	return fmt.Sprint("contended ", turns)
}

func main() {
	var a actor
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		words := strings.Fields(input.Text())
		switch words[0] {
		case "open":
			fmt.Println(a.open(words[1:]))
		case "hold":
			fmt.Println(a.hold(words[1], words[2:]))
		case "release":
			fmt.Println(a.release())
		case "contend":
			fmt.Println(a.contend(words[1], words[2], words[3], words[4:]))
		}
	}
}
