"""Opens a page of `ibeam replay --output-format html` in headless Chromium, and checks it as a reader would use it.

Usage: browser.py CHROMIUM PAGE SCREENSHOT [--time-only]

Prints one JSON object: the time until the page was ready, and the requests that it sent (none).
"""

import base64
import json
import re
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import websocket


class Browser:
    """A headless Chromium with one tab, driven over its debugging protocol."""

    def __init__(self, chromium):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
                 "--remote-allow-origins=*", "--remote-debugging-port=0", f"--user-data-dir={self.profile.name}"]
        self.process = subprocess.Popen([chromium, *flags, "about:blank"], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"DevTools listening on ws://([^/]+)/", line)
            if found:
                break
        else:
            sys.exit("Chromium ended before it listened")
        self.ids, self.events = 0, []
        address = f"ws://{found[1]}{re.search('/devtools.*', line)[0].strip()}"
        self.socket = websocket.create_connection(address, timeout=120)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=1200, height=800, deviceScaleFactor=1, mobile=False)

    def call(self, method, **params):
        self.ids += 1
        message = {"id": self.ids, "method": method, "params": params}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.ids:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            sys.exit(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression, seconds=30):
        end = time.monotonic() + seconds
        while not self.value(f"Boolean({expression})"):
            if time.monotonic() > end:
                sys.exit(f"this did not become true: {expression}")
            time.sleep(0.02)

    def press(self, key, text=None):
        code = {"Escape": 27, "Enter": 13}.get(key, ord(key[0].upper()))
        for kind in ["keyDown", "keyUp"]:
            typed = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **typed)

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(10)
        self.profile.cleanup()


def colours(png):
    """Returns the number of different rows of pixels of an image: a blank one has few."""
    at, data = 8, b""
    while at < len(png):
        length = int.from_bytes(png[at:at + 4], "big")
        if png[at + 4:at + 8] == b"IDAT":
            data += png[at + 8:at + 8 + length]
        at += 12 + length
    pixels = zlib.decompress(data)
    return len({pixels[start:start + 2000] for start in range(0, len(pixels), 2000)})


def require(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def walk(browser):
    """Uses the keys of the viewer."""
    focused = "document.activeElement?.closest('article')?.id ?? ''"
    browser.press("j", "j")
    first = browser.value(focused)
    browser.press("j", "j")
    second = browser.value(focused)
    require(first and second and first != second, f"`j` goes to the next entry: {first}, {second}")
    browser.press("k", "k")
    require(browser.value(focused) == first, "`k` goes to the entry before")
    browser.press("J", "J")
    browser.press("K", "K")
    require(browser.value(focused), "`K` goes to a prompt")
    for row in ["call", "end"]:
        border = browser.value(f"getComputedStyle(document.querySelector('article.{row}') ?? document.body).borderTopWidth")
        require(border == "0px", f"a row `{row}` has no border around its own: {border}")
    calls = "document.querySelectorAll('article details').length"
    if browser.value(calls):
        browser.value("document.querySelector('article details').closest('article').focus()")
        browser.press("o", "o")
        browser.wait("document.querySelector('article details').open && document.querySelector('article details pre')")
        browser.press("o", "o")
        require(not browser.value("document.querySelector('article details').open"), "`o` closes the call")
    browser.press("/", "/")
    require(browser.value("document.activeElement.id") == "search", "`/` goes to the search field")
    browser.call("Input.insertText", text="the")
    browser.press("Enter", "\r")
    browser.wait("/[1-9]/.test(document.getElementById('matches').textContent)")
    browser.press("Escape")
    browser.wait("document.getElementById('matches').textContent === ''")
    browser.value("document.activeElement.blur()")
    browser.press("t", "t")
    require(browser.value("document.documentElement.dataset.theme") == "dark", "`t` changes the theme")
    browser.press("?", "?")
    require(browser.value("document.getElementById('help').open"), "`?` shows the keys")
    browser.press("Escape")
    browser.wait("!document.getElementById('help').open")
    names = browser.call("Accessibility.getFullAXTree")["nodes"]
    roles = {node.get("role", {}).get("value") for node in names if not node.get("ignored")}
    for role in ["main", "navigation", "search", "heading", "article", "searchbox", "button", "link"]:
        require(role in roles, f"the role `{role}` is in the tree of accessibility: {sorted(filter(None, roles))}")


def main():
    chromium, page, screenshot = sys.argv[1:4]
    browser = Browser(chromium)
    try:
        begin = time.monotonic()
        browser.call("Page.navigate", url=Path(page).resolve().as_uri())
        browser.wait("document.querySelector('#rows-view article') !== null", 120)
        shown = time.monotonic() - begin
        browser.wait("document.documentElement.dataset.ready !== undefined", 120)
        ready = time.monotonic() - begin
        loaded = browser.value("performance.getEntriesByType('navigation')[0].loadEventEnd")
        painted = browser.value("performance.getEntriesByType('paint').find(entry => entry.name === 'first-contentful-paint')?.startTime ?? 0")
        if "--time-only" not in sys.argv:
            walk(browser)
        png = base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"])
        Path(screenshot).write_bytes(png)
        require(colours(png) > 50, "the screenshot is not blank")
        time.sleep(0.2)
        browser.value("1")
        urls = [event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"]
        hosts = [url for url in urls if not url.startswith(("file:", "data:", "about:"))]
        require(not hosts, f"no request to any host: {hosts}")
        logged = [event["params"] for event in browser.events if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
        require(not logged, f"no error in the console: {logged}")
        print(json.dumps({"title": browser.value("document.title"), "rows": browser.value("+document.documentElement.dataset.ready"),
                          "shown_ms": round(shown * 1000), "ready_ms": round(ready * 1000), "load_event_ms": round(loaded),
                          "first_paint_ms": round(painted), "requests": len(hosts)}))
    finally:
        browser.close()


main()
