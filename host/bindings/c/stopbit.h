/* Stopbit: FAST (FIX Adapted for STreaming) market data to records. The C interface of libstopbit.so, C11 or C++.
 *
 * A program is made from template files or from a firmware image. It replays captures or decodes single datagrams.
 * Records that another process writes to a ring in shared memory need no program: the ring contains its own. Each of
 * these gives a stopbit_record, whose fields are walked:
 *
 *     static int print(void* user, const stopbit_item* item) { ... return 0; }
 *     static int take(void* user, stopbit_record* record) { return stopbit_record_walk(record, print, user) < 0; }
 *
 *     stopbit_program* program = stopbit_program_new();
 *     if (stopbit_program_load(program, "feed.sbf") != STOPBIT_OK) puts(stopbit_program_error(program));
 *
 * Handles. stopbit_X_new makes an empty handle (NULL if memory is short). An open or load function fills it, and may
 * be called again to replace the content. stopbit_X_free frees it and accepts NULL. Engines, replays and rings keep
 * what they need of a program, so the program may be freed first.
 *
 * Errors. Functions return a stopbit_status, 0 or above on success. After a negative status the handle is as before
 * the call, unless the function says otherwise. stopbit_X_error describes the last error on one or more lines,
 * without a line end after the last; "" if there was none. The text belongs to the handle and is valid until its
 * next call. STOPBIT_ERROR_ARGUMENT: NULL where a handle or a pointer is required, a handle that is not open, or an
 * unknown enumerator or option. A freed handle cannot be detected.
 *
 * Threads. A handle may be used by one thread at a time, different handles by different threads. Loaded programs may
 * be shared. stopbit_replay_stop may be called from any thread.
 *
 * Callbacks run on the calling thread, inside the call. They must return normally (no longjmp, no C++ exception).
 * They must not use the engine, replay or ring that calls them, or whose record is being walked, except for its
 * record: such calls fail with STOPBIT_ERROR_ARGUMENT. Two calls are allowed as requests: stopbit_X_free and
 * stopbit_ring_close end the call in progress with this record, and that call frees or closes the handle before it
 * returns. A callback returns 0 to continue and another value to end the call.
 *
 * Borrowed pointers (records, items, texts) are valid until the callback returns, or, from stopbit_ring_poll, until
 * the next call with the ring. Names of templates and fields are valid as long as any handle of the program exists.
 *
 * Input is not trusted: datagrams, images, captures and rings may contain any bytes.
 *
 * Stability. Symbols have versions (STOPBIT_1.0), the library has a soname. Structures filled by the library grow at
 * the end only; structures filled by the caller begin with their size. Enumerators keep their values; new ones may
 * be added.
 */
#ifndef STOPBIT_H
#define STOPBIT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define STOPBIT_API __attribute__((visibility("default")))
#else
#define STOPBIT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stopbit_status {
  STOPBIT_OK = 0,
  STOPBIT_STOPPED = 1,         /* A callback or stopbit_replay_stop ended the call. */
  STOPBIT_ERROR_ARGUMENT = -1, /* The caller's mistake. */
  STOPBIT_ERROR_INPUT = -2,    /* Templates, firmware, datagram, capture, record or ring rejected. */
  STOPBIT_ERROR_SYSTEM = -3,   /* A file or shared memory cannot be used. */
  STOPBIT_ERROR_MEMORY = -4,
  STOPBIT_ERROR_INTERNAL = -5 /* A bug of the library: please report it. */
} stopbit_status;

/* "0.1.0" */
STOPBIT_API const char* stopbit_version(void);
/* Meaning of a stopbit_status: one sentence without a full stop. */
STOPBIT_API const char* stopbit_status_text(int status);

/* -- Programs ------------------------------------------------------------------------------------------------------ */

typedef struct stopbit_program stopbit_program;

STOPBIT_API stopbit_program* stopbit_program_new(void);
STOPBIT_API void stopbit_program_free(stopbit_program* program);
STOPBIT_API const char* stopbit_program_error(const stopbit_program* program);

/* Compiles `count` template files as one set. The error text lists every error with file, line and column; after
 * success it contains the compiler's warnings, if any. */
STOPBIT_API stopbit_status stopbit_program_compile(stopbit_program* program, const char* const* paths, size_t count);
/* Compiles one template file in memory: `size` bytes of XML. Messages use `name`. */
STOPBIT_API stopbit_status stopbit_program_compile_text(stopbit_program* program, const char* name, const char* text,
                                                        size_t size);
/* Reads and verifies a firmware image (.sbf). */
STOPBIT_API stopbit_status stopbit_program_load(stopbit_program* program, const char* path);
/* Reads and verifies a firmware image in memory. */
STOPBIT_API stopbit_status stopbit_program_load_image(stopbit_program* program, const void* image, size_t size);

