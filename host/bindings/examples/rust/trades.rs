//! Trades of each symbol in a capture, with the C library from Rust: the declarations of stopbit.h that it needs, and a
//! closure for each record.
//!
//!     rustc -O trades.rs -L native=/usr/lib -l stopbit
//!     trades CAPTURE FEED.toml                lines A and B of each channel merged
//!     trades CAPTURE TEMPLATES FRAMING        day.pcap templates.xml cme

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::process::ExitCode;
use std::ptr;

/// stopbit.h, by hand: `repr(C)` gives its layout.
#[allow(dead_code)]
mod ffi {
    use super::*;

    #[repr(C)]
    pub struct Program(c_void);
    #[repr(C)]
    pub struct Replay(c_void);
    #[repr(C)]
    pub struct Record(c_void);

    #[repr(C)]
    pub struct Header {
        pub arrival_ns: u64,
        pub sequence: u32,
        pub template_index: u32,
        pub template_id: u32,
        pub channel: u16,
        pub message_index: u16,
        pub sender_epoch: u16,
        pub flags: u8,
        pub source: u8,
        pub time_quality: u8,
        pub template_name: *const c_char,
    }
    #[repr(C)]
    pub struct Event {
        pub kind: *const c_char,
        pub code: *const c_char,
        pub detail: *const c_char,
        pub template_name: *const c_char,
        pub field_name: *const c_char,
        pub packet: u64,
        pub offset: u32,
        pub first_missing: u64,
        pub missing: u64,
    }
    #[repr(C)]
    pub struct Item {
        pub kind: i32,
        pub field_type: i32,
        pub id: u32,
        pub node: u32,
        pub depth: u32,
        pub count: u32,
        pub name: *const c_char,
        pub value: i64,
        pub exponent: i32,
        pub text_size: usize,
        pub text: *const c_char,
    }
    #[repr(C)]
    pub struct Options {
        pub size: usize,
        pub framing: *const c_char,
        pub reset: *const c_char,
        pub engine: *const c_char,
        pub strict: c_int,
        pub channels: u16,
        pub pace: *const c_char,
        pub groups: *const *const c_char,
        pub group_count: usize,
        pub limit: u64,
    }
    pub type ItemCallback = extern "C" fn(*mut c_void, *const Item) -> c_int;
    pub type RecordCallback = extern "C" fn(*mut c_void, *mut Record) -> c_int;

    pub const OK: c_int = 0;
    pub const FIELD: i32 = 0;

    extern "C" {
        pub fn stopbit_program_new() -> *mut Program;
        pub fn stopbit_program_free(program: *mut Program);
        pub fn stopbit_program_error(program: *const Program) -> *const c_char;
        pub fn stopbit_program_compile(program: *mut Program, paths: *const *const c_char, count: usize) -> c_int;
        pub fn stopbit_replay_new() -> *mut Replay;
        pub fn stopbit_replay_free(replay: *mut Replay);
        pub fn stopbit_replay_error(replay: *const Replay) -> *const c_char;
        pub fn stopbit_replay_open(replay: *mut Replay, program: *const Program, captures: *const *const c_char,
                                   count: usize, options: *const Options) -> c_int;
        pub fn stopbit_replay_open_feed(replay: *mut Replay, program: *mut Program, feed: *const c_char,
                                        image: *const c_char, captures: *const *const c_char, count: usize,
                                        options: *const Options) -> c_int;
        pub fn stopbit_replay_run(replay: *mut Replay, callback: RecordCallback, user: *mut c_void) -> c_int;
        pub fn stopbit_record_header(record: *const Record) -> *const Header;
        pub fn stopbit_record_event(record: *mut Record) -> *const Event;
        pub fn stopbit_record_walk(record: *mut Record, callback: ItemCallback, user: *mut c_void) -> c_int;
    }
}

/// A text of the library, which is valid until its next call.
unsafe fn text(pointer: *const c_char) -> String {
    CStr::from_ptr(pointer).to_string_lossy().into_owned()
}

/// A program and a replay that are freed with it.
struct Replay {
    program: *mut ffi::Program,
    replay: *mut ffi::Replay,
}

impl Drop for Replay {
    fn drop(&mut self) {
        unsafe {
            ffi::stopbit_replay_free(self.replay);
            ffi::stopbit_program_free(self.program);
        }
    }
}

/// A message, valid while it is shown to the closure.
struct Message(*mut ffi::Record);

