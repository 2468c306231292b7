#!/usr/bin/env bash
# HTTP over TLS, with certificates that openssl makes: who gets the pages of an appliance that listens on all addresses,
# and what is said of files that do not fit.
#
#     tls.sh BIN_FOLDER        status 77: no openssl or no network namespace here
set -euo pipefail
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=wire.bash
. "$here/wire.bash"
enter_namespace "openssl" "$@"
make_workplace tls
use_loopback

# authority NAME; certificate NAME AUTHORITY
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -out "$1.pem" -days 2 \
    -subj "/CN=$1" -addext basicConstraints=critical,CA:TRUE 2>>openssl.log
}
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" 2>>openssl.log
  printf 'subjectAltName=IP:127.0.0.1\n' >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 2 -extfile "$1.ext" -out "$1.pem" 2>>openssl.log
}
authority ours
authority theirs
certificate server ours
certificate operator ours
certificate stranger theirs
openssl ec -aes128 -passout pass:secret -in server.key -out locked.key 2>>openssl.log
echo "a-token-of-this-test" >token

"$here/feed.sh" "$bin" "$name" lo lo
mv appliance.toml plain.toml

# settings LISTEN LINE...: appliance.toml with these lines in [http].
settings() {
  python3 - "$@" <<'PYTHON'
import sys
text = open("plain.toml").read()
old = 'listen = "127.0.0.1:9464"'
assert old in text
open("appliance.toml", "w").write(text.replace(old, "\n".join([f'listen = "{sys.argv[1]}"', *sys.argv[2:]])))
PYTHON
}
# noted TEXT: the log tells of it.
noted() { grep -F 'what="note"' log | grep -F -- "$1" || { echo "no note says '$1'"; return 1; }; }
# refused STATUS TEXT: the settings are not good enough to start with.
refused() {
  local status=0
  timeout 60 "$bin/stopbit" run appliance.toml -q 2>log </dev/null || status=$?
  [[ $status == "$1" ]] && grep -qF -- "$2" log || { echo "wanted status $1 and '$2', got $status and:"; cat log; exit 1; }
}

settings 0.0.0.0:9464 'certificate = "server.pem"' 'key = "server.key"'
start_appliance
python3 "$here/tls_test.py" server
noted 'the page is open to every host'
stop_appliance
settings 0.0.0.0:9464 'certificate = "server.pem"' 'key = "server.key"' 'token_file = "token"'
start_appliance
python3 "$here/tls_test.py" token
# The door stays open until a restart, and so does its lock. A certificate that is none changes nothing.
cp appliance.toml with_http.toml
sed -i '/^\[http\]/d; /^listen = "0.0.0.0:9464"/d; /^certificate = /d; /^key = /d; /^token_file = /d' appliance.toml
kill -HUP "$appliance"
wait_for 'grep "what=\"reload\" by=\"SIGHUP\"" log | grep -q "needs a restart:.*http"'
python3 "$here/tls_test.py" token
sed 's/^certificate = .*/certificate = "token"/' with_http.toml >appliance.toml
kill -HUP "$appliance"
wait_for 'grep "what=\"reload\" by=\"SIGHUP\"" log | grep -q "nothing changed: certificate"'
python3 "$here/tls_test.py" token
stop_appliance
settings 0.0.0.0:9464 'certificate = "server.pem"' 'key = "server.key"' 'client_ca = "ours.pem"'
start_appliance
python3 "$here/tls_test.py" clients
if noted 'HTTP on' >/dev/null; then exit 1; fi
stop_appliance
settings 0.0.0.0:9464 'token_file = "token"'
start_appliance
noted 'the token crosses the network unencrypted'
stop_appliance

settings 0.0.0.0:9464
refused 1 'an address that other hosts can reach needs a token_file, or TLS'
settings 0.0.0.0:9464 'certificate = "server.pem"'
refused 1 'TLS needs both a certificate and its key'
settings 127.0.0.1:9464 'client_ca = "ours.pem"'
refused 1 'client certificates need TLS'
settings 127.0.0.1:9464 'certificate = "none.pem"' 'key = "server.key"'
refused 3 "certificate 'none.pem': "
settings 127.0.0.1:9464 'certificate = "token"' 'key = "server.key"'
refused 3 "certificate 'token': "
settings 127.0.0.1:9464 'certificate = "server.pem"' 'key = "operator.key"'
refused 3 "key 'operator.key'"
settings 127.0.0.1:9464 'certificate = "server.pem"' 'key = "locked.key"'
refused 3 "key 'locked.key': "
settings 127.0.0.1:9464 'certificate = "server.pem"' 'key = "server.key"' 'client_ca = "server.key"'
refused 3 "client_ca 'server.key': "
echo "files that do not fit are refused with their names"
