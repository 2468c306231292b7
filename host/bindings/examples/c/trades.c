/* Trades of each symbol, with the C library: from a ring, or from a capture.
 *
 *   trades RING                            as given to `stopbit replay ... --ring RING`
 *   trades CAPTURE TEMPLATES FRAMING       day.pcap templates.xml cme
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <stopbit.h>

enum { kMaxSymbols = 1000, kMaxName = 32 };

typedef struct Sum {
  char symbol[kMaxName];
  uint64_t trades;
  uint64_t quantity;
  double value;
} Sum;

typedef struct Book {
  Sum sums[kMaxSymbols];
  size_t count;
} Book;

/* Fields of one trade. */
typedef struct Trade {
  char symbol[kMaxName];
  double price;
  int64_t quantity;
} Trade;

static double power_of_ten(int exponent) {
  double power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

/* Called for each field of a message. Not 0 would end the walk. */
static int take_field(void* user, const stopbit_item* item) {
  Trade* trade = user;
  if (item->kind != STOPBIT_FIELD) return 0;
  if (strcmp(item->name, "Symbol") == 0) {
    snprintf(trade->symbol, sizeof(trade->symbol), "%.*s", (int)item->text_size, item->text);
  } else if (strcmp(item->name, "LastPrice") == 0) {
    const double mantissa = (double)item->value;
    trade->price =
        item->exponent < 0 ? mantissa / power_of_ten(-item->exponent) : mantissa * power_of_ten(item->exponent);
  } else if (strcmp(item->name, "LastSize") == 0) {
    trade->quantity = item->value;
  }
  return 0;
}

static Sum* sum_of(Book* book, const char* symbol) {
  size_t i;
  for (i = 0; i < book->count; ++i) {
    if (strcmp(book->sums[i].symbol, symbol) == 0) return &book->sums[i];
  }
  if (book->count == kMaxSymbols) return NULL;
  strcpy(book->sums[i].symbol, symbol);
  return &book->sums[book->count++];
}

/* Called for each record: a message or an event. Not 0 ends the replay, or the batch. */
static int take_record(void* user, stopbit_record* record) {
  Trade trade = {"", 0, 0};
  Sum* sum;
  const stopbit_event* event = stopbit_record_event(record);
  if (event != NULL) {
    fprintf(stderr, "packet %" PRIu64 ": %s\n", event->packet, event->detail);
    return 0;
  }
  if (strcmp(stopbit_record_header(record)->template_name, "Trade") != 0) return 0;
  if (stopbit_record_walk(record, take_field, &trade) != STOPBIT_OK) {
    fprintf(stderr, "a record cannot be read: %s\n", stopbit_record_error(record));
    return 1;
  }
  sum = sum_of(user, trade.symbol);
  if (sum == NULL) return 1;
  ++sum->trades;
  sum->quantity += (uint64_t)trade.quantity;
  sum->value += trade.price * (double)trade.quantity;
  return 0;
}

static int read_capture(Book* book, char** arguments) {
  const char* capture = arguments[0];
  const char* templates = arguments[1];
  stopbit_options options = STOPBIT_OPTIONS_INIT;
  stopbit_program* program = stopbit_program_new();
  stopbit_replay* replay = stopbit_replay_new();
  stopbit_status status = STOPBIT_ERROR_MEMORY;
  options.framing = arguments[2];
  if (program != NULL && replay != NULL) status = stopbit_program_compile(program, &templates, 1);
  if (status != STOPBIT_OK) {
    fprintf(stderr, "%s\n", stopbit_program_error(program));
  } else if ((status = stopbit_replay_open(replay, program, &capture, 1, &options)) != STOPBIT_OK ||
             (status = stopbit_replay_run(replay, take_record, book)) < STOPBIT_OK) {
    fprintf(stderr, "%s\n", stopbit_replay_error(replay));
  }
  stopbit_replay_free(replay);
  stopbit_program_free(program);
  return status == STOPBIT_OK;
}

static int read_ring(Book* book, const char* name) {
  const struct timespec pause = {0, 100000};
  int has_ended = 0;
  int found = STOPBIT_POLL_NOTHING;
  stopbit_ring* ring = stopbit_ring_new();
  if (ring == NULL || stopbit_ring_open(ring, name, STOPBIT_START_OLDEST) != STOPBIT_OK) {
    fprintf(stderr, "%s\n", stopbit_ring_error(ring));
    stopbit_ring_free(ring);
    return 0;
  }
  for (;;) {
    found = stopbit_ring_batch(ring, 1000, take_record, book, NULL);
    if (found < 0) break;
    if (found == STOPBIT_POLL_RECORD) continue;
    if (found == STOPBIT_POLL_LOST) {
      fprintf(stderr, "%" PRIu64 " records lost: this program is too slow for the ring\n", stopbit_ring_lost(ring));
      continue;
    }
    /* The last records may have come between this batch and the writer's end: once more after it. */
    if (has_ended) break;
    has_ended = stopbit_ring_writer(ring) != STOPBIT_WRITER_RUNNING;
    if (!has_ended) nanosleep(&pause, NULL);
  }
  if (found < 0) fprintf(stderr, "%s\n", stopbit_ring_error(ring));
  stopbit_ring_free(ring);
  return found >= 0;
}

static int by_symbol(const void* a, const void* b) {
  return strcmp(((const Sum*)a)->symbol, ((const Sum*)b)->symbol);
}

int main(int argc, char** argv) {
  static Book book;
  size_t i;
  if (argc != 2 && argc != 4) {
    fprintf(stderr, "usage: trades RING | CAPTURE TEMPLATES FRAMING\n");
    return 2;
  }
  if (!(argc == 2 ? read_ring(&book, argv[1]) : read_capture(&book, argv + 1))) return 1;
  qsort(book.sums, book.count, sizeof(book.sums[0]), by_symbol);
  for (i = 0; i < book.count; ++i) {
    const Sum* sum = &book.sums[i];
    printf("%-12s %6" PRIu64 " trades %10" PRIu64 " at %.4f\n", sum->symbol, sum->trades, sum->quantity,
           sum->value / (double)sum->quantity);
  }
  return 0;
}
