#include <rdma/providers/fi_prov.h>

#include "host/nic/provider/provider.hpp"

#define EXTERNALLY_VISIBLE externally_visible

extern "C" {
/// libfabric looks for this name in lib*-fi.so.
FI_EXT_INI {
  fi_provider& provider = stopbit::nic::provider::provider();
  fi_param_define(&provider, "network", FI_PARAM_STRING,
                  "Name of the network: processes with the same name reach each other (default: libfabric). In shared "
                  "memory at most 32 processes of one user, over a network at most 256.");
  fi_param_define(&provider, "single_copy", FI_PARAM_BOOL,
                  "Copy long messages directly between processes, with process_vm_readv, if the kernel allows it "
                  "(default: yes).");
  fi_param_define(
      &provider, "progress_thread", FI_PARAM_BOOL,
      "A thread of each domain makes progress while the program makes no calls, also if the program has not "
      "asked for FI_PROGRESS_AUTO (default: no).");
  fi_param_define(&provider, "counters", FI_PARAM_STRING,
                  "File to which each domain appends one line of JSON with its counters when it is closed.");
  fi_param_define(
      &provider, "rendezvous", FI_PARAM_STRING,
      "HOST:PORT at which processes of several hosts meet, the same text for all: they then speak over UDP. "
      "The first process on that host listens there, and admits the others (default: shared memory of one "
      "host).");
  fi_param_define(&provider, "token_file", FI_PARAM_STRING,
                  "File whose first line is the secret of the network, 16 random bytes or more, the same on all hosts. "
                  "With it all is encrypted; without it, only 127.0.0.1 and ::1 may be the rendezvous.");
  fi_param_define(&provider, "encryption", FI_PARAM_BOOL,
                  "no: without a token also between hosts, so that any host that reaches the ports can join, read and "
                  "forge (default: yes).");
  fi_param_define(&provider, "listen", FI_PARAM_STRING,
                  "HOST or HOST:PORT at which this process receives (default: the address from which the rendezvous is "
                  "reached, and any port).");
  fi_param_define(&provider, "frame_bytes", FI_PARAM_SIZE_T,
                  "Longest frame over the network, the same for all, 1200 to 65000; a datagram is 40 bytes longer "
                  "(default: 1400; jumbo frames: 8900).");
  fi_param_define(&provider, "silence", FI_PARAM_SIZE_T,
                  "Seconds after which a peer over the network that owes an answer, and says nothing, is given up "
                  "(default: 60).");
  fi_param_define(&provider, "patience", FI_PARAM_SIZE_T,
                  "Seconds after which a process that finds no other one at the rendezvous gives up (default: 30).");
  return &provider;
}
}
