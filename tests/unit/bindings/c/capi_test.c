/* libstopbit.so as a C program uses it.
 *
 *   capi_test SAMPLE_FOLDER                       calls of every kind, right and wrong
 *   capi_test CAPTURE FRAMING TEMPLATES           every record of a capture: the walk and the JSON line say the same.
 *                                                 TEMPLATES may be a firmware image, FILE.sbf
 *   capi_test ring RING NO_RING                   a ring with records of a writer that has ended, and a file that is
 *                                                 none
 *   capi_test market EVENTS OTHER MIXED           prints the events of a ring and the rows of its tables. OTHER: a ring
 *                                                 with the same of another writer. Truncates the tables of OTHER
 */
#define _XOPEN_SOURCE 700 /* truncate */

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "host/bindings/c/stopbit.h"

static void fail(const char* file, int line, const char* what, const char* detail) {
  fprintf(stderr, "%s:%d: not so: %s%s%s\n", file, line, what, detail[0] != '\0' ? ": " : "", detail);
  exit(1);
}

#define CHECK(holds) ((holds) ? (void)0 : fail(__FILE__, __LINE__, #holds, ""))
#define CHECK_TEXT(holds, text) ((holds) ? (void)0 : fail(__FILE__, __LINE__, #holds, text))

/* -- A walk, written as JSON ----------------------------------------------------------------------------------------
 */

enum { kMaxDepth = 64, kMaxText = 1 << 20 };

typedef struct Json {
  char text[kMaxText];
  size_t size;
  int is_vector[kMaxDepth]; /* By depth: the sequence's elements are values. */
  const stopbit_record* record;
} Json;

static void put(Json* json, const char* text) {
  const size_t size = strlen(text);
  CHECK(json->size + size + 1 < sizeof(json->text));
  memcpy(json->text + json->size, text, size + 1);
  json->size += size;
}

static void put_bytes(Json* json, const char* text, size_t size, int is_ascii) {
  size_t i;
  put(json, "\"");
  for (i = 0; i < size; ++i) {
    const unsigned char c = (unsigned char)text[i];
    char escaped[8] = {(char)c, '\0'};
    if (c == '"' || c == '\\') snprintf(escaped, sizeof(escaped), "\\%c", c);
    if (c < 0x20 || c == 0x7F || (c > 0x7F && is_ascii)) snprintf(escaped, sizeof(escaped), "\\u%04x", c);
    put(json, escaped);
  }
  put(json, "\"");
}

static void put_decimal(Json* json, int64_t mantissa, int32_t exponent) {
  char digits[32];
  char text[128];
  const int is_negative = mantissa < 0;
  const uint64_t magnitude = is_negative ? 0 - (uint64_t)mantissa : (uint64_t)mantissa;
  if (exponent >= 0) {
    snprintf(text, sizeof(text), exponent > 0 ? "%" PRId64 "e%" PRId32 : "%" PRId64, mantissa, exponent);
  } else {
    const int fraction = -exponent;
    const int length = snprintf(digits, sizeof(digits), "%" PRIu64, magnitude);
    const int whole = length > fraction ? length - fraction : 0;
    snprintf(text, sizeof(text), "%s%.*s%s.%.*s%s", is_negative ? "-" : "", whole, digits, whole > 0 ? "" : "0",
             fraction - (length - whole), "000000000000000000000000000000000000000000000000000000000000000000",
             digits + whole);
  }
  put(json, text);
}

static void put_hex(Json* json, const char* text, size_t size) {
  size_t i;
  put(json, "\"");
  for (i = 0; i < size; ++i) {
    char digits[3];
    snprintf(digits, sizeof(digits), "%02x", (unsigned)(unsigned char)text[i]);
    put(json, digits);
  }
  put(json, "\"");
}

static void put_set(Json* json, const stopbit_item* item) {
  uint32_t i;
  int first = 1;
  put(json, "[");
  for (i = 0; i < 64; ++i) {
    const char* name;
    if (((uint64_t)item->value >> i & 1) == 0) continue;
    name = stopbit_record_element(json->record, item, i);
    CHECK(name != NULL);
    if (!first) put(json, ",");
    put_bytes(json, name, strlen(name), 0);
    first = 0;
  }
  put(json, "]");
}

static void put_value(Json* json, const stopbit_item* item) {
  char number[32];
  switch (item->type) {
    case STOPBIT_DECIMAL: put_decimal(json, item->value, item->exponent); return;
    case STOPBIT_ASCII:
    case STOPBIT_UNICODE: put_bytes(json, item->text, item->text_size, item->type == STOPBIT_ASCII); return;
    case STOPBIT_BYTE_VECTOR: put_hex(json, item->text, item->text_size); return;
    case STOPBIT_ENUM: put_bytes(json, item->text, item->text_size, 0); return;
    case STOPBIT_SET: put_set(json, item); return;
    case STOPBIT_BOOLEAN: put(json, item->value != 0 ? "true" : "false"); return;
    case STOPBIT_UINT64: snprintf(number, sizeof(number), "%" PRIu64, (uint64_t)item->value); break;
    default: snprintf(number, sizeof(number), "%" PRId64, item->value);
  }
  put(json, number);
}

static void put_comma(Json* json) {
  const char last = json->text[json->size - 1];
  if (last != '{' && last != '[') put(json, ",");
}

static void put_key(Json* json, const stopbit_item* item) {
  put_comma(json);
  if (item->name[0] == '\0') return; /* a value of a vector */
  put_bytes(json, item->name, strlen(item->name), 0);
  put(json, ":");
}

static int write_item(void* user, const stopbit_item* item) {
  Json* json = user;
  CHECK(item->depth < kMaxDepth);
  switch (item->kind) {
    case STOPBIT_FIELD:
      put_key(json, item);
      put_value(json, item);
      break;
    case STOPBIT_GROUP_BEGIN:
      put_key(json, item);
      put(json, "{");
      break;
    case STOPBIT_SEQUENCE_BEGIN:
      put_key(json, item);
      put(json, "[");
      break;
    case STOPBIT_ELEMENT_BEGIN:
      put_comma(json);
      put(json, "{");
      break;
    case STOPBIT_REFERENCE_BEGIN: CHECK(!"a capture here has no dynamic references"); break;
    case STOPBIT_GROUP_END:
    case STOPBIT_ELEMENT_END: put(json, "}"); break;
    case STOPBIT_SEQUENCE_END: put(json, "]"); break;
    default: CHECK(!"a kind of the header");
  }
  return 0;
}

static int compare_record(void* user, stopbit_record* record) {
  static Json walked;
  static char printed[kMaxText];
  size_t length = 0;
  char head[256];
  size_t* records = user;
  const stopbit_header* header = stopbit_record_header(record);
  CHECK(header != NULL);
  CHECK_TEXT(stopbit_record_json(record, printed, sizeof(printed), &length) == STOPBIT_OK,
             stopbit_record_error(record));
  CHECK(length == strlen(printed));
  ++*records;
  if (stopbit_record_event(record) != NULL) return 0;
  walked.size = 0;
  walked.record = record;
  snprintf(head, sizeof(head), "{\"template\":\"%s\",\"id\":%" PRIu32 ",\"fields\":{", header->template_name,
           header->template_id);
  put(&walked, head);
  CHECK_TEXT(stopbit_record_walk(record, write_item, &walked) == STOPBIT_OK, stopbit_record_error(record));
  put(&walked, "}}");
  if (strcmp(walked.text, printed) != 0) fprintf(stderr, "walked  %s\nprinted %s\n", walked.text, printed);
  CHECK(strcmp(walked.text, printed) == 0);
  return 0;
}

