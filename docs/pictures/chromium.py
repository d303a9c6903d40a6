"""Drive a headless Chromium through the pipe of its debugging protocol; nothing but the standard library is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")

FLAGS = (
    "--headless=new", "--no-sandbox", "--hide-scrollbars", "--no-first-run", "--disable-extensions", "--mute-audio",
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)  # fmt: skip


def find_chromium() -> str | None:
    """The program, if there is one on this machine."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Chromium:
    """A browser with one page. Use it as a context, so that it ends.

    Args:
        width: of the window, in pixels of the page.
        height: of the window.
        dark: whether pages should be dark.
        scale: pixels of pictures per pixel of the page.
    """

    def __init__(self, width: int = 1280, height: int = 800, dark: bool = False, scale: float = 1.0):
        program = find_chromium()
        if program is None:
            raise RuntimeError("there is no Chromium here")
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # The browser reads commands from descriptor 3 and answers on descriptor 4.
        shell = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        command = ["bash", "-c", shell, program, *FLAGS, f"--user-data-dir={self._folder.name}", "about:blank"]
        self._process = subprocess.Popen(
            command, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out, self._rest, self._number = ours_in, ours_out, b"", 0
        self.messages: list[str] = []
        self._session: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self.become(width, height, dark, scale)

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._session = None
            self._call("Browser.close")
            self._process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        finally:
            os.close(self._in)
            os.close(self._out)
            self._folder.cleanup()

    # ------------------------------------------------------------------------------------------------------- for users

    def open(self, page: Path | str, ready: str = "document.readyState === 'complete'") -> None:
        """Show a page and wait until an expression is true in it.

        Args:
            page: a file, or the address of a page.
            ready: JavaScript.
        """
        self._call("Page.navigate", url=page.resolve().as_uri() if isinstance(page, Path) else page)
        self.until(ready)

    def become(self, width: int, height: int, dark: bool = False, scale: float = 1.0) -> None:
        """Another window.

        Args:
            width: in pixels of the page.
            height: in pixels of the page.
            dark: whether pages should be dark.
            scale: pixels of pictures per pixel of the page.
        """
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def run(self, source: str) -> Any:
        """The value of a JavaScript expression in the page.

        Args:
            source: the expression; promises are waited for.
        """
        answer = self._call("Runtime.evaluate", expression=source, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"].get("exception", answer["exceptionDetails"])))
        return answer["result"].get("value")

    def until(self, condition: str, seconds: float = 60.0) -> None:
        """Wait until an expression is true.

        Args:
            condition: JavaScript.
            seconds: how long at most.
        """
        end = time.monotonic() + seconds
        while not self.run(condition):
            if time.monotonic() > end:
                raise RuntimeError(f"{condition} is still false after {seconds} s; the page says {self.messages}")
            time.sleep(0.05)

    def drag(self, start: tuple[float, float], stop: tuple[float, float]) -> None:
        """Press the mouse, move it, let it go.

        Args:
            start: where, in pixels of the page.
            stop: where to.
        """
        mouse: dict[str, Any] = {"button": "left", "clickCount": 1}
        middle = tuple((a + b) / 2 for a, b in zip(start, stop))
        self._call("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], **mouse)
        for x, y in (middle, stop):
            self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, buttons=1, **mouse)
        self._call("Input.dispatchMouseEvent", type="mouseReleased", x=stop[0], y=stop[1], **mouse)

    def click(self, selector: str) -> None:
        """Click into the middle of an element.

        Args:
            selector: of CSS.
        """
        x, y, w, h = self.place(selector)
        self.drag((x + w / 2, y + h / 2), (x + w / 2, y + h / 2))

    def place(self, selector: str) -> tuple[float, float, float, float]:
        """Where an element is: left, top, width, height; it is scrolled into view.

        Args:
            selector: of CSS.
        """
        element = f"document.querySelector({json.dumps(selector)})"
        box = self.run(
            f"(() => {{ {element}.scrollIntoView({{block: 'nearest'}}); const b = {element}.getBoundingClientRect();"
            " return [b.x, b.y, b.width, b.height]; })()"
        )
        return tuple(box)  # type: ignore[return-value]

    def picture(self, target: Path | None = None) -> bytes:
        """The page as PNG.

        Args:
            target: where to write it too.
        """
        data = base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])
        if target is not None:
            target.write_bytes(data)
        return data

    def pdf(self, target: Path) -> None:
        """Print the page; its style sheet says how large the paper is.

        Args:
            target: the PDF to write.
        """
        made = self._call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        target.write_bytes(base64.b64decode(made["data"]))

    # ----------------------------------------------------------------------------------------------------- the protocol

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        """Keep what the page complains about, and which addresses it asks for."""
        found = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.messages.append(str(found["exceptionDetails"].get("exception", {}).get("description", found)))
            case "Log.entryAdded" if found["entry"]["level"] == "error":
                self.messages.append(found["entry"]["text"])
            case "Network.requestWillBeSent" if not found["request"]["url"].startswith(
                ("file:", "about:", "data:", "blob:")
            ):
                self.messages.append(f"request: {found['request']['url']}")

    def _read(self, seconds: float = 60.0) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], seconds)
            data = os.read(self._in, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("Chromium does not answer")
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)