/* 0 if the program is NULL or not loaded. */
STOPBIT_API uint32_t stopbit_program_templates(const stopbit_program* program);
/* NULL or 0 if no template has that index. */
STOPBIT_API const char* stopbit_program_template_name(const stopbit_program* program, uint32_t index);
STOPBIT_API uint32_t stopbit_program_template_id(const stopbit_program* program, uint32_t index);
/* Programs with equal hashes have the same record layout, and stopbit_item.node means the same. 0 if not loaded. */
STOPBIT_API uint64_t stopbit_program_layout_hash(const stopbit_program* program);
/* 1 if its records contain only some of the fields (made with `stopbit compile --fields`; `stopbit info` lists the
 * missing fields). The messages may have contained the missing fields. Else 0. */
STOPBIT_API int stopbit_program_is_projected(const stopbit_program* program);

/* -- Records ------------------------------------------------------------------------------------------------------- */

/* A message, or an event: an error, a gap. */
typedef struct stopbit_record stopbit_record;

typedef struct stopbit_header {
  uint64_t arrival_ns;       /* Arrival of the datagram, ns since 1970 (UTC). */
  uint32_t sequence;         /* Of the packet, from its preamble; 0 = none. */
  uint32_t template_index;   /* In the program; UINT32_MAX for events. */
  uint32_t template_id;      /* Messages only, else 0. */
  uint16_t channel;          /* Dictionary number: one per group of a capture. */
  uint16_t message_index;    /* Of the message in its datagram, from 0. */
  uint16_t sender_epoch;     /* Changes when the sender restarts its numbering. */
  uint8_t flags;             /* STOPBIT_FLAG_... */
  uint8_t source;            /* stopbit_source */
  uint8_t time_quality;      /* stopbit_time_quality */
  const char* template_name; /* Messages only, else NULL. */
} stopbit_header;

enum {
  STOPBIT_FLAG_LAST_OF_PACKET = 1,
  STOPBIT_FLAG_SNAPSHOT = 2,
  STOPBIT_FLAG_STALE = 4,
  STOPBIT_FLAG_RECOVERED = 8,
  STOPBIT_FLAG_POSSIBLE_DUPLICATE = 16
};
typedef enum stopbit_source {
  STOPBIT_SOURCE_FILE = 0,
  STOPBIT_SOURCE_LINE_A = 1,
  STOPBIT_SOURCE_LINE_B = 2,
  STOPBIT_SOURCE_REPLAY = 3,
  STOPBIT_SOURCE_SNAPSHOT = 4
} stopbit_source;
typedef enum stopbit_time_quality {
  STOPBIT_TIME_SYNTHETIC = 0,
  STOPBIT_TIME_POLL = 1,
  STOPBIT_TIME_KERNEL = 2,
  STOPBIT_TIME_HARDWARE = 3
} stopbit_time_quality;

typedef struct stopbit_event {
  const char* kind;          /* "error", "dropped", "gap", "reset", "stale", "recovered", "layoutChanged", "lost" */
  const char* code;          /* Of the FAST specification, "D2"; "" if it is no error. */
  const char* detail;        /* Description, one sentence without a full stop. */
  const char* template_name; /* NULL: the error is outside a template. */
  const char* field_name;    /* NULL: the error is not at a field. */
  uint64_t packet;           /* Number of the packet in its source, from 1; not of a gap. */
  uint32_t offset;           /* Error, dropped: byte of the datagram. */
  uint64_t first_missing;    /* Gap: the first missing sequence number, and how many. */
  uint64_t missing;          /* Lost: how many records. */
} stopbit_event;

typedef enum stopbit_kind {
  STOPBIT_FIELD = 0,
  STOPBIT_GROUP_BEGIN = 1,
  STOPBIT_GROUP_END = 2,
  STOPBIT_SEQUENCE_BEGIN = 3, /* count: number of elements, may be 0. Not reported for an absent sequence. */
  STOPBIT_ELEMENT_BEGIN = 4,  /* count: number of the element, from 0. */
  STOPBIT_ELEMENT_END = 5,
  STOPBIT_SEQUENCE_END = 6,
  STOPBIT_REFERENCE_BEGIN = 7, /* A dynamic template reference; text: name of the template. */
  STOPBIT_REFERENCE_END = 8
} stopbit_kind;

typedef enum stopbit_type {
  STOPBIT_INT8 = 0,
  STOPBIT_UINT8 = 1,
  STOPBIT_INT16 = 2,
  STOPBIT_UINT16 = 3,
  STOPBIT_INT32 = 4,
  STOPBIT_UINT32 = 5,
  STOPBIT_INT64 = 6,
  STOPBIT_UINT64 = 7,
  STOPBIT_DECIMAL = 8,
  STOPBIT_ASCII = 9,
  STOPBIT_UNICODE = 10, /* Usually UTF-8; not verified. */
  STOPBIT_BYTE_VECTOR = 11,
  STOPBIT_ENUM = 12,
  STOPBIT_SET = 13,
  STOPBIT_BOOLEAN = 14,
  STOPBIT_TIMESTAMP = 15
} stopbit_type;

