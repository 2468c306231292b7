/* A program of MPI that checks what it receives: collectives of many sizes, and messages that overtake their receives. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int bad;
#define CHECK(what)                                                                          \
  do {                                                                                       \
    if (!(what) && bad++ < 5) fprintf(stderr, "line %d: not true: %s\n", __LINE__, #what);   \
  } while (0)

static void exchange_all(int rank, int ranks, int length) {
  int* from = malloc(sizeof(int) * (size_t)length * (size_t)ranks);
  int* into = malloc(sizeof(int) * (size_t)length * (size_t)ranks);
  for (int i = 0; i < length * ranks; ++i) from[i] = rank * 1000003 + i;
  MPI_Alltoall(from, length, MPI_INT, into, length, MPI_INT, MPI_COMM_WORLD);
  for (int peer = 0; peer < ranks; ++peer) {
    for (int i = 0; i < length; ++i) CHECK(into[peer * length + i] == peer * 1000003 + rank * length + i);
  }
  const int root = 1 % ranks;
  for (int i = 0; i < length; ++i) from[i] = rank == root ? i * 7 : -1;
  MPI_Bcast(from, length, MPI_INT, root, MPI_COMM_WORLD);
  for (int i = 0; i < length; ++i) CHECK(from[i] == i * 7);
  for (int i = 0; i < length; ++i) from[i] = rank + i;
  MPI_Reduce(from, into, length, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int i = 0; i < length && rank == 0; ++i) CHECK(into[i] == ranks * (ranks - 1) / 2 + ranks * i);
  free(from);
  free(into);
}

static void send_in_disorder(int rank, int ranks) {
  enum { kMessages = 200 };
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  MPI_Request requests[2 * kMessages];
  int from[kMessages];
  int into[kMessages];
  for (int i = 0; i < kMessages; ++i) {
    from[i] = rank * kMessages + i;
    MPI_Isend(&from[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = kMessages; i-- > 0;) MPI_Irecv(&into[i], 1, MPI_INT, previous, i, MPI_COMM_WORLD, &requests[kMessages + i]);
  MPI_Waitall(2 * kMessages, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kMessages; ++i) CHECK(into[i] == previous * kMessages + i);
}

/* MPI_Improbe and MPI_Imrecv: peek and claim. */
static void probe(int rank, int ranks) {
  const int next = (rank + 1) % ranks;
  int value = rank;
  MPI_Request request;
  MPI_Isend(&value, 1, MPI_INT, next, 999, MPI_COMM_WORLD, &request);
  MPI_Message message;
  MPI_Status status;
  MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
  int got = -1;
  MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(got == (rank + ranks - 1) % ranks && status.MPI_SOURCE == got);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long sum = 0;
  long mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == (long)ranks * (ranks + 1) / 2);
  for (int length = 1; length <= 1 << 18; length *= 8) exchange_all(rank, ranks, length);
  send_in_disorder(rank, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  probe(rank, ranks);
  int all = 0;
  MPI_Reduce(&bad, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d errors\n", ranks, all);
  MPI_Finalize();
  return bad != 0;
}
