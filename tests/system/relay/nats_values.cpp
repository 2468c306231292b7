#include <nats/nats.h>

#include <cstdio>
#include <string>

// A client of key-value as anybody may write one, with the functions that libnats has for it.
//
//     nats_values SERVER BUCKET    a line for each key: the key, a tab, its value

namespace {

int fail(const char* what, natsStatus status) {
  std::fprintf(stderr, "nats_values: %s: %s\n", what, natsStatus_GetText(status));
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return std::fprintf(stderr, "nats_values SERVER BUCKET\n"), 2;
  natsConnection* connection = nullptr;
  jsCtx* context = nullptr;
  kvStore* store = nullptr;
  kvKeysList keys = {};
  natsStatus status = natsConnection_ConnectTo(&connection, arguments[1]);
  if (status == NATS_OK) status = natsConnection_JetStream(&context, connection, nullptr);
  if (status == NATS_OK) status = js_KeyValue(&store, context, arguments[2]);
  if (status == NATS_OK) status = kvStore_Keys(&keys, store, nullptr);
  if (status != NATS_OK) return fail("no keys", status);
  for (int i = 0; i < keys.Count; ++i) {
    kvEntry* entry = nullptr;
    status = kvStore_Get(&entry, store, keys.Keys[i]);
    if (status != NATS_OK) return fail(keys.Keys[i], status);
    std::printf("%s\t%.*s\n", kvEntry_Key(entry), kvEntry_ValueLen(entry),
                static_cast<const char*>(kvEntry_Value(entry)));
    kvEntry_Destroy(entry);
  }
  kvKeysList_Destroy(&keys);
  kvStore_Destroy(store);
  jsCtx_Destroy(context);
  natsConnection_Destroy(connection);
  nats_Close();
  return 0;
}
