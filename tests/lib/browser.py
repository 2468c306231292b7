"""A headless Chromium, driven through its DevTools protocol over a pair of pipes: no library, no port, no download.

    with Browser(folder) as browser:
        tab = browser.open("http://127.0.0.1:9464/", width=360, height=800)
        tab.wait("document.body.dataset.turns > 1", "the page works")
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time

# More than three minutes, for a machine that is busy: nothing here waits for a time, only for states.
PATIENCE = 600
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
           "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
           "--no-default-browser-check", "--hide-scrollbars", "--force-color-profile=srgb", "--font-render-hinting=none",
           "--remote-debugging-pipe"]


class BrowserError(Exception):
    pass


class PageGone(BrowserError):
    """The page went, to be loaded again or for another one, before it had answered."""


def find_browser():
    """A missing browser is an error, not a reason to skip: what people look at is tested everywhere."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    raise BrowserError("there is no browser: install Debian's package chromium")


class Browser:
    def __init__(self, folder):
        self.folder, self.number, self.answers, self.tabs = folder, 0, {}, {}
        self.pending = b""

    def __enter__(self):
        hear_there, self.to = os.pipe()
        self.answer_from, say_there = os.pipe()

        # The browser reads from descriptor 3 and writes to 4. A shell puts them there, as the numbers may be taken here.
        self.log = open(os.path.join(self.folder, "browser.log"), "ab")
        command = ["bash", "-c", f'exec "$@" 3<&{hear_there} 4>&{say_there}', "bash", find_browser(), *OPTIONS,
                   f"--user-data-dir={self.folder}/profile", "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(hear_there, say_there), stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log, start_new_session=True)
        os.close(hear_there)
        os.close(say_there)
        self.call("Target.setDiscoverTargets", discover=True)
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (BrowserError, OSError):
            pass
        os.close(self.to)
        os.close(self.answer_from)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)  # of its own session: it and what it has started
            self.process.wait()
        self.log.close()

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while self.number not in self.answers:
            self.hear(deadline)
        answer = self.answers.pop(self.number)
        if "error" in answer:
            is_gone = "navigated" in answer["error"].get("message", "")
            raise (PageGone if is_gone else BrowserError)(f"{method}: {answer['error']}")
        return answer["result"]

    def hear(self, deadline):
        """Takes what the browser says, at least one message."""
        while b"\0" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.answer_from], [], [], left)[0]:
                raise BrowserError("the browser does not answer")
            piece = os.read(self.answer_from, 1 << 20)
            if not piece:
                raise BrowserError(f"the browser has ended; see {self.folder}/browser.log")
            self.pending += piece
        *whole, self.pending = self.pending.split(b"\0")
        for text in whole:
            message = json.loads(text)
            if "id" in message:
                self.answers[message["id"]] = message
            elif message.get("sessionId") in self.tabs:
                self.tabs[message["sessionId"]].take(message["method"], message["params"])

    def open(self, address=None, width=1400, height=900, dark=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = self.tabs[session] = Tab(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            tab.call(f"{domain}.enable")
        tab.resize(width, height)
        tab.emulate(dark)
        if address:
            tab.call("Page.navigate", url=address)
            tab.wait("document.readyState === 'complete' && location.href !== 'about:blank'", "the page is loaded")
        return tab


class Tab:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        self.complaints, self.requests = [], []

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def take(self, method, what):
        if method == "Runtime.exceptionThrown":
            self.complaints.append(what["exceptionDetails"].get("exception", {}).get("description") or what["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(one.get("value", one.get("description"))) for one in what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.complaints.append(what["entry"]["text"] + " " + what["entry"].get("url", ""))
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def emulate(self, dark=False):
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def run(self, expression):
        """The value of an expression of JavaScript, as JSON. It may do what the page's policy lets a script do."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True,
                           allowUnsafeEvalBlockedByCSP=False)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def holds(self, expression):
        """Not while the page is loaded again."""
        try:
            return self.run(f"Boolean({expression})")
        except PageGone:
            return False

    def wait(self, expression, what):
        deadline = time.monotonic() + PATIENCE
        while not self.holds(expression):
            if time.monotonic() > deadline:
                raise BrowserError(f"waited in vain until {what}: {expression}\n" + str(self.run("document.body.innerText")))
            time.sleep(0.05)

    def press(self, key, shift=False):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35}
        event = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key], "modifiers": 8 if shift else 0}
        if key == "Enter":
            event["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **{k: v for k, v in event.items() if k != "text"})

    def screenshot(self, path, height=None, top=0):
        """Of the whole page, or of `height` pixels of it from `top` on."""
        size = self.run("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": top, "width": size[0], "height": min(size[1] - top, height or size[1]), "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def close(self):
        self.call("Page.close")
        del self.browser.tabs[self.session]


if __name__ == "__main__":
    sys.exit("this is a library")