/* A step of a walk. */
typedef struct stopbit_item {
  int32_t kind;     /* stopbit_kind */
  int32_t type;     /* stopbit_type of a field; else -1. */
  uint32_t id;      /* FIX tag from the template file's `id`; 0 = none. */
  uint32_t node;    /* Number of the field in the program; cheaper to compare than names. */
  uint32_t depth;   /* Number of enclosing groups, sequences, elements and references. */
  uint32_t count;   /* Sequence, element: see stopbit_kind. */
  const char* name; /* Never NULL; "" for the values of a vector. */
  /* Integers and time stamps; STOPBIT_UINT64: cast it to uint64_t. Boolean: 0 or 1. Enum: index of the element. Set: a
   * bit per element. Decimal: the mantissa. */
  int64_t value;
  int32_t exponent; /* Decimal: -63 to 63; the value is mantissa * 10^exponent. */
  size_t text_size;
  const char* text; /* Strings and byte vectors: text_size bytes, not zero-terminated. Enum: name of the element;
                     * reference: name of the template; both zero-terminated. Else NULL. */
} stopbit_item;

typedef int (*stopbit_item_callback)(void* user, const stopbit_item* item);
typedef int (*stopbit_record_callback)(void* user, stopbit_record* record);

/* NULL only if the record is NULL. */
STOPBIT_API const stopbit_header* stopbit_record_header(const stopbit_record* record);
/* NULL for messages. */
STOPBIT_API const stopbit_event* stopbit_record_event(stopbit_record* record);
/* Visits the message's fields in the order of the template: no absent fields, but mandatory constants, and no fields
 * that the program leaves out of its records. Sequences of which only the length is stored have elements without
 * fields. An event has no fields. Returns STOPBIT_ERROR_INPUT if the record is damaged (an untrusted ring or slots);
 * part of it may have been visited by then. Allocates nothing. */
STOPBIT_API stopbit_status stopbit_record_walk(stopbit_record* record, stopbit_item_callback callback, void* user);
/* Whether the record is undamaged: what stopbit_record_walk would find, without a visit. Views of `stopbit gen c`
 * (stopbit_view.h) trust a record: check it first. STOPBIT_ERROR_INPUT if it is damaged. Allocates nothing. */
STOPBIT_API stopbit_status stopbit_record_check(stopbit_record* record);
/* The record as `stopbit replay --format jsonl` prints it, without the line end. Stores at most `size` bytes
 * including a terminating zero. `length` (may be NULL) receives the full length without the zero.
 * STOPBIT_ERROR_ARGUMENT if `size` is not larger than that length; then only an empty text is stored. */
STOPBIT_API stopbit_status stopbit_record_json(stopbit_record* record, char* buffer, size_t size, size_t* length);
/* The 64-byte slots of the record, which stopbit_record_walk_slots can walk later or in another process. */
STOPBIT_API const void* stopbit_record_slots(const stopbit_record* record, size_t* bytes);
STOPBIT_API const char* stopbit_record_error(const stopbit_record* record);

/* Name of element `index` of the enumeration or set that `item` is a value of; NULL if it does not exist. */
STOPBIT_API const char* stopbit_record_element(const stopbit_record* record, const stopbit_item* item, uint32_t index);

/* Walks stored or received slots, which may contain any bytes. `record` receives a record that is valid until the
 * callback returns. Errors are stored in the program (stopbit_program_error), so other threads must not use the
 * program meanwhile. */
STOPBIT_API stopbit_status stopbit_program_read_slots(stopbit_program* program, const void* slots, size_t bytes,
                                                      stopbit_record_callback callback, void* user);

/* -- Options ------------------------------------------------------------------------------------------------------- */

/* How datagrams are decoded. Initialise with STOPBIT_OPTIONS_INIT; NULL and 0 mean the default. */
typedef struct stopbit_options {
  size_t size;               /* sizeof(stopbit_options) */
  const char* framing;       /* A name from `stopbit replay --help`, such as "cme", or "custom:..."; default "none". */
  const char* reset;         /* "packet", "template", "never"; default: the framing's rule. */
  const char* engine;        /* "native", "quick", "interp"; default: native if it can run, else quick. */
  int strict;                /* Not 0: also report FAST's reportable errors, R2 and R6 to R9. */
  uint16_t channels;         /* Engines: dictionaries, 1 to 1024; default 1. */
  const char* pace;          /* Replays: "max", or a multiple of the capture's own speed, "1x". Default "max". */
  const char* const* groups; /* Replays: only these multicast groups, "A.B.C.D:PORT". */
  size_t group_count;        /* 0 = all. */
  uint64_t limit;            /* Replays: stop after this number of datagrams; 0 = no limit. */
} stopbit_options;

#define STOPBIT_OPTIONS_INIT \
  { sizeof(stopbit_options), NULL, NULL, NULL, 0, 0, NULL, NULL, 0, 0 }

/* -- Engines: one datagram at a time ------------------------------------------------------------------------------- */

typedef struct stopbit_engine stopbit_engine;

