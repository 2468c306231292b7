"""Serves the page with answers that answers_of.py has kept, so that it looks the same each time."""

import base64
import hashlib
import http.server
import json
import re
import threading
import urllib.parse


def policy_of(html):
    """As page_policy of host/monitor/control."""
    def hashes(element):
        texts = re.findall(f"<{element}>(.*?)</{element}>", html, re.DOTALL)
        return "".join(f" 'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts) or " 'none'"
    return (f"default-src 'none'; connect-src 'self'; img-src data:; script-src{hashes('script')}; style-src{hashes('style')}; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")


def between(first, last, part):
    """An answer between two, of which numbers that have grown have grown in part."""
    if isinstance(first, dict) and isinstance(last, dict):
        return {key: between(first.get(key, value), value, part) for key, value in last.items()}
    if isinstance(first, list) and isinstance(last, list) and len(first) == len(last):
        return [between(a, b, part) for a, b in zip(first, last)]
    is_number = type(first) in (int, float) and type(last) in (int, float)
    return first + type(last)((last - first) * part) if is_number else last


class FixedServer:
    def __init__(self, page, answers):
        with open(page, encoding="utf-8") as file:
            self.page = file.read()
        with open(answers, encoding="utf-8") as file:
            self.answers = json.load(file)
        self.looks = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                found = outer.answer(self.path)
                self.send_response(200 if found else 404)
                body = (found or ("text/plain", "no such page"))[1].encode()
                self.send_header("Content-Type", (found or ("text/plain", ""))[0])
                self.send_header("Content-Security-Policy", policy_of(outer.page))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass  # a tab that is closed does not wait for its answers

        self.server = Server(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def is_at_the_end(self):
        return self.looks > len(self.answers["books"])

    def answer(self, target):
        url = urllib.parse.urlparse(target)
        query = dict(urllib.parse.parse_qsl(url.query))
        kept, last = self.answers, len(self.answers["books"]) - 1
        if url.path == "/":
            self.looks = 0
            return "text/html; charset=utf-8", self.page
        if url.path == "/status.json":
            part = min(self.looks, last) / last
            self.looks += 1
            return "application/json", json.dumps(between(kept["first"], kept["last"], part))
        names = {"/about.json": "about", "/history.json": "history", "/errors.json": "errors", "/instruments.json": "instruments"}
        if url.path in names:
            return "application/json", json.dumps(kept[names[url.path]])
        if url.path == "/book.json":
            return "application/json", json.dumps(kept["books"][min(max(0, self.looks - 1), last)])
        if url.path == "/gap.json":
            return "application/json", json.dumps(kept["gaps"].get(query.get("key"), {"error": "no such gap"}))
        return None
