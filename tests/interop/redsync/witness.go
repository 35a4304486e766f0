package main

import (
	"encoding/binary"
	"os"
	"time"
)

// Where in the page of tests/support/witness.hpp.
const (
	writers      = 0
	readers      = 8
	fragileCount = 32
	count        = 40
	overlaps     = 48
)

// witness takes plain steps, which only one who is alone survives. Holdfast's own see us as a reader among writers.
type witness struct{ file *os.File }

func openWitness(path string) witness {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	return witness{file}
}

func (w witness) get(offset int64) int64 {
	var bytes [8]byte
	if _, err := w.file.ReadAt(bytes[:], offset); err != nil {
		panic(err)
	}
	return int64(binary.LittleEndian.Uint64(bytes[:]))
}

func (w witness) put(offset, value int64) {
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], uint64(value))
	if _, err := w.file.WriteAt(bytes[:], offset); err != nil {
		panic(err)
	}
}

func (w witness) add(offset, more int64) { w.put(offset, w.get(offset)+more) }

func (w witness) visit() {
	if w.get(writers) != 0 || w.get(readers) != 0 {
		w.add(overlaps, 1)
	}
	w.add(readers, 1)
	seen := w.get(fragileCount)
	time.Sleep(500 * time.Microsecond)
	w.put(fragileCount, seen+1)
	w.add(count, 1)
	if w.get(writers) != 0 || w.get(readers) != 1 {
		w.add(overlaps, 1)
	}
	w.add(readers, -1)
}