/* Metadata of a datagram. Initialise with STOPBIT_PACKET_INIT. */
typedef struct stopbit_packet {
  size_t size;         /* sizeof(stopbit_packet) */
  uint64_t arrival_ns; /* Copied to the header of its records, like the other members. */
  uint64_t number;     /* From 1; reported in errors. */
  uint16_t channel;    /* Below the engine's number of channels. */
  uint8_t source;      /* stopbit_source */
  uint8_t time_quality;
} stopbit_packet;

#define STOPBIT_PACKET_INIT \
  { sizeof(stopbit_packet), 0, 0, 0, 0, 0 }

STOPBIT_API stopbit_engine* stopbit_engine_new(void);
STOPBIT_API void stopbit_engine_free(stopbit_engine* engine);
STOPBIT_API const char* stopbit_engine_error(stopbit_engine* engine);
/* `options` may be NULL. Framings with chunks or blocks (b3, custom with blocks) are for replays only. */
STOPBIT_API stopbit_status stopbit_engine_open(stopbit_engine* engine, const stopbit_program* program,
                                               const stopbit_options* options);
/* "native", "quick", "interp"; NULL if the engine is not open. */
STOPBIT_API const char* stopbit_engine_kind(const stopbit_engine* engine);
/* Decodes a datagram, the payload of a UDP packet, and calls `callback` for each record. STOPBIT_ERROR_INPUT: a
 * message was faulty and the rest of the datagram was dropped; the records before it were delivered, followed by an
 * event that describes the error. STOPBIT_STOPPED: the callback ended the call and the remaining records were
 * skipped; the dictionary is updated as usual. `packet` may be NULL. Allocates nothing and makes no system call
 * unless there is an error. */
STOPBIT_API stopbit_status stopbit_engine_decode(stopbit_engine* engine, const void* datagram, size_t size,
                                                 const stopbit_packet* packet, stopbit_record_callback callback,
                                                 void* user);
/* Resets the dictionary of a channel. */
STOPBIT_API stopbit_status stopbit_engine_reset(stopbit_engine* engine, uint16_t channel);

/* -- Replays: whole captures --------------------------------------------------------------------------------------- */

typedef struct stopbit_replay stopbit_replay;

typedef struct stopbit_summary {
  uint64_t packets;   /* In the captures. */
  uint64_t datagrams; /* Passed to the engine. */
  uint64_t messages;
  uint64_t fields;
  uint64_t errors;   /* Damaged, cut, lost or rejected; 0 = everything requested was decoded. */
  uint64_t problems; /* Number of descriptions that stopbit_replay_problem can return. */
} stopbit_summary;

STOPBIT_API stopbit_replay* stopbit_replay_new(void);
STOPBIT_API void stopbit_replay_free(stopbit_replay* replay);
STOPBIT_API const char* stopbit_replay_error(const stopbit_replay* replay);
/* Opens captures: pcap or pcapng, plain or gzip, "-" is standard input. `options` may be NULL. */
STOPBIT_API stopbit_status stopbit_replay_open(stopbit_replay* replay, const stopbit_program* program,
                                               const char* const* captures, size_t count,
                                               const stopbit_options* options);
/* The same by the description of a feed, feed.toml: lines A and B of each channel are merged, and gaps and resets
 * become events. `image`: the name of the image whose channels are decoded; NULL if the feed has one only. `program`
 * receives this image, for names and identifiers. `options` has no framing, reset and groups, which are the feed's. */
STOPBIT_API stopbit_status stopbit_replay_open_feed(stopbit_replay* replay, stopbit_program* program, const char* feed,
                                                    const char* image, const char* const* captures, size_t count,
                                                    const stopbit_options* options);
/* Decodes everything, once; open again for another run. Errors in the data become events among the records and are
 * counted. */
STOPBIT_API stopbit_status stopbit_replay_run(stopbit_replay* replay, stopbit_record_callback callback, void* user);
/* Ends stopbit_replay_run soon, or the next run at once. May be called from any thread, callback or signal handler,
 * at any time between stopbit_replay_new and stopbit_replay_free. Opening captures clears the request. */
STOPBIT_API void stopbit_replay_stop(stopbit_replay* replay);
/* Valid after the run; NULL before. */
STOPBIT_API const stopbit_summary* stopbit_replay_summary(const stopbit_replay* replay);
/* "day.pcap: packet 12, byte 41: ... [D2]", NULL if `index` is not below stopbit_summary.problems. */
STOPBIT_API const char* stopbit_replay_problem(const stopbit_replay* replay, size_t index);

/* -- Rings: records that another process writes -------------------------------------------------------------------- */

typedef struct stopbit_ring stopbit_ring;

typedef enum stopbit_start {
  STOPBIT_START_OLDEST = 0, /* At the oldest record that is not about to be overwritten. */
  STOPBIT_START_NEWEST = 1  /* With the next record. */
} stopbit_start;

typedef enum stopbit_poll {
  STOPBIT_POLL_NOTHING = 0, /* No record yet. */
  STOPBIT_POLL_RECORD = 1,
  STOPBIT_POLL_LOST = 2 /* The writer was faster: stopbit_ring_lost records were skipped. Later records are intact. */
} stopbit_poll;

