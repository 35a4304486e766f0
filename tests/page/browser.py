"""Chromium, driven by its own protocol over a pair of pipes. Needs nothing but Python's standard library."""

import base64
import fcntl
import json
import os
import pathlib
import select
import signal
import subprocess
import tempfile
import time

# Far more than anything takes, on a busy machine too.
LIMIT = 90

FLAGS = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
         "--disable-dev-shm-usage", "--disable-crash-reporter", "--force-color-profile=srgb", "--lang=en-US",
         "--hide-scrollbars"]

KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), "ArrowDown": (40, ""), "ArrowUp": (38, ""),
        "PageDown": (34, ""), "PageUp": (33, ""), "Home": (36, ""), "End": (35, "")}


class ProtocolError(Exception):
    pass


def _high(descriptor):
    """The same pipe under a number that 3 and 4 cannot collide with."""
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return high


class Browser:
    def __init__(self):
        self._home = tempfile.TemporaryDirectory(prefix="holdfast-page-", ignore_cleanup_errors=True)
        to_browser, self._write = map(_high, os.pipe())
        self._read, from_browser = map(_high, os.pipe())
        flags = [*FLAGS, f"--user-data-dir={self._home.name}/profile"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # Chromium refuses to build its sandbox as root
        redirect = f'exec "$@" 3<&{to_browser} 4>&{from_browser} {to_browser}<&- {from_browser}>&-'
        self.log = open(pathlib.Path(self._home.name) / "log", "w+b")
        environment = dict(os.environ, HOME=self._home.name, XDG_CONFIG_HOME=self._home.name, XDG_CACHE_HOME=self._home.name)
        self._process = subprocess.Popen(["bash", "-c", redirect, "bash", "chromium", *flags, "about:blank"], env=environment,
                                         pass_fds=(to_browser, from_browser), start_new_session=True,
                                         stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._tabs = {}
        self.version = self.send("Browser.getVersion")["product"]

    def close(self):
        try:
            self.send("Browser.close")
        except (ProtocolError, OSError):
            pass
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self._process.pid, signal.SIGKILL)  # its group is of our making: what is left of its helpers
        except ProcessLookupError:
            pass
        self._process.wait()
        for descriptor in (self._read, self._write):
            os.close(descriptor)
        self.log.close()
        self._home.cleanup()

    def send(self, method, session=None, **parameters):
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data):]
        limit = time.monotonic() + LIMIT
        while True:
            answer = self._take(limit)
            if answer.get("id") != number:
                continue
            if "error" in answer:
                raise ProtocolError(f"{method}: {answer['error']['message']}")
            return answer["result"]

    def _take(self, limit):
        """The next message; events go to their tab on the way."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, limit - time.monotonic()))
            chunk = os.read(self._read, 1 << 20) if ready else b""
            if not chunk:
                self.log.seek(0)
                raise ProtocolError("the browser " + ("has ended: " if ready else "does not answer: ")
                                    + self.log.read()[-2000:].decode(errors="replace"))
            self._buffer += chunk
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        tab = self._tabs.get(message.get("sessionId"))
        if tab and "method" in message:
            tab.take(message["method"], message["params"])
        return message

    def open(self, width=1440, height=900, dark=False):
        """A tab with cookies and a cache of its own."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = self._tabs[session] = Tab(self, session, context)
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.send(f"{domain}.enable")
        tab.viewport(width, height)
        tab.media(dark=dark)
        return tab


class Tab:
    def __init__(self, browser, session, context):
        self._browser = browser
        self._session = session
        self._context = context
        self.problems = []  # what the console says
        self.requests = []  # addresses
        self.stream = []  # (seconds, kind, data) of server-sent events

    def close(self):
        self._browser.send("Target.disposeBrowserContext", browserContextId=self._context)

    def send(self, method, **parameters):
        return self._browser.send(method, self._session, **parameters)

    def take(self, method, event):
        if method == "Runtime.consoleAPICalled":
            self.problems.append(f"{event['type']}: {[each.get('value') for each in event['args']]}")
        elif method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.problems.append(f"exception: {details.get('exception', {}).get('description', details['text'])}")
        elif method == "Log.entryAdded":
            entry = event["entry"]
            self.problems.append(f"{entry['source']} {entry['level']}: {entry['text']} {entry.get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])
        elif method == "Network.eventSourceMessageReceived":
            self.stream.append((event["timestamp"], event["eventName"], event["data"]))

    def load(self, url):
        self.send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def evaluate(self, expression):
        answer = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise ProtocolError(f"{expression}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def wait(self, condition, limit=LIMIT):
        """Until a condition holds in the page. Returns its value."""
        end = time.monotonic() + limit
        while True:
            # A new document drops the question: it is asked again. A second at a time, so that no answer is overdue.
            try:
                value = self.evaluate(f"""(async () => {{
                    for (const end = performance.now() + 1000; ;) {{
                        const value = ({condition});
                        if (value || performance.now() > end) return value instanceof Node || value;
                        await new Promise((next) => setTimeout(next, 10));
                    }}
                }})()""")
            except ProtocolError as problem:
                if "navigat" not in str(problem) and "context" not in str(problem):
                    raise
                value = None
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"not within {limit} s: {condition}; the page has: "
                                     + str(self.evaluate("document.body.innerText"))[:1500] + f"; console: {self.problems}")

    def text(self, selector="body"):
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def viewport(self, width, height, phone=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.send("Emulation.setTouchEmulationEnabled", enabled=phone)

    def media(self, dark=False, reduced=True):
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced else "no-preference"}])

    def press(self, key):
        code, text = KEYS.get(key) or (ord(key.upper()), key)
        event = {"key": key, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def click(self, selector):
        x, y = self.evaluate(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: 'nearest'}});
            const box = element.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def drawn(self):
        """Waits until the page is drawn as it is now."""
        self.evaluate("new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))")

    def screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
