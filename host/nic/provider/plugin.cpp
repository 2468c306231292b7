#include <rdma/providers/fi_prov.h>

#include "host/nic/provider/provider.hpp"

#define EXTERNALLY_VISIBLE externally_visible

extern "C" {
/// libfabric looks for this name in lib*-fi.so.
FI_EXT_INI {
  fi_provider& provider = stopbit::nic::provider::provider();
  fi_param_define(&provider, "network", FI_PARAM_STRING,
                  "Name of the network in shared memory: processes of one user with the same name reach each other "
                  "(default: libfabric). At most 32 processes.");
  fi_param_define(&provider, "single_copy", FI_PARAM_BOOL,
                  "Copy long messages directly between processes, with process_vm_readv, if the kernel allows it "
                  "(default: yes).");
  fi_param_define(
      &provider, "progress_thread", FI_PARAM_BOOL,
      "A thread of each domain makes progress while the program makes no calls, also if the program has not "
      "asked for FI_PROGRESS_AUTO (default: no).");
  fi_param_define(&provider, "counters", FI_PARAM_STRING,
                  "File to which each domain appends one line of JSON with its counters when it is closed.");
  return &provider;
}
}