typedef enum stopbit_writer {
  STOPBIT_WRITER_RUNNING = 0,
  STOPBIT_WRITER_FINISHED = 1, /* It ended normally. */
  STOPBIT_WRITER_DEAD = 2      /* It died. */
} stopbit_writer;

STOPBIT_API stopbit_ring* stopbit_ring_new(void);
STOPBIT_API void stopbit_ring_free(stopbit_ring* ring);
STOPBIT_API const char* stopbit_ring_error(const stopbit_ring* ring);
/* Rings are accepted if they belong to this process's user, to root or to the user "stopbit"; others are not
 * trusted. This call also accepts, and prefers, the rings of another `user` (name or number); NULL: of
 * $STOPBIT_USER, if set. It applies to later open and attach calls. STOPBIT_ERROR_ARGUMENT: no such user. */
STOPBIT_API stopbit_status stopbit_ring_accept(stopbit_ring* ring, const char* user);
/* Opens a ring by its name, or by the path of a file if it contains a '/'. `start` is a stopbit_start. The first
 * ring that a process opens installs a handler of SIGBUS: a ring whose file is truncated is damaged
 * (STOPBIT_ERROR_INPUT) and does not end the process. Faults at other addresses are passed to the previous handler. */
STOPBIT_API stopbit_status stopbit_ring_open(stopbit_ring* ring, const char* name, int start);
/* Opens a lossless ring (its writer was started so), whose writer waits for this reader. From its oldest record on
 * nothing is lost, until the handle is closed or does not read for the writer's patience. Only for the writer's
 * user. Waits up to `timeout_ns` to be admitted; STOPBIT_ERROR_SYSTEM if it is not admitted or the ring is not
 * lossless. With such a ring stopbit_ring_poll and _batch do make system calls. */
STOPBIT_API stopbit_status stopbit_ring_attach(stopbit_ring* ring, const char* name, uint64_t timeout_ns);
/* 1 if the writer has stopped waiting for this reader; 0 if not, or if the reader was not attached. */
STOPBIT_API int stopbit_ring_is_detached(const stopbit_ring* ring);
/* Unmaps the shared memory; the handle may be opened again. */
STOPBIT_API void stopbit_ring_close(stopbit_ring* ring);
/* Takes the next record, if there is one: a stopbit_poll, or a negative stopbit_status. STOPBIT_ERROR_INPUT: the
 * ring's content is inconsistent; this is permanent. `record` is set to NULL if there is no record. Makes no system
 * call and allocates nothing. */
STOPBIT_API int stopbit_ring_poll(stopbit_ring* ring, stopbit_record** record);
/* Takes up to `most` records and calls `callback` for each; cheaper than single polls if many are available. Ends
 * early where stopbit_ring_poll would return no record, and returns what it would return; STOPBIT_POLL_RECORD if
 * `most` were taken or the callback ended the call. `taken` (may be NULL) receives the number of records. */
STOPBIT_API int stopbit_ring_batch(stopbit_ring* ring, size_t most, stopbit_record_callback callback, void* user,
                                   size_t* taken);
/* Exact number of records skipped by the last loss, and by all losses together. 0 if the ring is not open. */
STOPBIT_API uint64_t stopbit_ring_lost(const stopbit_ring* ring);
STOPBIT_API uint64_t stopbit_ring_total_lost(const stopbit_ring* ring);
/* A stopbit_writer, or STOPBIT_ERROR_ARGUMENT. Makes a system call, so call it when there is nothing to read.
 * Records may have arrived since the last poll: after the writer has ended, poll until STOPBIT_POLL_NOTHING to see
 * its last record. */
STOPBIT_API int stopbit_ring_writer(const stopbit_ring* ring);
/* When the writer has last said that it is well, by the clock of its host: ns since 1970, several times a second, also
 * in a quiet market. It stops if the writer's process is stopped. 0 if the ring is not open. No system call. */
STOPBIT_API uint64_t stopbit_ring_heartbeat_ns(const stopbit_ring* ring);
/* 1 if a later writer has created another ring of the same name; else 0. Makes a system call. */
STOPBIT_API int stopbit_ring_replaced(const stopbit_ring* ring);
/* The layout of its records, as stopbit_program_layout_hash. 0 if the ring is not open. */
STOPBIT_API uint64_t stopbit_ring_layout_hash(const stopbit_ring* ring);
/* As stopbit_program_is_projected, of its records. */
STOPBIT_API int stopbit_ring_is_projected(const stopbit_ring* ring);

/* -- Market events: what records mean for instruments, the same for all feeds -------------------------------------- */

/* `stopbit run` with a map, and `stopbit replay --events --ring`, write a ring of market events, and beside it two
 * tables: of instruments, and of the newest state of each. The ring is read as any other:
 *
 *     while (stopbit_ring_poll(ring, &record) == STOPBIT_POLL_RECORD) {
 *       const stopbit_market_event* event = stopbit_record_market_event(record);
 *       if (event != NULL && event->instrument == row) ...
 *     }
 *
 * Such a record is neither a message nor an event as stopbit_record_event means it. Its walk visits no fields. Its JSON
 * line is that of `stopbit tail`, with the number of the instrument's row. */

