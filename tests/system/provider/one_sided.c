/* A program of MPI's one-sided calls that checks its results: put, get, accumulate, fetch-and-op, compare-and-swap, under
 * locks and between fences. The windows are of memory that the program has, so that MPI reaches it through the network
 * interface and not through memory of its own that all ranks share. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int bad;
#define CHECK(what)                                                                        \
  do {                                                                                     \
    if (!(what) && bad++ < 5) fprintf(stderr, "line %d: not true: %s\n", __LINE__, #what); \
  } while (0)

static int rank;
static int ranks;

static MPI_Win window_of(void* memory, size_t bytes, int unit) {
  MPI_Win window;
  MPI_Win_create(memory, (MPI_Aint)bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  return window;
}

/* Each rank puts a block into every other, and gets it back from there. */
static void put_and_get(int length) {
  int32_t* memory = calloc((size_t)length * (size_t)ranks, sizeof(int32_t));
  int32_t* from = malloc((size_t)length * sizeof(int32_t));
  int32_t* into = malloc((size_t)length * sizeof(int32_t));
  MPI_Win window = window_of(memory, (size_t)length * (size_t)ranks * sizeof(int32_t), sizeof(int32_t));
  MPI_Win_fence(0, window);
  for (int peer = 0; peer < ranks; ++peer) {
    for (int i = 0; i < length; ++i) from[i] = rank * 1000003 + peer * 1009 + i;
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, window);
    MPI_Put(from, length, MPI_INT32_T, peer, (MPI_Aint)rank * length, length, MPI_INT32_T, window);
    MPI_Win_unlock(peer, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
  for (int peer = 0; peer < ranks; ++peer) {
    for (int i = 0; i < length; ++i) CHECK(memory[peer * length + i] == peer * 1000003 + rank * 1009 + i);
  }
  MPI_Win_unlock(rank, window);
  for (int peer = 0; peer < ranks; ++peer) {
    const int block = (rank + 1) % ranks;
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, window);
    MPI_Get(into, length, MPI_INT32_T, peer, (MPI_Aint)block * length, length, MPI_INT32_T, window);
    MPI_Win_unlock(peer, window);
    for (int i = 0; i < length; ++i) CHECK(into[i] == block * 1000003 + peer * 1009 + i);
  }
  MPI_Win_free(&window);
  free(memory);
  free(from);
  free(into);
}

/* All ranks add into all, at once. */
static void accumulate(void) {
  enum { kValues = 300, kRounds = 20 };
  int64_t sums[kValues] = {0};
  double parts[kValues] = {0};
  int64_t ones[kValues];
  double halves[kValues];
  for (int i = 0; i < kValues; ++i) {
    ones[i] = rank + 1;
    halves[i] = 0.5 * (rank + 1);
  }
  MPI_Win window = window_of(sums, sizeof(sums), sizeof(int64_t));
  MPI_Win reals = window_of(parts, sizeof(parts), sizeof(double));
  MPI_Win_fence(0, window);
  MPI_Win_fence(0, reals);
  for (int round = 0; round < kRounds; ++round) {
    for (int peer = 0; peer < ranks; ++peer) {
      MPI_Accumulate(ones, kValues, MPI_INT64_T, peer, 0, kValues, MPI_INT64_T, MPI_SUM, window);
      MPI_Accumulate(halves, kValues, MPI_DOUBLE, peer, 0, kValues, MPI_DOUBLE, MPI_SUM, reals);
    }
  }
  MPI_Win_fence(0, window);
  MPI_Win_fence(0, reals);
  const int64_t whole = (int64_t)kRounds * ranks * (ranks + 1) / 2;
  for (int i = 0; i < kValues; ++i) {
    CHECK(sums[i] == whole);
    CHECK(parts[i] == 0.5 * (double)whole);
  }
  MPI_Win_free(&window);
  MPI_Win_free(&reals);
}

/* Tickets: nobody gets one twice. And all ranks but the target's own share a lock of compare-and-swap, around a counter
 * that is read and written apart. */
static void atomics(void) {
  enum { kTickets = 200, kTurns = 10 };
  int64_t shared[3] = {0, 0, 0}; /* tickets, lock, counter: those of rank 0 */
  MPI_Win window = window_of(shared, sizeof(shared), sizeof(int64_t));
  int64_t* mine = malloc(sizeof(int64_t) * kTickets);
  int64_t* all = malloc(sizeof(int64_t) * kTickets * (size_t)ranks);
  const int64_t one = 1;
  const int64_t zero = 0;
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < kTickets; ++i) {
    MPI_Fetch_and_op(&one, &mine[i], MPI_INT64_T, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    CHECK(i == 0 || mine[i] > mine[i - 1]);
  }
  for (int turn = 0; turn < kTurns && rank != 0; ++turn) {
    int64_t held = 1;
    while (held != 0) {
      MPI_Compare_and_swap(&one, &zero, &held, MPI_INT64_T, 0, 1, window);
      MPI_Win_flush(0, window);
    }
    int64_t value = 0;
    MPI_Get(&value, 1, MPI_INT64_T, 0, 2, 1, MPI_INT64_T, window);
    MPI_Win_flush(0, window);
    ++value;
    MPI_Put(&value, 1, MPI_INT64_T, 0, 2, 1, MPI_INT64_T, window);
    MPI_Win_flush(0, window);
    MPI_Fetch_and_op(&zero, &held, MPI_INT64_T, 0, 1, MPI_REPLACE, window);
    MPI_Win_flush(0, window);
    CHECK(held == 1);
  }
  MPI_Win_unlock_all(window);
  MPI_Gather(mine, kTickets, MPI_INT64_T, all, kTickets, MPI_INT64_T, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    char* seen = calloc((size_t)ranks * kTickets, 1);
    for (int i = 0; i < ranks * kTickets; ++i) {
      CHECK(all[i] >= 0 && all[i] < ranks * kTickets && !seen[all[i]]);
      if (all[i] >= 0 && all[i] < ranks * kTickets) seen[all[i]] = 1;
    }
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    CHECK(shared[0] == ranks * kTickets);
    CHECK(shared[2] == (ranks - 1) * kTurns);
    MPI_Win_unlock(0, window);
    free(seen);
  }
  MPI_Win_free(&window);
  free(mine);
  free(all);
}

/* The target computes, without a call of MPI, until the others' values have reached its memory: that needs a thread. */
static void put_to_one_that_computes(void) {
  volatile int64_t* values = calloc((size_t)ranks, sizeof(int64_t));
  MPI_Win window = window_of((void*)values, (size_t)ranks * sizeof(int64_t), sizeof(int64_t));
  if (rank == 0) {
    int here = 1;
    while (here < ranks) {
      here = 1;
      for (int peer = 1; peer < ranks; ++peer) here += values[peer] == peer * 1000;
    }
  } else {
    const int64_t value = rank * 1000;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Put(&value, 1, MPI_INT64_T, 0, rank, 1, MPI_INT64_T, window);
    MPI_Win_unlock(0, window);
  }
  MPI_Win_free(&window);
  free((void*)values);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int length = 1; length <= 1 << 16; length *= 16) put_and_get(length);
  put_and_get(100003);
  accumulate();
  atomics();
  if (argc > 1) put_to_one_that_computes();
  int all = 0;
  MPI_Reduce(&bad, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d errors\n", ranks, all);
  MPI_Finalize();
  return bad != 0;
}