static void compare_capture(const char* capture, const char* framing, const char* templates) {
  stopbit_program* program = stopbit_program_new();
  stopbit_replay* replay = stopbit_replay_new();
  stopbit_options options = STOPBIT_OPTIONS_INIT;
  size_t records = 0;
  const size_t length = strlen(templates);
  const int is_image = length > 4 && strcmp(templates + length - 4, ".sbf") == 0;
  const stopbit_status loaded =
      is_image ? stopbit_program_load(program, templates) : stopbit_program_compile(program, &templates, 1);
  CHECK_TEXT(loaded == STOPBIT_OK, stopbit_program_error(program));
  printf("%s: ", stopbit_program_is_projected(program) ? "some fields" : "all fields");
  options.framing = framing;
  CHECK_TEXT(stopbit_replay_open(replay, program, &capture, 1, &options) == STOPBIT_OK, stopbit_replay_error(replay));
  stopbit_program_free(program); /* the replay keeps what it needs */
  CHECK_TEXT(stopbit_replay_run(replay, compare_record, &records) == STOPBIT_OK, stopbit_replay_error(replay));
  CHECK(stopbit_replay_summary(replay)->messages == records);
  CHECK(stopbit_replay_summary(replay)->errors == 0);
  printf("%" PRIu64 " messages agree\n", stopbit_replay_summary(replay)->messages);
  stopbit_replay_free(replay);
}

/* -- Calls of every kind --------------------------------------------------------------------------------------------
 */

static const char kTemplates[] =
    "<templates xmlns='http://www.fixprotocol.org/ns/fast/td/1.1'>"
    "<template name='Quote' id='1'><uInt32 name='Px' id='270' presence='optional'><copy/></uInt32></template>"
    "<template name='Names' id='2'><string name='Symbol'/>"
    "<sequence name='Legs'><decimal name='Price'/></sequence></template>"
    "</templates>";

typedef struct Seen {
  int records;
  int events;
  int stop_after;
  int64_t last_value;
  char last_json[16384];
  stopbit_record* kept;
  stopbit_engine* engine;
} Seen;

static int see_item(void* user, const stopbit_item* item) {
  Seen* seen = user;
  if (item->kind == STOPBIT_FIELD) seen->last_value = item->value;
  return 0;
}

static int stop_at_once(void* user, const stopbit_item* item) {
  (void)item;
  ++*(int*)user;
  return 1;
}

static int see_record(void* user, stopbit_record* record) {
  Seen* seen = user;
  const stopbit_event* event = stopbit_record_event(record);
  ++seen->records;
  if (event != NULL) {
    ++seen->events;
    CHECK(stopbit_record_header(record)->template_index == UINT32_MAX);
    CHECK(stopbit_record_header(record)->template_name == NULL);
  } else {
    CHECK(stopbit_record_header(record)->template_name != NULL);
  }
  CHECK(stopbit_record_walk(record, see_item, seen) == STOPBIT_OK);
  CHECK(stopbit_record_json(record, seen->last_json, sizeof(seen->last_json), NULL) == STOPBIT_OK);
  seen->kept = record;
  if (seen->engine != NULL) { /* used by its own callback */
    CHECK(stopbit_engine_decode(seen->engine, "\xC0\x81", 2, NULL, see_record, seen) == STOPBIT_ERROR_ARGUMENT);
    CHECK(stopbit_engine_reset(seen->engine, 0) == STOPBIT_ERROR_ARGUMENT);
    CHECK(stopbit_engine_open(seen->engine, NULL, NULL) == STOPBIT_ERROR_ARGUMENT);
  }
  return seen->records == seen->stop_after;
}

static stopbit_program* quotes(void) {
  stopbit_program* program = stopbit_program_new();
  CHECK(program != NULL);
  CHECK_TEXT(stopbit_program_compile_text(program, "quotes.xml", kTemplates, strlen(kTemplates)) == STOPBIT_OK,
             stopbit_program_error(program));
  return program;
}