/* What a reader does with each: host/market/event/event.md. */
typedef enum stopbit_market_kind {
  STOPBIT_MARKET_NEW = 1,
  STOPBIT_MARKET_CHANGE = 2,
  STOPBIT_MARKET_DELETE = 3,
  STOPBIT_MARKET_OVERLAY = 4,
  STOPBIT_MARKET_DELETE_TOP = 5,
  STOPBIT_MARKET_DELETE_BOTTOM = 6,
  STOPBIT_MARKET_DELETE_SIDE = 7,
  STOPBIT_MARKET_CLEAR = 8,
  STOPBIT_MARKET_TRADE = 9,
  STOPBIT_MARKET_BUST = 10,
  STOPBIT_MARKET_STATISTIC = 11,
  STOPBIT_MARKET_STATE = 12,
  STOPBIT_MARKET_DEFINITION = 13,
  STOPBIT_MARKET_REMOVED = 14,
  STOPBIT_MARKET_STALE = 15,
  STOPBIT_MARKET_SUSPECT = 16,
  STOPBIT_MARKET_LATEST = 17,
  STOPBIT_MARKET_SNAPSHOT_BEGIN = 18,
  STOPBIT_MARKET_SNAPSHOT_END = 19,
  STOPBIT_MARKET_QUOTE_REQUEST = 20,
  STOPBIT_MARKET_INDEX = 21,
  STOPBIT_MARKET_NEWS = 22,
  STOPBIT_MARKET_OTHER = 31
} stopbit_market_kind;
typedef enum stopbit_statistic {
  STOPBIT_STATISTIC_OPEN = 1,
  STOPBIT_STATISTIC_HIGH = 2,
  STOPBIT_STATISTIC_LOW = 3,
  STOPBIT_STATISTIC_CLOSE = 4,
  STOPBIT_STATISTIC_SETTLEMENT = 5,
  STOPBIT_STATISTIC_VOLUME = 6,
  STOPBIT_STATISTIC_OPEN_INTEREST = 7,
  STOPBIT_STATISTIC_INDICATIVE_PRICE = 8,
  STOPBIT_STATISTIC_IMBALANCE = 9,
  STOPBIT_STATISTIC_AVERAGE_PRICE = 10,
  STOPBIT_STATISTIC_HIGH_LIMIT = 11,
  STOPBIT_STATISTIC_LOW_LIMIT = 12,
  STOPBIT_STATISTIC_PREVIOUS_CLOSE = 13,
  STOPBIT_STATISTIC_TURNOVER = 14,
  STOPBIT_STATISTIC_TRADE_COUNT = 15,
  STOPBIT_STATISTIC_LAST_BEST = 16,
  STOPBIT_STATISTIC_HIGH_BID = 17,
  STOPBIT_STATISTIC_LOW_ASK = 18,
  STOPBIT_STATISTIC_TOTAL_QUANTITY = 19,
  STOPBIT_STATISTIC_THEORETICAL_PRICE = 20,
  STOPBIT_STATISTIC_SPOT_PRICE = 21,
  STOPBIT_STATISTIC_MARKET_QUANTITY = 22,
  STOPBIT_STATISTIC_LAST_PRICE = 23,
  STOPBIT_STATISTIC_REFERENCE_PRICE = 24,
  STOPBIT_STATISTIC_RESET = 254,
  STOPBIT_STATISTIC_OTHER = 255
} stopbit_statistic;
/* Why a book is not the latest, or was cleared. */
typedef enum stopbit_cause {
  STOPBIT_CAUSE_NONE = 0,
  STOPBIT_CAUSE_EXCHANGE = 1,
  STOPBIT_CAUSE_RESET = 2,
  STOPBIT_CAUSE_SESSION = 3,
  STOPBIT_CAUSE_GAP = 4,
  STOPBIT_CAUSE_JOIN = 5,
  STOPBIT_CAUSE_ROOM = 6,
  STOPBIT_CAUSE_CONTRADICTION = 7,
  STOPBIT_CAUSE_AUDIT = 8,
  STOPBIT_CAUSE_QUEUE = 9,
  STOPBIT_CAUSE_LINE = 10
} stopbit_cause;
typedef enum stopbit_trading_state {
  STOPBIT_TRADING_UNKNOWN = 0,
  STOPBIT_TRADING_CLOSED = 1,
  STOPBIT_TRADING_PRE_OPEN = 2,
  STOPBIT_TRADING_AUCTION = 3,
  STOPBIT_TRADING_OPEN = 4,
  STOPBIT_TRADING_HALTED = 5,
  STOPBIT_TRADING_ENDED = 6
} stopbit_trading_state;
typedef enum stopbit_side { STOPBIT_SIDE_NONE = 0, STOPBIT_SIDE_BID = 1, STOPBIT_SIDE_ASK = 2 } stopbit_side;
/* How far a book can be trusted. */
typedef enum stopbit_standing {
  STOPBIT_STANDING_STALE = 0,   /* It may be wrong or lack something. */
  STOPBIT_STANDING_SUSPECT = 1, /* It was right before a loss that may or may not concern it. */
  STOPBIT_STANDING_LATEST = 2   /* It is right. */
} stopbit_standing;