impl Message {
    fn template(&self) -> String {
        unsafe { text((*ffi::stopbit_record_header(self.0)).template_name) }
    }
    /// Shows every field. False: the record is damaged.
    fn each_field<F: FnMut(&ffi::Item)>(&self, mut take: F) -> bool {
        extern "C" fn call<F: FnMut(&ffi::Item)>(user: *mut c_void, item: *const ffi::Item) -> c_int {
            let take = unsafe { &mut *(user as *mut F) };
            let item = unsafe { &*item };
            if item.kind == ffi::FIELD {
                take(item);
            }
            0
        }
        unsafe { ffi::stopbit_record_walk(self.0, call::<F>, &mut take as *mut F as *mut c_void) == ffi::OK }
    }
}

impl Replay {
    fn new() -> Replay {
        unsafe { Replay { program: ffi::stopbit_program_new(), replay: ffi::stopbit_replay_new() } }
    }
    fn checked(&self, status: c_int) -> Result<(), String> {
        if status == ffi::OK {
            return Ok(());
        }
        Err(unsafe { text(ffi::stopbit_replay_error(self.replay)) })
    }
    fn open_feed(&self, capture: &str, feed: &str) -> Result<(), String> {
        let (capture, feed) = (c_text(capture)?, c_text(feed)?);
        let captures = [capture.as_ptr()];
        self.checked(unsafe {
            ffi::stopbit_replay_open_feed(self.replay, self.program, feed.as_ptr(), ptr::null(), captures.as_ptr(), 1,
                                          ptr::null())
        })
    }
    fn open(&self, capture: &str, templates: &str, framing: &str) -> Result<(), String> {
        let (capture, templates, framing) = (c_text(capture)?, c_text(templates)?, c_text(framing)?);
        let (captures, paths) = ([capture.as_ptr()], [templates.as_ptr()]);
        let options = ffi::Options {
            size: std::mem::size_of::<ffi::Options>(), framing: framing.as_ptr(), reset: ptr::null(),
            engine: ptr::null(), strict: 0, channels: 0, pace: ptr::null(), groups: ptr::null(), group_count: 0, limit: 0,
        };
        unsafe {
            if ffi::stopbit_program_compile(self.program, paths.as_ptr(), 1) != ffi::OK {
                return Err(text(ffi::stopbit_program_error(self.program)));
            }
            self.checked(ffi::stopbit_replay_open(self.replay, self.program, captures.as_ptr(), 1, &options))
        }
    }
    /// Shows every message; errors and gaps go to stderr. A closure that panics would end the process: it crosses C.
    fn run<F: FnMut(Message)>(&self, mut take: F) -> Result<(), String> {
        extern "C" fn call<F: FnMut(Message)>(user: *mut c_void, record: *mut ffi::Record) -> c_int {
            let take = unsafe { &mut *(user as *mut F) };
            let event = unsafe { ffi::stopbit_record_event(record) };
            if event.is_null() {
                take(Message(record));
            } else {
                unsafe { eprintln!("packet {}: {}", (*event).packet, text((*event).detail)) };
            }
            0
        }
        self.checked(unsafe { ffi::stopbit_replay_run(self.replay, call::<F>, &mut take as *mut F as *mut c_void) })
    }
}

fn c_text(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("'{text}' has a zero in it"))
}

#[derive(Default)]
struct Sum {
    trades: u64,
    quantity: i64,
    value: f64,
}

fn sum_up(arguments: &[String]) -> Result<BTreeMap<String, Sum>, String> {
    let replay = Replay::new();
    match arguments {
        [capture, feed] => replay.open_feed(capture, feed)?,
        [capture, templates, framing] => replay.open(capture, templates, framing)?,
        _ => return Err("usage: trades CAPTURE FEED.toml | CAPTURE TEMPLATES FRAMING".into()),
    }
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    replay.run(|message| {
        if message.template() != "Trade" {
            return;
        }
        let (mut symbol, mut price, mut quantity) = (String::new(), 0.0, 0);
        let is_whole = message.each_field(|item| match unsafe { CStr::from_ptr(item.name) }.to_bytes() {
            b"Symbol" => {
                let bytes = unsafe { std::slice::from_raw_parts(item.text as *const u8, item.text_size) };
                symbol = String::from_utf8_lossy(bytes).into_owned();
            }
            b"LastPrice" if item.exponent < 0 => price = item.value as f64 / 10f64.powi(-item.exponent),
            b"LastPrice" => price = item.value as f64 * 10f64.powi(item.exponent),
            b"LastSize" => quantity = item.value,
            _ => {}
        });
        if !is_whole {
            eprintln!("a record cannot be read");
            return;
        }
        let sum = sums.entry(symbol).or_default();
        sum.trades += 1;
        sum.quantity += quantity;
        sum.value += price * quantity as f64;
    })?;
    Ok(sums)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match sum_up(&arguments) {
        Ok(sums) => {
            for (symbol, sum) in sums {
                println!("{:<12} {:>6} trades {:>10} at {:.4}", symbol, sum.trades, sum.quantity,
                         sum.value / sum.quantity as f64);
            }
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