static void programs(void) {
  static const char kWrong[] =
      "<templates><template name='A' id='1'><uInt32 name='B'><tail/></uInt32></template></templates>";
  const char* missing[] = {"/nowhere/feed.xml"};
  const char* null_path[] = {NULL};
  stopbit_program* program = quotes();
  const uint64_t hash = stopbit_program_layout_hash(program);
  CHECK(stopbit_program_templates(program) == 3); /* FastReset is supplied */
  CHECK(strcmp(stopbit_program_template_name(program, 0), "Quote") == 0);
  CHECK(stopbit_program_template_id(program, 1) == 2);
  CHECK(stopbit_program_template_name(program, 3) == NULL);
  CHECK(stopbit_program_template_id(program, UINT32_MAX) == 0);

  /* What is refused leaves the program as it was. */
  CHECK(stopbit_program_compile_text(program, "wrong.xml", kWrong, strlen(kWrong)) == STOPBIT_ERROR_INPUT);
  CHECK_TEXT(strstr(stopbit_program_error(program), "wrong.xml:1:") != NULL, stopbit_program_error(program));
  CHECK(stopbit_program_compile(program, missing, 1) == STOPBIT_ERROR_SYSTEM);
  CHECK(strstr(stopbit_program_error(program), missing[0]) != NULL);
  CHECK(stopbit_program_load(program, missing[0]) == STOPBIT_ERROR_SYSTEM);
  CHECK(stopbit_program_load_image(program, kWrong, strlen(kWrong)) == STOPBIT_ERROR_INPUT);
  CHECK(stopbit_program_load_image(program, kWrong, 0) == STOPBIT_ERROR_INPUT);
  CHECK(stopbit_program_compile(program, missing, 0) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_compile(program, NULL, 1) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_compile(program, null_path, 1) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_compile_text(program, NULL, kWrong, 1) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_compile_text(program, "a", NULL, 1) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_load(program, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_load_image(program, NULL, 5) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_layout_hash(program) == hash);
  stopbit_program_free(program);

  program = stopbit_program_new();
  CHECK(stopbit_program_templates(program) == 0);
  CHECK(stopbit_program_layout_hash(program) == 0 && stopbit_program_is_projected(program) == 0);
  CHECK(strcmp(stopbit_program_error(program), "") == 0);
  CHECK(stopbit_program_read_slots(program, kWrong, 64, see_record, NULL) == STOPBIT_ERROR_ARGUMENT);
  stopbit_program_free(program);
}

static void engines(void) {
  static const unsigned char kTwoQuotes[] = {0xE0, 0x81, 0x39, 0x45, 0xA4, 0x80};
  static const unsigned char kUnknown[] = {0xC0, 0x85};
  static const unsigned char kCut[] = {0xE0, 0x81, 0x39};
  stopbit_program* program = quotes();
  stopbit_engine* engine = stopbit_engine_new();
  stopbit_options options = STOPBIT_OPTIONS_INIT;
  stopbit_packet packet = STOPBIT_PACKET_INIT;
  Seen seen = {0};

  CHECK(stopbit_engine_decode(engine, kTwoQuotes, sizeof(kTwoQuotes), NULL, see_record, &seen) ==
        STOPBIT_ERROR_ARGUMENT); /* not open */
  CHECK(stopbit_engine_kind(engine) == NULL);
  CHECK(stopbit_engine_open(engine, program, NULL) == STOPBIT_OK);
  stopbit_program_free(program); /* the engine keeps what it needs */
  CHECK(stopbit_engine_kind(engine) != NULL);

  seen.engine = engine;
  CHECK(stopbit_engine_decode(engine, kTwoQuotes, sizeof(kTwoQuotes), NULL, see_record, &seen) == STOPBIT_OK);
  CHECK(seen.records == 2 && seen.last_value == 942755);
  CHECK_TEXT(strcmp(seen.last_json, "{\"template\":\"Quote\",\"id\":1,\"fields\":{\"Px\":942755}}") == 0,
             seen.last_json);
  CHECK(stopbit_record_walk(seen.kept, see_item, &seen) == STOPBIT_ERROR_ARGUMENT); /* the record is over */
  CHECK(stopbit_record_header(seen.kept) == NULL);

  CHECK(stopbit_engine_decode(engine, kUnknown, sizeof(kUnknown), NULL, see_record, &seen) == STOPBIT_ERROR_INPUT);
  CHECK(seen.events == 1);
  CHECK_TEXT(strstr(stopbit_engine_error(engine), "[D9]") != NULL, stopbit_engine_error(engine));
  CHECK(strstr(seen.last_json, "\"error\":\"D9\"") != NULL);
  CHECK(stopbit_engine_reset(engine, 0) == STOPBIT_OK);
  CHECK(stopbit_engine_decode(engine, kCut, sizeof(kCut), NULL, see_record, &seen) == STOPBIT_ERROR_INPUT);
  CHECK(stopbit_engine_reset(engine, 0) == STOPBIT_OK);
  CHECK(strcmp(stopbit_engine_error(engine), "") == 0);
  CHECK(stopbit_engine_decode(engine, NULL, 0, NULL, see_record, &seen) == STOPBIT_OK); /* an empty datagram */

  {
    static const unsigned char kLong[70000] = {0xC0, 0x81, 0x80};
    CHECK(stopbit_engine_decode(engine, kLong, sizeof(kLong), NULL, see_record, &seen) == STOPBIT_ERROR_INPUT);
    CHECK_TEXT(strstr(stopbit_engine_error(engine), "[X1]") != NULL, stopbit_engine_error(engine));
    CHECK(stopbit_engine_reset(engine, 0) == STOPBIT_OK);
  }

  seen.engine = NULL;
  seen.records = 0;
  seen.stop_after = 1;
  CHECK(stopbit_engine_decode(engine, kTwoQuotes, sizeof(kTwoQuotes), NULL, see_record, &seen) == STOPBIT_STOPPED);
  CHECK(seen.records == 1);

  CHECK(stopbit_engine_decode(engine, NULL, 3, NULL, see_record, &seen) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_engine_decode(engine, kCut, 3, NULL, NULL, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_engine_reset(engine, 1) == STOPBIT_ERROR_ARGUMENT);
  packet.channel = 1;
  CHECK(stopbit_engine_decode(engine, kCut, 3, &packet, see_record, &seen) == STOPBIT_ERROR_ARGUMENT);
  packet.channel = 0;
  packet.size = 4;
  CHECK(stopbit_engine_decode(engine, kCut, 3, &packet, see_record, &seen) == STOPBIT_ERROR_ARGUMENT);

  /* Options. What is refused leaves the engine open as it was. */
  program = quotes();
  options.framing = "cmee";
  CHECK(stopbit_engine_open(engine, program, &options) == STOPBIT_ERROR_ARGUMENT);
  options.framing = "b3";
  CHECK(stopbit_engine_open(engine, program, &options) == STOPBIT_ERROR_ARGUMENT);
  options.framing = NULL;
  options.engine = "steam";
  CHECK(stopbit_engine_open(engine, program, &options) == STOPBIT_ERROR_ARGUMENT);
  options.engine = NULL;
  options.reset = "sometimes";
  CHECK(stopbit_engine_open(engine, program, &options) == STOPBIT_ERROR_ARGUMENT);
  options.reset = NULL;
  options.channels = 60000;
  CHECK(stopbit_engine_open(engine, program, &options) == STOPBIT_ERROR_ARGUMENT);
  options.channels = 0;
  options.size = 8;
  CHECK(stopbit_engine_open(engine, program, &options) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_engine_open(engine, NULL, NULL) == STOPBIT_ERROR_ARGUMENT);
  seen.stop_after = 0;
  CHECK(stopbit_engine_decode(engine, kTwoQuotes, sizeof(kTwoQuotes), NULL, see_record, &seen) == STOPBIT_OK);

  /* A framing: five bytes before the message, the first four of them the sequence number. */
  options.size = sizeof(options);
  options.framing = "cme";
  options.engine = "interp";
  options.channels = 2;
  CHECK_TEXT(stopbit_engine_open(engine, program, &options) == STOPBIT_OK, stopbit_engine_error(engine));
  CHECK(strcmp(stopbit_engine_kind(engine), "interp") == 0);
  packet.size = sizeof(packet);
  packet.channel = 1;
  CHECK(stopbit_engine_decode(engine, "\0\0\0\7\1\xE0\x81\x39\x45\xA4", 10, &packet, see_record, &seen) == STOPBIT_OK);
  CHECK(stopbit_engine_decode(engine, "\0\0", 2, &packet, see_record, &seen) == STOPBIT_ERROR_INPUT);
  CHECK_TEXT(strstr(stopbit_engine_error(engine), "[X9]") != NULL, stopbit_engine_error(engine));
  stopbit_program_free(program);
  stopbit_engine_free(engine);
}

typedef struct Slots {
  unsigned char bytes[4096];
  size_t size;
} Slots;

static int keep_slots(void* user, stopbit_record* record) {
  Slots* slots = user;
  size_t size = 0;
  const void* bytes = stopbit_record_slots(record, &size);
  CHECK(bytes != NULL && size % 64 == 0 && size <= sizeof(slots->bytes));
  memcpy(slots->bytes, bytes, size);
  slots->size = size;
  return 0;
}

static int expect_damage(void* user, stopbit_record* record) {
  Seen* seen = user;
  ++seen->records;
  CHECK(stopbit_record_walk(record, see_item, user) == STOPBIT_ERROR_INPUT);
  CHECK(strcmp(stopbit_record_error(record), "") != 0);
  CHECK(stopbit_record_json(record, seen->last_json, sizeof(seen->last_json), NULL) == STOPBIT_ERROR_INPUT);
  return 0;
}

static int check_record_arguments(void* user, stopbit_record* record) {
  char text[8];
  size_t length = 0;
  int items = 0;
  stopbit_item item = {0};
  (void)user;
  CHECK(stopbit_record_walk(record, NULL, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_record_walk(record, stop_at_once, &items) == STOPBIT_STOPPED && items == 1);
  CHECK(stopbit_record_json(record, NULL, 5, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_record_json(record, NULL, 0, &length) == STOPBIT_ERROR_ARGUMENT);
  CHECK(length > sizeof(text));
  CHECK(stopbit_record_json(record, text, sizeof(text), &length) == STOPBIT_ERROR_ARGUMENT && text[0] == '\0');
  CHECK(stopbit_record_element(record, NULL, 0) == NULL);
  CHECK(stopbit_record_element(record, &item, 0) == NULL); /* no enumeration */
  item.node = UINT32_MAX;
  CHECK(stopbit_record_element(record, &item, 0) == NULL);
  CHECK(stopbit_record_slots(record, NULL) != NULL);
  return 0;
}

static void slots(void) {
  /* Names { Symbol "CME", Legs [{1.50}, {2.5}] } */
  static const unsigned char kNames[] = {0xC0, 0x82, 0x43, 0x4D, 0xC5, 0x82, 0xFE, 0x01, 0x96, 0xFF, 0x99};
  stopbit_program* program = quotes();
  stopbit_engine* engine = stopbit_engine_new();
  Slots kept = {{0}, 0};
  Seen seen = {0};
  CHECK(stopbit_engine_open(engine, program, NULL) == STOPBIT_OK);
  CHECK_TEXT(stopbit_engine_decode(engine, kNames, sizeof(kNames), NULL, keep_slots, &kept) == STOPBIT_OK,
             stopbit_engine_error(engine));
  CHECK(stopbit_engine_decode(engine, kNames, sizeof(kNames), NULL, check_record_arguments, NULL) == STOPBIT_OK);
  CHECK(kept.size == 3 * 64);
  CHECK(stopbit_program_read_slots(program, kept.bytes, kept.size, see_record, &seen) == STOPBIT_OK);
  CHECK_TEXT(strcmp(seen.last_json,
                    "{\"template\":\"Names\",\"id\":2,\"fields\":{\"Symbol\":\"CME\",\"Legs\":[{\"Price\":1.50},{"
                    "\"Price\":2.5}]}}") == 0,
             seen.last_json);

  CHECK(stopbit_program_read_slots(program, kept.bytes, kept.size - 1, see_record, &seen) == STOPBIT_ERROR_INPUT);
  CHECK(strcmp(stopbit_program_error(program), "") != 0);
  CHECK(stopbit_program_read_slots(program, kept.bytes, 0, see_record, &seen) == STOPBIT_ERROR_INPUT);
  CHECK(stopbit_program_read_slots(program, NULL, 64, see_record, &seen) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_read_slots(program, kept.bytes, 64, NULL, NULL) == STOPBIT_ERROR_ARGUMENT);
  kept.bytes[64 + 56] ^= 1; /* the tag of an element's value */
  seen.records = 0;
  CHECK(stopbit_program_read_slots(program, kept.bytes, kept.size, expect_damage, &seen) == STOPBIT_OK);
  CHECK(seen.records == 1);
  stopbit_engine_free(engine);
  stopbit_program_free(program);
}

static int count_record(void* user, stopbit_record* record) {
  (void)record;
  ++*(uint64_t*)user;
  return 0;
}

static int stop_replay(void* user, stopbit_record* record) {
  (void)record;
  stopbit_replay_stop(user);
  return 0;
}

/* Lines A and B are one channel: half of the records that replays() gets. */
static void replays_of_a_feed(const char* sample) {
  char feed[1024];
  char capture[1024];
  const char* captures[1];
  const char* groups[] = {"239.20.1.1:20001"};
  stopbit_program* program = stopbit_program_new();
  stopbit_replay* replay = stopbit_replay_new();
  stopbit_options options = STOPBIT_OPTIONS_INIT;
  uint64_t records = 0;
  snprintf(feed, sizeof(feed), "%s/../../../host/appliance/example/feed.toml", sample);
  snprintf(capture, sizeof(capture), "%s/capture.pcap.gz", sample);
  captures[0] = capture;
  CHECK(stopbit_replay_open_feed(NULL, program, feed, NULL, captures, 1, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_replay_open_feed(replay, NULL, feed, NULL, captures, 1, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_replay_open_feed(replay, program, NULL, NULL, captures, 1, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_replay_open_feed(replay, program, "none.toml", NULL, captures, 1, NULL) == STOPBIT_ERROR_SYSTEM);
  CHECK(stopbit_replay_open_feed(replay, program, capture, NULL, captures, 1, NULL) == STOPBIT_ERROR_INPUT);
  CHECK(stopbit_replay_open_feed(replay, program, feed, "none", captures, 1, NULL) == STOPBIT_ERROR_ARGUMENT);
  options.framing = "cme";
  CHECK(stopbit_replay_open_feed(replay, program, feed, NULL, captures, 1, &options) == STOPBIT_ERROR_ARGUMENT);
  options.framing = NULL;
  options.groups = groups;
  options.group_count = 1;
  CHECK(stopbit_replay_open_feed(replay, program, feed, NULL, captures, 1, &options) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_templates(program) == 0);
  CHECK_TEXT(stopbit_replay_open_feed(replay, program, feed, "sample", captures, 1, NULL) == STOPBIT_OK,
             stopbit_replay_error(replay));
  CHECK(stopbit_program_templates(program) == 8);
  stopbit_program_free(program); /* the replay keeps what it needs */
  CHECK(stopbit_replay_run(replay, count_record, &records) == STOPBIT_OK);
  CHECK(stopbit_replay_summary(replay)->errors == 0);
  CHECK(stopbit_replay_summary(replay)->messages == 11974 && records >= 11974);
  stopbit_replay_free(replay);
}

static void replays(const char* sample) {
  char templates[1024];
  char capture[1024];
  const char* paths[1];
  const char* captures[1];
  const char* groups[] = {"239.20.1.1:20001"};
  stopbit_program* program = stopbit_program_new();
  stopbit_replay* replay = stopbit_replay_new();
  stopbit_options options = STOPBIT_OPTIONS_INIT;
  Seen seen = {0};
  uint64_t records = 0;
  snprintf(templates, sizeof(templates), "%s/templates.xml", sample);
  snprintf(capture, sizeof(capture), "%s/capture.pcap.gz", sample);
  paths[0] = templates;
  captures[0] = capture;
  CHECK_TEXT(stopbit_program_compile(program, paths, 1) == STOPBIT_OK, stopbit_program_error(program));

  CHECK(stopbit_replay_run(replay, count_record, &records) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_replay_summary(replay) == NULL);
  CHECK(stopbit_replay_problem(replay, 0) == NULL);
  options.framing = "cme";
  CHECK(stopbit_replay_open(replay, program, captures, 1, &options) == STOPBIT_OK);
  CHECK(stopbit_replay_run(replay, NULL, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_replay_run(replay, count_record, &records) == STOPBIT_OK);
  CHECK(records == 23921 && stopbit_replay_summary(replay)->messages == records);
  CHECK(stopbit_replay_summary(replay)->packets == 20932);
  CHECK(stopbit_replay_run(replay, count_record, &records) == STOPBIT_ERROR_ARGUMENT); /* once */

  options.groups = groups;
  options.group_count = 1;
  options.limit = 10;
  CHECK(stopbit_replay_open(replay, program, captures, 1, &options) == STOPBIT_OK);
  CHECK(stopbit_replay_run(replay, count_record, &records) == STOPBIT_OK);
  CHECK(stopbit_replay_summary(replay)->datagrams == 10);
  options.limit = 0;
  seen.stop_after = 3;
  CHECK(stopbit_replay_open(replay, program, captures, 1, &options) == STOPBIT_OK);
  CHECK(stopbit_replay_run(replay, see_record, &seen) == STOPBIT_STOPPED);
  CHECK(seen.records == 3);
  CHECK(stopbit_replay_open(replay, program, captures, 1, &options) == STOPBIT_OK);
  CHECK(stopbit_replay_run(replay, stop_replay, replay) == STOPBIT_STOPPED);

  /* Without its framing nothing in the capture makes sense: events, counts and words. */
  options.framing = NULL;
  options.group_count = 0;
  seen = (Seen){0};
  CHECK(stopbit_replay_open(replay, program, captures, 1, &options) == STOPBIT_OK);
  CHECK(stopbit_replay_run(replay, see_record, &seen) == STOPBIT_OK);
  CHECK(seen.events > 0 && stopbit_replay_summary(replay)->errors > 0);
  CHECK(stopbit_replay_summary(replay)->problems > 0);
  CHECK(strstr(stopbit_replay_problem(replay, 0), "packet ") != NULL);
  CHECK(stopbit_replay_problem(replay, stopbit_replay_summary(replay)->problems) == NULL);

  CHECK(stopbit_replay_open(replay, NULL, captures, 1, &options) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_replay_open(replay, program, captures, 0, &options) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_replay_open(replay, program, NULL, 1, &options) == STOPBIT_ERROR_ARGUMENT);
  options.group_count = 1;
  options.groups = NULL;
  CHECK(stopbit_replay_open(replay, program, captures, 1, &options) == STOPBIT_ERROR_ARGUMENT);
  options.group_count = 0;
  options.pace = "quick";
  CHECK(stopbit_replay_open(replay, program, captures, 1, &options) == STOPBIT_ERROR_ARGUMENT);
  options.pace = NULL;
  captures[0] = templates; /* no capture */
  CHECK(stopbit_replay_open(replay, program, captures, 1, &options) == STOPBIT_ERROR_INPUT);
  captures[0] = sample; /* a folder */
  CHECK(stopbit_replay_open(replay, program, captures, 1, &options) == STOPBIT_ERROR_SYSTEM);
  captures[0] = "/nowhere/day.pcap";
  CHECK(stopbit_replay_open(replay, program, captures, 1, &options) == STOPBIT_ERROR_SYSTEM);
  CHECK(strstr(stopbit_replay_error(replay), captures[0]) != NULL);
  stopbit_replay_free(replay);
  stopbit_program_free(program);
}

static void rings(const char* ring_path, const char* no_ring) {
  stopbit_ring* ring = stopbit_ring_new();
  stopbit_record* record = (stopbit_record*)&ring;
  size_t taken = 1;
  uint64_t polled = 0;
  uint64_t batched = 0;
  size_t compared = 0;
  Seen seen = {0};
  int found;

  CHECK(stopbit_ring_poll(ring, &record) == STOPBIT_ERROR_ARGUMENT && record == NULL); /* not open */
  CHECK(stopbit_ring_batch(ring, 5, count_record, &polled, &taken) == STOPBIT_ERROR_ARGUMENT && taken == 0);
  CHECK(stopbit_ring_writer(ring) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_ring_open(ring, "/nowhere/ring", STOPBIT_START_OLDEST) == STOPBIT_ERROR_SYSTEM);
  CHECK(stopbit_ring_open(ring, no_ring, STOPBIT_START_OLDEST) == STOPBIT_ERROR_SYSTEM);
  CHECK(stopbit_ring_open(ring, "-bad name-", STOPBIT_START_OLDEST) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_ring_open(ring, NULL, STOPBIT_START_OLDEST) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_ring_open(ring, ring_path, 7) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_ring_accept(NULL, "root") == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_ring_accept(ring, "no such user") == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_ring_accept(ring, "12345") == STOPBIT_OK);
  CHECK(stopbit_ring_accept(ring, NULL) == STOPBIT_OK);

  CHECK(stopbit_ring_attach(ring, "/nowhere/ring", 0) == STOPBIT_ERROR_SYSTEM);
  CHECK(stopbit_ring_attach(ring, NULL, 0) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_ring_is_detached(ring) == 0);
  CHECK_TEXT(stopbit_ring_open(ring, ring_path, STOPBIT_START_OLDEST) == STOPBIT_OK, stopbit_ring_error(ring));
  CHECK(stopbit_ring_layout_hash(ring) != 0);
  printf("%s: ", stopbit_ring_is_projected(ring) ? "some fields" : "all fields");
  CHECK(stopbit_ring_poll(ring, NULL) == STOPBIT_ERROR_ARGUMENT);
  while ((found = stopbit_ring_poll(ring, &record)) == STOPBIT_POLL_RECORD) {
    CHECK(see_record(&seen, record) == 0);
    CHECK(compare_record(&compared, record) == 0);
    ++polled;
  }
  CHECK(found == STOPBIT_POLL_NOTHING && record == NULL);
  CHECK(stopbit_ring_writer(ring) == STOPBIT_WRITER_FINISHED);
  CHECK(stopbit_ring_replaced(ring) == 0);
  CHECK(stopbit_ring_total_lost(ring) == 0 && stopbit_ring_lost(ring) == 0);
  CHECK(stopbit_record_header(seen.kept) == NULL); /* the record is over */
  stopbit_ring_close(ring);
  stopbit_ring_close(ring);
  CHECK(stopbit_ring_poll(ring, &record) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_ring_layout_hash(ring) == 0 && stopbit_ring_is_projected(ring) == 0);

  CHECK(stopbit_ring_open(ring, ring_path, STOPBIT_START_OLDEST) == STOPBIT_OK);
  CHECK(stopbit_ring_batch(ring, 7, NULL, NULL, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_ring_batch(ring, 7, count_record, &batched, &taken) == STOPBIT_POLL_RECORD && taken == 7);
  CHECK(stopbit_ring_batch(ring, 0, count_record, &batched, &taken) == STOPBIT_POLL_RECORD && taken == 0);
  CHECK(stopbit_ring_batch(ring, SIZE_MAX, count_record, &batched, &taken) == STOPBIT_POLL_NOTHING);
  CHECK(taken == polled - 7 && batched == polled);

  CHECK(stopbit_ring_open(ring, ring_path, STOPBIT_START_NEWEST) == STOPBIT_OK);
  CHECK(stopbit_ring_poll(ring, &record) == STOPBIT_POLL_NOTHING);
  stopbit_ring_free(ring);
  printf("%" PRIu64 " records out of the ring\n", polled);
}

/* -- Callbacks that close or free what calls them -------------------------------------------------------------------
 */

typedef struct Ender {
  stopbit_engine* engine;
  stopbit_replay* replay;
  stopbit_ring* ring;
  int only_closes;
  int items;
  int records;
} Ender;

static void end_all(Ender* ender) {
  stopbit_record* record = NULL;
  if (ender->ring != NULL) {
    stopbit_ring_close(ender->ring);
    CHECK(stopbit_ring_poll(ender->ring, &record) == STOPBIT_ERROR_ARGUMENT && record == NULL);
    CHECK(stopbit_ring_layout_hash(ender->ring) == 0 && stopbit_ring_writer(ender->ring) == STOPBIT_ERROR_ARGUMENT);
    CHECK(stopbit_ring_open(ender->ring, "nowhere", STOPBIT_START_OLDEST) == STOPBIT_ERROR_ARGUMENT);
    if (!ender->only_closes) stopbit_ring_free(ender->ring);
  }
  stopbit_replay_free(ender->replay);
  stopbit_engine_free(ender->engine);
}

static int end_at_item(void* user, const stopbit_item* item) {
  Ender* ender = user;
  if (ender->items++ == 0) end_all(ender);
  return item->name[0] == 'x'; /* reads what the record holds, to its end */
}

static int end_at_record(void* user, stopbit_record* record) {
  Ender* ender = user;
  Json* json = malloc(sizeof(Json));
  ++ender->records;
  end_all(ender);
  json->size = 0;
  CHECK(stopbit_record_json(record, json->text, sizeof(json->text), NULL) == STOPBIT_OK); /* still there */
  free(json);
  return 0;
}

static int end_in_walk(void* user, stopbit_record* record) {
  Ender* ender = user;
  CHECK(ender->items == 0); /* else the call goes on after its end */
  CHECK(stopbit_record_walk(record, end_at_item, ender) == STOPBIT_OK);
  if (ender->items != 0) ++ender->records; /* a message may be without fields */
  return 0;
}

static void ends_in_callbacks(const char* sample) {
  const stopbit_record_callback callbacks[] = {end_at_record, end_in_walk};
  char templates[1024];
  char capture[1024];
  const char* captures[1];
  stopbit_options options = STOPBIT_OPTIONS_INIT;
  stopbit_program* program = stopbit_program_new();
  const char* paths[1];
  size_t i;
  snprintf(templates, sizeof(templates), "%s/templates.xml", sample);
  snprintf(capture, sizeof(capture), "%s/capture.pcap.gz", sample);
  paths[0] = templates;
  captures[0] = capture;
  options.framing = "cme";
  CHECK(stopbit_program_compile(program, paths, 1) == STOPBIT_OK);
  for (i = 0; i < 2; ++i) {
    Ender ender = {0};
    ender.replay = stopbit_replay_new();
    CHECK(stopbit_replay_open(ender.replay, program, captures, 1, &options) == STOPBIT_OK);
    CHECK(stopbit_replay_run(ender.replay, callbacks[i], &ender) == STOPBIT_STOPPED);
    CHECK(ender.records == 1);
  }
  { /* a stop before the run holds for it */
    uint64_t records = 0;
    stopbit_replay* replay = stopbit_replay_new();
    stopbit_replay_stop(replay);
    CHECK(stopbit_replay_open(replay, program, captures, 1, &options) == STOPBIT_OK);
    stopbit_replay_stop(replay);
    CHECK(stopbit_replay_run(replay, count_record, &records) == STOPBIT_STOPPED && records == 0);
    stopbit_replay_free(replay);
  }
  stopbit_program_free(program);
  program = quotes();
  for (i = 0; i < 2; ++i) {
    static const unsigned char two[] = {0xE0, 0x81, 0x81, 0xE0, 0x81, 0x82};
    Ender ender = {0};
    ender.engine = stopbit_engine_new();
    CHECK(stopbit_engine_open(ender.engine, program, NULL) == STOPBIT_OK);
    CHECK(stopbit_engine_decode(ender.engine, two, sizeof(two), NULL, callbacks[i], &ender) == STOPBIT_STOPPED);
    CHECK(ender.records == 1);
  }
  stopbit_program_free(program);
}

static stopbit_replay* replay_to_stop;
static volatile sig_atomic_t stops;

static void stop_at_signal(int signal) {
  (void)signal;
  if (++stops > 1000) _exit(7); /* it does not hear */
  stopbit_replay_stop(replay_to_stop);
}

/* A stop while the replay waits for a pipe through which the beginning of a capture has come. */
static void a_stop_while_a_pipe_is_silent(const char* sample) {
  const struct itimerval often = {{0, 20000}, {0, 20000}};
  const struct itimerval never = {{0, 0}, {0, 0}};
  static char begin[20000];
  char path[1024];
  char pipe_path[64];
  const char* paths[1] = {path};
  const char* captures[1] = {pipe_path};
  struct sigaction action;
  stopbit_options options = STOPBIT_OPTIONS_INIT;
  stopbit_program* program = stopbit_program_new();
  uint64_t records = 0;
  int ends[2];
  int file;
  snprintf(path, sizeof(path), "%s/capture.pcap.gz", sample);
  file = open(path, O_RDONLY);
  CHECK(file >= 0 && read(file, begin, sizeof(begin)) == (ssize_t)sizeof(begin) && close(file) == 0);
  CHECK(pipe(ends) == 0 && write(ends[1], begin, sizeof(begin)) == (ssize_t)sizeof(begin));
  snprintf(path, sizeof(path), "%s/templates.xml", sample);
  snprintf(pipe_path, sizeof(pipe_path), "/dev/fd/%d", ends[0]);
  options.framing = "cme";
  CHECK(stopbit_program_compile(program, paths, 1) == STOPBIT_OK);
  replay_to_stop = stopbit_replay_new();
  CHECK(stopbit_replay_open(replay_to_stop, program, captures, 1, &options) == STOPBIT_OK);
  memset(&action, 0, sizeof(action));
  action.sa_handler = stop_at_signal;
  CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
  CHECK(stopbit_replay_run(replay_to_stop, count_record, &records) == STOPBIT_STOPPED);
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0 && stops > 0);
  CHECK(stopbit_replay_summary(replay_to_stop)->problems == 0); /* that the pipe ends in a record is no damage */
  stopbit_replay_free(replay_to_stop);
  stopbit_program_free(program);
  close(ends[0]);
  close(ends[1]);
}

static void ends_of_rings(const char* ring_path) {
  const stopbit_record_callback callbacks[] = {end_at_record, end_in_walk};
  size_t i;
  stopbit_record* record = NULL;
  for (i = 0; i < 4; ++i) {
    Ender ender = {0};
    size_t taken = 0;
    ender.ring = stopbit_ring_new();
    ender.only_closes = i % 2 == 0;
    CHECK(stopbit_ring_open(ender.ring, ring_path, STOPBIT_START_OLDEST) == STOPBIT_OK);
    CHECK(stopbit_ring_batch(ender.ring, 100, callbacks[i / 2], &ender, &taken) == STOPBIT_POLL_RECORD);
    CHECK(taken != 0 && taken < 100 && ender.records == 1);
    if (!ender.only_closes) continue;
    CHECK(stopbit_ring_batch(ender.ring, 5, callbacks[0], &ender, &taken) == STOPBIT_ERROR_ARGUMENT);
    CHECK(stopbit_ring_open(ender.ring, ring_path, STOPBIT_START_OLDEST) == STOPBIT_OK);
    stopbit_ring_free(ender.ring);
  }
  for (i = 0; i < 2; ++i) { /* a walk through the record of a poll, which is the ring's */
    Ender ender = {0};
    ender.ring = stopbit_ring_new();
    ender.only_closes = i == 0;
    CHECK(stopbit_ring_open(ender.ring, ring_path, STOPBIT_START_OLDEST) == STOPBIT_OK);
    do {
      CHECK(stopbit_ring_poll(ender.ring, &record) == STOPBIT_POLL_RECORD);
      CHECK(stopbit_record_walk(record, end_at_item, &ender) == STOPBIT_OK);
    } while (ender.items == 0);
    if (i != 0) continue;
    CHECK(stopbit_record_header(record) == NULL);
    CHECK(stopbit_ring_poll(ender.ring, &record) == STOPBIT_ERROR_ARGUMENT);
    stopbit_ring_free(ender.ring);
  }
}

/* -- Market events, instruments, states -----------------------------------------------------------------------------
 */

static void print_number(const char* name, int64_t value, int64_t none) {
  if (value != none) printf(",\"%s\":%" PRId64, name, value);
}

static void print_events(stopbit_ring* ring, const stopbit_market* market) {
  static char json[kMaxText];
  stopbit_record* record = NULL;
  int found;
  while ((found = stopbit_ring_poll(ring, &record)) == STOPBIT_POLL_RECORD) {
    const stopbit_market_event* event = stopbit_record_market_event(record);
    const stopbit_header* header = stopbit_record_header(record);
    size_t seen = 0;
    CHECK(event != NULL && event->kind_name[0] != '\0' && event->price_exponent == -9);
    CHECK(stopbit_record_event(record) == NULL && header->template_name == NULL &&
          header->template_index == UINT32_MAX);
    CHECK(header->sequence == event->sequence && header->arrival_ns == event->arrival_ns);
    CHECK(header->channel == event->channel && header->flags == event->flags);
    CHECK(header->message_index == 0 && header->source == 0);
    CHECK(stopbit_record_walk(record, see_item, &seen) == STOPBIT_OK && seen == 0);
    CHECK(event->instrument <= stopbit_market_rows(market));
    CHECK(stopbit_record_json(record, json, sizeof(json), NULL) == STOPBIT_OK);
    printf("{\"line\":%s,\"kind\":\"%s\",\"instrument\":%" PRIu32 ",\"sequence\":%" PRIu32 ",\"time\":%" PRIu64
           ",\"side\":%d,\"level\":%d,\"flags\":%d,\"id\":%" PRIu64,
           json, event->kind_name, event->instrument, event->sequence, event->arrival_ns, event->side, event->level,
           event->flags, event->id);
    print_number("price", event->price, STOPBIT_NO_PRICE);
    print_number("quantity", event->quantity, STOPBIT_NO_QUANTITY);
    print_number("delay", event->delay_ns, STOPBIT_NO_DELAY);
    printf("}\n");
  }
  CHECK(found == STOPBIT_POLL_NOTHING && record == NULL);
  CHECK(stopbit_ring_total_lost(ring) == 0 && stopbit_record_market_event(record) == NULL);
}

static void print_rows(stopbit_market* market) {
  const stopbit_instrument* instrument = NULL;
  const stopbit_state* state = NULL;
  const stopbit_levels* levels = NULL;
  uint32_t row;
  for (row = 1; row <= stopbit_market_rows(market); ++row) {
    CHECK_TEXT(stopbit_market_instrument(market, row, &instrument) == STOPBIT_OK, stopbit_market_error(market));
    CHECK(instrument->row == row && strlen(instrument->key) == instrument->key_size);
    CHECK(strlen(instrument->name) == instrument->name_size);
    CHECK(stopbit_market_find(market, instrument->key) == row);
    CHECK_TEXT(stopbit_market_state(market, row, &state) == STOPBIT_OK, stopbit_market_error(market));
    printf("{\"row\":%" PRIu32 ",\"instrument\":\"%s\",\"name\":\"%s\",\"trading\":\"%s\",\"book\":\"%s\"", row,
           instrument->key, instrument->name, stopbit_trading_state_name(state->trading_state),
           stopbit_standing_name(state->standing));
    printf(",\"sequence\":%" PRIu32 ",\"bids_known\":%d", state->sequence, state->bid_known);
    print_number("bid", state->bid, STOPBIT_NO_PRICE);
    print_number("ask_quantity", state->ask_quantity, STOPBIT_NO_QUANTITY);
    print_number("last", state->last, STOPBIT_NO_PRICE);
    print_number("volume", state->volume, STOPBIT_NO_QUANTITY);
    printf("}\n");
    /* A replay publishes the best only. */
    CHECK(stopbit_market_levels(market, row, &levels) == STOPBIT_ERROR_ARGUMENT && levels == NULL);
  }
  CHECK(stopbit_market_instrument(market, 0, &instrument) == STOPBIT_ERROR_ARGUMENT && instrument == NULL);
  CHECK(stopbit_market_state(market, row, &state) == STOPBIT_ERROR_ARGUMENT && state == NULL);
  CHECK(strcmp(stopbit_market_error(market), "") != 0);
  CHECK(stopbit_market_state(market, 1, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_market_find(market, "no such key") == 0 && stopbit_market_find(market, NULL) == 0);
}

static void cut(const char* name, const char* table) {
  char path[1024];
  snprintf(path, sizeof(path), "%s.%s", name, table);
  CHECK(truncate(path, 0) == 0);
}

static void markets(const char* name, const char* other, const char* mixed) {
  stopbit_ring* ring = stopbit_ring_new();
  stopbit_market* market = stopbit_market_new();
  stopbit_market* states = stopbit_market_new();
  const stopbit_state* state = NULL;
  const stopbit_instrument* instrument = NULL;
  CHECK(stopbit_market_rows(market) == 0 && stopbit_market_writer(market) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_market_heartbeat_ns(market) == 0 && stopbit_market_heartbeat_ns(NULL) == 0);
  CHECK(stopbit_ring_heartbeat_ns(ring) == 0 && stopbit_ring_heartbeat_ns(NULL) == 0);
  CHECK(stopbit_market_find(market, "a") == 0 && stopbit_market_replaced(market) == 0);
  CHECK(stopbit_market_state(market, 1, &state) == STOPBIT_ERROR_ARGUMENT && state == NULL);
  CHECK(stopbit_market_open(market, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_market_open(market, "-bad name-") == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_market_open(market, "/nowhere/ring") == STOPBIT_ERROR_SYSTEM);
  CHECK(stopbit_market_accept(market, "no such user") == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_market_accept(market, NULL) == STOPBIT_OK);
  CHECK_TEXT(stopbit_ring_open(ring, name, STOPBIT_START_OLDEST) == STOPBIT_OK, stopbit_ring_error(ring));
  CHECK_TEXT(stopbit_market_open(market, name) == STOPBIT_OK, stopbit_market_error(market));
  CHECK(stopbit_market_open(market, "/nowhere/ring") == STOPBIT_ERROR_SYSTEM); /* and the handle is as before */
  CHECK(stopbit_market_belongs(market, ring) == 1 && stopbit_market_belongs(market, NULL) == 0);
  CHECK(stopbit_market_writer(market) == STOPBIT_WRITER_FINISHED && stopbit_market_replaced(market) == 0);
  CHECK(stopbit_market_heartbeat_ns(market) != 0 && stopbit_ring_heartbeat_ns(ring) != 0);
  CHECK(stopbit_market_quantity_exponent(market) == 0 && stopbit_market_level_rows(market) == 0);
  print_events(ring, market);
  print_rows(market);

  CHECK(stopbit_market_open(market, other) == STOPBIT_OK && stopbit_market_open(states, other) == STOPBIT_OK);
  CHECK(stopbit_market_belongs(market, ring) == 0);
  CHECK(stopbit_market_open(states, mixed) == STOPBIT_ERROR_SYSTEM);
  CHECK(strstr(stopbit_market_error(states), "belong to another ring") != NULL);
  cut(other, "state");
  CHECK(stopbit_market_state(states, 1, &state) == STOPBIT_ERROR_INPUT && state == NULL);
  CHECK(stopbit_market_state(states, 1, &state) == STOPBIT_ERROR_INPUT); /* for ever */
  CHECK(stopbit_market_instrument(market, 1, &instrument) == STOPBIT_OK);
  cut(other, "instruments");
  CHECK(stopbit_market_instrument(market, 1, &instrument) == STOPBIT_ERROR_INPUT && instrument == NULL);
  CHECK(strstr(stopbit_market_error(market), "truncated") != NULL);
  CHECK(stopbit_market_find(market, "1") == 0);
  CHECK(stopbit_market_open(market, other) == STOPBIT_ERROR_SYSTEM);
  stopbit_market_free(market);
  stopbit_market_free(states);
  stopbit_ring_free(ring);
}

static void null_handles(void) {
  stopbit_record* record = NULL;
  const stopbit_state* state = NULL;
  const stopbit_instrument* instrument = NULL;
  const stopbit_levels* levels = NULL;
  stopbit_market_free(NULL);
  CHECK(stopbit_market_error(NULL) != NULL && stopbit_market_rows(NULL) == 0 && stopbit_market_find(NULL, "a") == 0);
  CHECK(stopbit_market_open(NULL, "a") == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_market_accept(NULL, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_market_belongs(NULL, NULL) == 0 && stopbit_market_replaced(NULL) == 0);
  CHECK(stopbit_market_writer(NULL) == STOPBIT_ERROR_ARGUMENT && stopbit_market_quantity_exponent(NULL) == 0);
  CHECK(stopbit_market_level_rows(NULL) == 0 && stopbit_record_market_event(NULL) == NULL);
  CHECK(stopbit_market_state(NULL, 1, &state) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_market_instrument(NULL, 1, &instrument) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_market_levels(NULL, 1, &levels) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_cause_name(-1) == NULL && stopbit_cause_name(1 << 20) == NULL && stopbit_statistic_name(99) == NULL);
  CHECK(strcmp(stopbit_version(), "") != 0);
  CHECK(strcmp(stopbit_status_text(-99), "") != 0);
  stopbit_program_free(NULL);
  stopbit_engine_free(NULL);
  stopbit_replay_free(NULL);
  stopbit_ring_free(NULL);
  stopbit_ring_close(NULL);
  stopbit_replay_stop(NULL);
  CHECK(stopbit_program_compile(NULL, NULL, 0) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_compile_text(NULL, "", "", 0) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_load(NULL, "") == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_load_image(NULL, "", 0) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_read_slots(NULL, "", 0, count_record, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_program_templates(NULL) == 0 && stopbit_program_template_name(NULL, 0) == NULL);
  CHECK(stopbit_program_template_id(NULL, 0) == 0 && stopbit_program_layout_hash(NULL) == 0);
  CHECK(stopbit_program_is_projected(NULL) == 0 && stopbit_ring_is_projected(NULL) == 0);
  CHECK(stopbit_engine_open(NULL, NULL, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_engine_decode(NULL, NULL, 0, NULL, NULL, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_engine_reset(NULL, 0) == STOPBIT_ERROR_ARGUMENT && stopbit_engine_kind(NULL) == NULL);
  CHECK(stopbit_replay_open(NULL, NULL, NULL, 0, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_replay_run(NULL, NULL, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_replay_summary(NULL) == NULL && stopbit_replay_problem(NULL, 0) == NULL);
  CHECK(stopbit_ring_open(NULL, "a", STOPBIT_START_OLDEST) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_ring_poll(NULL, &record) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_ring_batch(NULL, 1, NULL, NULL, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_ring_writer(NULL) == STOPBIT_ERROR_ARGUMENT && stopbit_ring_replaced(NULL) == 0);
  CHECK(stopbit_ring_attach(NULL, "a", 0) == STOPBIT_ERROR_ARGUMENT && stopbit_ring_is_detached(NULL) == 0);
  CHECK(stopbit_ring_lost(NULL) == 0 && stopbit_ring_total_lost(NULL) == 0 && stopbit_ring_layout_hash(NULL) == 0);
  CHECK(stopbit_record_walk(NULL, NULL, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_record_json(NULL, NULL, 0, NULL) == STOPBIT_ERROR_ARGUMENT);
  CHECK(stopbit_record_header(NULL) == NULL && stopbit_record_event(NULL) == NULL);
  CHECK(stopbit_record_slots(NULL, NULL) == NULL && stopbit_record_element(NULL, NULL, 0) == NULL);
  CHECK(stopbit_program_error(NULL) != NULL && stopbit_engine_error(NULL) != NULL);
  CHECK(stopbit_replay_error(NULL) != NULL && stopbit_ring_error(NULL) != NULL && stopbit_record_error(NULL) != NULL);
}

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "ring") == 0) {
    rings(argv[2], argv[3]);
    ends_of_rings(argv[2]);
  } else if (argc == 5 && strcmp(argv[1], "market") == 0) {
    markets(argv[2], argv[3], argv[4]);
  } else if (argc == 4) {
    compare_capture(argv[1], argv[2], argv[3]);
  } else if (argc == 2) {
    null_handles();
    programs();
    engines();
    slots();
    replays(argv[1]);
    replays_of_a_feed(argv[1]);
    ends_in_callbacks(argv[1]);
    a_stop_while_a_pipe_is_silent(argv[1]);
  } else {
    fprintf(
        stderr,
        "usage: capi_test SAMPLE_FOLDER | CAPTURE FRAMING TEMPLATES | ring RING NO_RING | market EVENTS OTHER MIXED\n");
    return 2;
  }
  return 0;
}