/* Flags of market events, beside STOPBIT_FLAG_LAST_OF_PACKET to STOPBIT_FLAG_POSSIBLE_DUPLICATE. */
enum {
  STOPBIT_FLAG_LAST_OF_EVENT = 32, /* The exchange's event ends here: the book is whole. */
  STOPBIT_FLAG_BEST_CHANGED = 64,
  STOPBIT_FLAG_WIDE = 128 /* A value did not fit and is none; the record has it whole. */
};

#define STOPBIT_NO_PRICE INT64_MIN
#define STOPBIT_NO_QUANTITY (-((int64_t)1 << 39))
#define STOPBIT_NO_DELAY (-((int64_t)1 << 39))
#define STOPBIT_NO_COUNT ((uint64_t)1 << 63)

typedef struct stopbit_market_event {
  uint64_t arrival_ns; /* As in stopbit_header. */
  int64_t delay_ns;    /* Arrival minus the exchange's time; STOPBIT_NO_DELAY = not known. */
  int64_t price;       /* The price is price * 10^price_exponent; STOPBIT_NO_PRICE = none. */
  int64_t quantity;    /* In units of 10^stopbit_market_quantity_exponent; STOPBIT_NO_QUANTITY = none. */
  uint64_t id;         /* Order or trade; entries with a level: number of orders, STOPBIT_NO_COUNT = not known. State:
                        * bits 0..7 a stopbit_trading_state, 8..39 the exchange's code, 40..47 its scale. Clear: a
                        * stopbit_cause. Stale, suspect, latest, snapshot_end: a number of the feed. */
  uint32_t instrument; /* Row of the table; 0 = all instruments of the channel. */
  uint32_t sequence;   /* As in stopbit_header, like channel. */
  uint16_t channel;
  uint16_t level;         /* Position from 1; 0 = addressed by order or price; 65535 = after all others. Statistic: a
                           * stopbit_statistic. Stale, suspect: a stopbit_cause. */
  int16_t price_exponent; /* -9 */
  uint8_t kind;           /* stopbit_market_kind */
  uint8_t side;           /* stopbit_side; of a trade the aggressor's */
  uint8_t is_implied;     /* 1: of the implied book. */
  uint8_t flags;          /* STOPBIT_FLAG_... */
  const char* kind_name;  /* "new", "trade", ...; "" for a kind that this library does not know. */
} stopbit_market_event;

/* NULL if the record is no market event. The structure belongs to the record: valid as long as the record, until the
 * next call of this function. Any values are possible in an untrusted ring. Allocates nothing and makes no system call.
 */
STOPBIT_API const stopbit_market_event* stopbit_record_market_event(stopbit_record* record);

/* Names as in JSON lines, "last_price", "gap", "halted", "latest"; NULL for a value that has none. */
STOPBIT_API const char* stopbit_statistic_name(int statistic);
STOPBIT_API const char* stopbit_cause_name(int cause);
STOPBIT_API const char* stopbit_trading_state_name(int state);
STOPBIT_API const char* stopbit_standing_name(int standing);

/* -- Tables of instruments and of their states --------------------------------------------------------------------- */

/* Both tables beside a ring of market events. They can be read at any time, also after their writer has ended; a late
 * reader needs nothing else. A read copies what the tables say at one moment, whatever the writer does; it makes no
 * system call and allocates nothing. The structures belong to the handle and are valid until its next call. */
typedef struct stopbit_market stopbit_market;

typedef struct stopbit_instrument {
  uint32_t row;      /* Never changes while the table exists; another table may have another. */
  uint32_t key_size; /* Without the zero after it, like the other sizes. */
  uint32_t name_size;
  uint32_t product_size;
  const char* key;     /* The map's key fields with / between them. Ends with a zero; may contain any bytes. */
  const char* name;    /* Of the definition; "" = not known. Like the product, it may change with a later definition. */
  const char* product; /* "" = not known. */
  int64_t tick;        /* In units of 10^-9; 0 = not known. */
  uint64_t session;    /* As the exchange has it. */
  uint64_t first_ns;   /* Arrival of the first sight; then of the last definition, 0 = none. */
  uint64_t definition_ns;
  uint16_t channel;
  uint16_t depth;         /* Of the direct book; 0 = not known. */
  uint16_t implied_depth; /* Of the implied one. */
  uint8_t is_defined;     /* 1: a definition was seen; 2: long before the process began, and none since. */
  uint8_t is_removed;     /* 1: the exchange has removed it. */
} stopbit_instrument;

