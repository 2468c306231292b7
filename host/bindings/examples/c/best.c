/* The best prices of an instrument, whenever they change: best EVENTS INSTRUMENT
 *
 * EVENTS is a ring of market events, as `stopbit run` writes for a feed with a map: its ring's name and "-events".
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <stopbit.h>

static void print_side(int64_t price, int64_t quantity, const char* end) {
  if (price == STOPBIT_NO_PRICE) printf("none%s", end);
  if (price != STOPBIT_NO_PRICE) printf("%" PRId64 " at %.4f%s", quantity, (double)price / 1e9, end);
}

static int print_best(stopbit_market* market, uint32_t row) {
  static stopbit_state shown;
  const stopbit_state* now = NULL;
  if (stopbit_market_state(market, row, &now) != STOPBIT_OK) return 0;
  if (now->bid == shown.bid && now->bid_quantity == shown.bid_quantity && now->ask == shown.ask &&
      now->ask_quantity == shown.ask_quantity && now->standing == shown.standing) {
    return 1;
  }
  shown = *now;
  print_side(now->bid, now->bid_quantity, " | ");
  print_side(now->ask, now->ask_quantity, " ");
  printf("(%s)\n", stopbit_standing_name(now->standing));
  return 1;
}

int main(int argc, char** argv) {
  const struct timespec pause = {0, 100000};
  stopbit_ring* ring = stopbit_ring_new();
  stopbit_market* market = stopbit_market_new();
  stopbit_record* record = NULL;
  uint32_t row = 0;
  int found = STOPBIT_POLL_NOTHING;
  if (argc != 3) return fprintf(stderr, "usage: best EVENTS INSTRUMENT\n"), 2;
  if (stopbit_ring_open(ring, argv[1], STOPBIT_START_NEWEST) != STOPBIT_OK) {
    return fprintf(stderr, "%s\n", stopbit_ring_error(ring)), 1;
  }
  if (stopbit_market_open(market, argv[1]) != STOPBIT_OK) {
    return fprintf(stderr, "%s\n", stopbit_market_error(market)), 1;
  }
  if (!stopbit_market_belongs(market, ring)) return fprintf(stderr, "a new image is being loaded\n"), 1;
  row = stopbit_market_find(market, argv[2]);
  if (row == 0 || !print_best(market, row)) return fprintf(stderr, "no state of %s\n", argv[2]), 1;
  for (int has_ended = 0; found >= 0;) {
    found = stopbit_ring_poll(ring, &record);
    if (found == STOPBIT_POLL_RECORD) {
      const stopbit_market_event* event = stopbit_record_market_event(record);
      if (event == NULL || event->instrument != row || !(event->flags & STOPBIT_FLAG_BEST_CHANGED)) continue;
    }
    /* Also after a loss, in which the best may have changed: the table has the newest state. */
    if (found != STOPBIT_POLL_NOTHING && !print_best(market, row)) break;
    if (found != STOPBIT_POLL_NOTHING) continue;
    if (has_ended) break;
    has_ended = stopbit_ring_writer(ring) != STOPBIT_WRITER_RUNNING;
    if (!has_ended) nanosleep(&pause, NULL);
  }
  if (found < 0) fprintf(stderr, "%s\n", stopbit_ring_error(ring));
  stopbit_market_free(market);
  stopbit_ring_free(ring);
  return found < 0;
}
