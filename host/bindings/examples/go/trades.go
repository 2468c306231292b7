// Trades of each symbol in a capture, with the C library from Go: cgo reads stopbit.h, and a closure takes each record.
//
//	CGO_CFLAGS=-I/usr/include CGO_LDFLAGS=-L/usr/lib go build trades.go
//	trades CAPTURE FEED.toml                lines A and B of each channel merged
//	trades CAPTURE TEMPLATES FRAMING        day.pcap templates.xml cme
package main

/*
#cgo LDFLAGS: -lstopbit
#include <stdlib.h>
#include <stopbit.h>

int takeRecord(void* user, stopbit_record* record);
int takeItem(void* user, void* item);
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/cgo"
	"sort"
	"unsafe"
)

// Replay has a program and a replay, until Close.
type Replay struct {
	program *C.stopbit_program
	replay  *C.stopbit_replay
}

// Message is valid while it is shown to a closure.
type Message struct{ record *C.stopbit_record }

func NewReplay() *Replay {
	return &Replay{C.stopbit_program_new(), C.stopbit_replay_new()}
}

func (r *Replay) Close() {
	C.stopbit_replay_free(r.replay)
	C.stopbit_program_free(r.program)
}

func (r *Replay) checked(status C.stopbit_status) error {
	if status == C.STOPBIT_OK {
		return nil
	}
	return errors.New(C.GoString(C.stopbit_replay_error(r.replay)))
}

// cTexts are texts in C's memory, in an array there, until free: Go's memory may move.
type cTexts struct{ array **C.char }

func newTexts(texts ...string) cTexts {
	array := (**C.char)(C.calloc(C.size_t(len(texts)+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
	for i, text := range texts {
		unsafe.Slice(array, len(texts))[i] = C.CString(text)
	}
	return cTexts{array}
}

func (t cTexts) at(i int) *C.char { return unsafe.Slice(t.array, i+1)[i] }

func (t cTexts) free() {
	for i := 0; t.at(i) != nil; i++ {
		C.free(unsafe.Pointer(t.at(i)))
	}
	C.free(unsafe.Pointer(t.array))
}

func (r *Replay) OpenFeed(capture, feed string) error {
	captures, path := newTexts(capture), newTexts(feed)
	defer captures.free()
	defer path.free()
	return r.checked(C.stopbit_replay_open_feed(r.replay, r.program, path.at(0), nil, captures.array, 1, nil))
}

func (r *Replay) Open(capture, templates, framing string) error {
	captures, paths, name := newTexts(capture), newTexts(templates), newTexts(framing)
	defer captures.free()
	defer paths.free()
	defer name.free()
	if C.stopbit_program_compile(r.program, paths.array, 1) != C.STOPBIT_OK {
		return errors.New(C.GoString(C.stopbit_program_error(r.program)))
	}
	options := (*C.stopbit_options)(C.calloc(1, C.sizeof_stopbit_options))
	defer C.free(unsafe.Pointer(options))
	options.size, options.framing = C.sizeof_stopbit_options, name.at(0)
	return r.checked(C.stopbit_replay_open(r.replay, r.program, captures.array, 1, options))
}

// Run shows every message to the closure; errors and gaps go to stderr.
func (r *Replay) Run(take func(Message)) error {
	handle := cgo.NewHandle(take)
	defer handle.Delete()
	return r.checked(C.stopbit_replay_run(r.replay, C.stopbit_record_callback(C.takeRecord), unsafe.Pointer(&handle)))
}

//export takeRecord
func takeRecord(user unsafe.Pointer, record *C.stopbit_record) C.int {
	if event := C.stopbit_record_event(record); event != nil {
		fmt.Fprintf(os.Stderr, "packet %d: %s\n", uint64(event.packet), C.GoString(event.detail))
		return 0
	}
	(*(*cgo.Handle)(user)).Value().(func(Message))(Message{record})
	return 0
}

func (m Message) Template() string {
	return C.GoString(C.stopbit_record_header(m.record).template_name)
}

// EachField shows every field. False: the record is damaged.
func (m Message) EachField(take func(name string, item *C.stopbit_item)) bool {
	handle := cgo.NewHandle(take)
	defer handle.Delete()
	return C.stopbit_record_walk(m.record, C.stopbit_item_callback(C.takeItem), unsafe.Pointer(&handle)) == C.STOPBIT_OK
}

//export takeItem
func takeItem(user unsafe.Pointer, of unsafe.Pointer) C.int {
	if item := (*C.stopbit_item)(of); item.kind == C.STOPBIT_FIELD {
		(*(*cgo.Handle)(user)).Value().(func(string, *C.stopbit_item))(C.GoString(item.name), item)
	}
	return 0
}

type sum struct {
	trades   uint64
	quantity int64
	value    float64
}

func sumUp(arguments []string) (map[string]*sum, error) {
	replay := NewReplay()
	defer replay.Close()
	var err error
	switch len(arguments) {
	case 2:
		err = replay.OpenFeed(arguments[0], arguments[1])
	case 3:
		err = replay.Open(arguments[0], arguments[1], arguments[2])
	default:
		err = errors.New("usage: trades CAPTURE FEED.toml | CAPTURE TEMPLATES FRAMING")
	}
	if err != nil {
		return nil, err
	}
	sums := map[string]*sum{}
	err = replay.Run(func(message Message) {
		if message.Template() != "Trade" {
			return
		}
		var symbol string
		var price float64
		var quantity int64
		isWhole := message.EachField(func(name string, item *C.stopbit_item) {
			switch {
			case name == "Symbol":
				symbol = C.GoStringN(item.text, C.int(item.text_size))
			case name == "LastPrice" && item.exponent < 0:
				price = float64(item.value) / math.Pow10(int(-item.exponent))
			case name == "LastPrice":
				price = float64(item.value) * math.Pow10(int(item.exponent))
			case name == "LastSize":
				quantity = int64(item.value)
			}
		})
		if !isWhole {
			fmt.Fprintln(os.Stderr, "a record cannot be read")
			return
		}
		if sums[symbol] == nil {
			sums[symbol] = &sum{}
		}
		sums[symbol].trades++
		sums[symbol].quantity += quantity
		sums[symbol].value += price * float64(quantity)
	})
	return sums, err
}

func main() {
	sums, err := sumUp(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	symbols := make([]string, 0, len(sums))
	for symbol := range sums {
		symbols = append(symbols, symbol)
	}
	sort.Strings(symbols)
	for _, symbol := range symbols {
		of := sums[symbol]
		fmt.Printf("%-12s %6d trades %10d at %.4f\n", symbol, of.trades, of.quantity, of.value/float64(of.quantity))
	}
}