enum { STOPBIT_KNOWN_WHOLE = 255 }; /* All rows of a side are known, and there are no others. */

/* Prices in units of 10^-9, STOPBIT_NO_PRICE = none. Quantities in units of 10^stopbit_market_quantity_exponent,
 * STOPBIT_NO_QUANTITY = none. Book and day are as of one moment. */
typedef struct stopbit_state {
  int64_t bid;
  int64_t bid_quantity;
  int64_t ask;
  int64_t ask_quantity;
  uint64_t arrival_ns; /* Of the packet that changed the book last, like sequence and channel. */
  int64_t last;        /* The last trade, and when: the exchange's time, else its arrival; 0 = none. */
  int64_t last_quantity;
  uint64_t last_ns;
  int64_t high; /* Of the day, as the exchange says; before it does, of the trades since the table began. */
  int64_t low;
  int64_t volume;
  uint32_t sequence;
  uint32_t exchange_state; /* The exchange's code of its trading state, on `scale` of the map. */
  uint16_t channel;
  uint8_t scale;
  uint8_t trading_state; /* stopbit_trading_state */
  uint8_t standing;      /* stopbit_standing */
  uint8_t cause;         /* stopbit_cause, of a book that is not the latest. */
  uint8_t bid_known;     /* Rows of bids from the best to the first unknown one, at most 254; or STOPBIT_KNOWN_WHOLE. */
  uint8_t ask_known;
  uint8_t aggressor; /* stopbit_side of the last trade. */
} stopbit_state;

typedef struct stopbit_level {
  int64_t price;
  int64_t quantity;
  uint32_t orders;   /* UINT32_MAX = not known. */
  uint32_t is_known; /* 0: there is such a row, and nothing is known of it. */
} stopbit_level;

/* The first rows of both sides, the best first, as at the end of an event of the exchange. */
typedef struct stopbit_levels {
  const stopbit_level* bids;
  const stopbit_level* asks;
  size_t bid_count;
  size_t ask_count;
} stopbit_levels;

STOPBIT_API stopbit_market* stopbit_market_new(void);
STOPBIT_API void stopbit_market_free(stopbit_market* market);
STOPBIT_API const char* stopbit_market_error(const stopbit_market* market);
/* As stopbit_ring_accept. */
STOPBIT_API stopbit_status stopbit_market_accept(stopbit_market* market, const char* user);
/* Opens the tables of the ring of market events `name`, which is given as to stopbit_ring_open. STOPBIT_ERROR_SYSTEM if
 * there are none, if they are of another version or damaged, or if they belong to another ring of that name, which a
 * writer may just be replacing: try again. Installs the handler of SIGBUS, as stopbit_ring_open does. */
STOPBIT_API stopbit_status stopbit_market_open(stopbit_market* market, const char* name);
/* 1 if `instrument` of the ring's events means a row of these tables. 0 if another ring had the name when one of both
 * was opened: open both again. */
STOPBIT_API int stopbit_market_belongs(const stopbit_market* market, const stopbit_ring* ring);
/* 1 if a later writer or a new image has made other tables of the name; else 0. Makes a system call. */
STOPBIT_API int stopbit_market_replaced(const stopbit_market* market);
/* Of the writer, as stopbit_ring_writer. Makes a system call. */
STOPBIT_API int stopbit_market_writer(const stopbit_market* market);
/* As stopbit_ring_heartbeat_ns. */
STOPBIT_API uint64_t stopbit_market_heartbeat_ns(const stopbit_market* market);
/* Rows 1 to this; it grows. 0 if the tables are not open. */
STOPBIT_API uint32_t stopbit_market_rows(const stopbit_market* market);
/* 0, -1, ...: quantities are in units of 10^this. */
STOPBIT_API int stopbit_market_quantity_exponent(const stopbit_market* market);
/* Rows a side that stopbit_market_levels can give; 0 = the writer publishes only the best. */
STOPBIT_API uint32_t stopbit_market_level_rows(const stopbit_market* market);
/* Row of the instrument with that key or, else, that name; 0 if there is none. */
STOPBIT_API uint32_t stopbit_market_find(const stopbit_market* market, const char* key_or_name);
/* STOPBIT_ERROR_ARGUMENT: no such row. STOPBIT_ERROR_INPUT: a table's file was truncated; this is permanent.
 * STOPBIT_ERROR_SYSTEM: the row changed during each try; if that lasts, its writer has died while it wrote the row
 * (stopbit_market_writer). The pointer is NULL after an error. */
STOPBIT_API stopbit_status stopbit_market_instrument(stopbit_market* market, uint32_t row,
                                                     const stopbit_instrument** instrument);
STOPBIT_API stopbit_status stopbit_market_state(stopbit_market* market, uint32_t row, const stopbit_state** state);
/* STOPBIT_ERROR_ARGUMENT, too, if only the best is published. */
STOPBIT_API stopbit_status stopbit_market_levels(stopbit_market* market, uint32_t row, const stopbit_levels** levels);

#ifdef __cplusplus
}
#endif

#endif /* STOPBIT_H */
